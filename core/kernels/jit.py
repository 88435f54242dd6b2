"""The one place that spells numba's flags; the wrappers are typed so that mypy sees the functions."""

from collections.abc import Callable
from typing import ParamSpec, TypeVar, cast

import numba

P = ParamSpec("P")
R = TypeVar("R")

# Lets the compiler reorder sums and fuse multiply-adds; NaN and infinity keep their meaning.
FASTMATH = {"reassoc", "contract", "arcp", "nsz"}


def kernel(function: Callable[P, R]) -> Callable[P, R]:
    """Compile a serial loop: no Python objects, no GIL, cached on disk."""
    compiled = numba.njit(nogil=True, cache=True, fastmath=FASTMATH, error_model="numpy")(function)
    return cast("Callable[P, R]", compiled)


def helper(function: Callable[P, R]) -> Callable[P, R]:
    """Compile a piece that the kernels of the same file inline."""
    compiled = numba.njit(
        nogil=True, cache=True, fastmath=FASTMATH, error_model="numpy", inline="never"
    )(function)
    return cast("Callable[P, R]", compiled)


def parallel_kernel(function: Callable[P, R]) -> Callable[P, R]:
    """Compile a loop over ``numba.prange``: for the trainer and the command line, never for the api."""
    compiled = numba.njit(
        nogil=True, cache=True, fastmath=FASTMATH, error_model="numpy", parallel=True
    )(function)
    return cast("Callable[P, R]", compiled)
