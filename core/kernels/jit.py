"""The only module that sets numba's flags.

The decorators are typed, so that mypy sees the signatures of the decorated functions.
"""

from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar, cast

import numba
from llvmlite import ir
from numba.core import types
from numba.extending import intrinsic
from numba.np import arrayobj

from core.types import F32

P = ParamSpec("P")
R = TypeVar("R")

# The compiler may reorder sums and fuse multiply-adds; NaN and infinity keep their meaning.
FASTMATH = {"reassoc", "contract", "arcp", "nsz"}


def kernel(function: Callable[P, R]) -> Callable[P, R]:
    """Compile a serial loop: no Python objects, no GIL, cached on disk."""
    compiled = numba.njit(nogil=True, cache=True, fastmath=FASTMATH, error_model="numpy")(function)
    return cast("Callable[P, R]", compiled)


def helper(function: Callable[P, R]) -> Callable[P, R]:
    """Compile a function that kernels of the same file call."""
    compiled = numba.njit(
        nogil=True, cache=True, fastmath=FASTMATH, error_model="numpy", inline="never"
    )(function)
    return cast("Callable[P, R]", compiled)


def parallel_kernel(function: Callable[P, R]) -> Callable[P, R]:
    """Compile a loop over ``numba.prange``, for the trainer and the command line only.

    The api must never call one: numba's default threading layer aborts a process
    in which two threads call it at once.
    """
    compiled = numba.njit(
        nogil=True, cache=True, fastmath=FASTMATH, error_model="numpy", parallel=True
    )(function)
    return cast("Callable[P, R]", compiled)


def _prefetch(typing: Any, array: Any, at: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, given: Any) -> Any:
        array = make_array(signature.args[0])(context, builder, given[0])
        address = builder.bitcast(builder.gep(array.data, [given[1]]), byte)
        call = builder.module.declare_intrinsic("llvm.prefetch", [byte], signature_of_call)
        # for reading, kept in all cache levels, data rather than instructions
        builder.call(call, [address, number(0), number(3), number(1)])
        return context.get_dummy_value()

    make_array: Any = arrayobj.make_array
    byte, number = ir.IntType(8).as_pointer(), ir.IntType(32)
    signature_of_call = ir.FunctionType(ir.VoidType(), [byte, number, number, number])
    return types.none(array, types.int64), generate


prefetch = cast("Callable[[F32, int], None]", intrinsic(_prefetch))
"""Function (array, at) that prefetches the cache line of array.flat[at], for C-ordered arrays.

It is meant for loops that gather rows at random.
"""
