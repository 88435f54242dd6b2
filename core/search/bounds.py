"""One check of the bounds of settings, with one wording of its errors."""

from collections.abc import Callable, Iterable
from numbers import Integral
from typing import Any

import numpy as np

from core.errors import ConfigError

LARGEST_SETTING = 1e30
"""Largest absolute value of a setting, because fits compute in single precision."""


def check_bounds(
    config: Any,
    *,
    counts: Iterable[str] = (),
    above_0: Iterable[str] = (),
    from_0: Iterable[str] = (),
    shares: Iterable[str] = (),
    finite: Iterable[str] = (),
) -> None:
    """Raise ConfigError if a named setting of ``config`` is out of bounds.

    ``counts`` are whole numbers from 1, ``shares`` numbers from 0 to 1; a ``seed``, if there is
    one, is a whole number from 0.
    """
    seed = ("seed",) if hasattr(config, "seed") else ()
    wanted: tuple[tuple[Iterable[str], Callable[[Any], bool], str], ...] = (
        ((*counts, *seed), lambda value: isinstance(value, Integral), "a whole number"),
        (counts, lambda value: value >= 1, "at least 1"),
        (seed, lambda value: value >= 0, "0 or more"),
        (
            above_0,
            lambda value: _is_number(value) and value > 0.0,
            f"above 0 and at most {LARGEST_SETTING:g}",
        ),
        (
            from_0,
            lambda value: _is_number(value) and value >= 0.0,
            f"0 or more and at most {LARGEST_SETTING:g}",
        ),
        (shares, lambda value: _is_number(value) and 0.0 <= value <= 1.0, "between 0 and 1"),
        (finite, _is_number, f"at most {LARGEST_SETTING:g} in size"),
    )
    for names, holds, bounds in wanted:
        for name in names:
            if not holds(value := getattr(config, name)):
                raise ConfigError(f"{name} must be {bounds}, not {value!r}")


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float | np.number) and bool(np.abs(value) <= LARGEST_SETTING)
