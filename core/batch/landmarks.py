"""Landmarks (centres of non-linear features) in a search for settings.

A search starts with none or few and adds more only to settings that do well.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from core.batch.feature_map import MOST_DENSE
from core.search.search import Axis

Settings = dict[str, Any]


def landmark_axes(shape: tuple[int, ...], sizes: Sequence[int]) -> list[Axis]:
    """Return the axis "landmarks", or no axis if features of this shape can use none.

    Its values are positions in ``sizes``, counted from 1.
    """
    n_points, n_features = shape
    useful = sum(
        size == 0 or (size * 4 <= n_points and n_points * (n_features + size) <= MOST_DENSE)
        for size in sizes
    )
    return [Axis("landmarks", 1, useful, multiple=1)] if useful > 1 else []


def with_more(axes: Sequence[Axis]) -> Callable[[Settings], Settings | None]:
    """Return a function from settings to the same with more landmarks, or to None at the most."""
    most = max((axis.high for axis in axes if axis.name == "landmarks"), default=0)

    def larger(settings: Settings) -> Settings | None:
        if settings.get("landmarks", most) >= most:
            return None
        return {**settings, "landmarks": settings["landmarks"] + 1}

    return larger


def first_settings(
    axes: Sequence[Axis], middle: Mapping[str, float], rng: np.random.Generator
) -> list[Settings]:
    """Return ``middle`` without landmarks, then random settings with none or with the fewest."""
    cheap = {**middle, "landmarks": 1}
    chosen: list[Settings] = [{axis.name: cheap[axis.name] for axis in axes}]
    for at in range(2 * len(axes)):
        settings = {axis.name: axis.value(float(rng.uniform(0.15, 0.85))) for axis in axes}
        if "landmarks" in settings:
            settings["landmarks"] = 1 + at % 2
        chosen.append(settings)
    return chosen
