"""Computed numbers in answers, with as many digits as they have: single precision knows seven."""

from typing import Annotated, Any

from pydantic import PlainSerializer

DIGITS = 7


def figure(number: float) -> float:
    """Return a number with seven digits, as it is written in an answer.

    >>> figure(0.8999999761581421), figure(1234567.89), figure(5.0)
    (0.9, 1234568.0, 5.0)
    """
    return float(f"{number:.{DIGITS}g}")


def figures(value: Any) -> Any:
    """Return a structure with all its fractions cut to seven digits; whole numbers stay."""
    if isinstance(value, float):
        return figure(value)
    if isinstance(value, dict):
        return {name: figures(one) for name, one in value.items()}
    return [figures(one) for one in value] if isinstance(value, list | tuple) else value


Figure = Annotated[float, PlainSerializer(figure, return_type=float)]
"""A computed number in an answer."""
Measured = Annotated[dict[str, Any], PlainSerializer(figures, return_type=dict[str, Any])]
"""Computed numbers by name, in an answer."""
