"""Assigns the experts of a set to groups that learn them, and the groups to columns of a row."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial

import numpy as np

from core.online.biased import BiasedGroup
from core.online.config import OnlineConfig
from core.online.experts import Expert, PassiveAggressive
from core.online.group import ExpertGroup
from core.online.kalman import KalmanGroup
from core.online.nn_apa import FullMatrixGroup, PassiveAggressiveGroup
from core.online.resolved import ResolvedGroup
from core.online.tables import FIRST_GROUP_COLUMN
from core.types import I64


@dataclass(frozen=True)
class Member:
    """A group of experts and its place in a row and in the set."""

    group: ExpertGroup
    first_column: int
    expert_numbers: I64
    """Positions of the experts in the set, which are also their columns of predictions."""
    label: str


def members(config: OnlineConfig) -> Iterator[Member]:
    """Yield the groups in the order of their columns; experts of one kind share a group."""
    column, number = FIRST_GROUP_COLUMN, 0
    for label, chosen, build in _with_constructors(config):
        group = build([config.experts[e] for e in chosen], first_number=number)
        yield Member(group, column, np.array(chosen, dtype=np.int64), label)
        column += group.width
        number += len(chosen)


def _with_constructors(
    config: OnlineConfig,
) -> Iterator[tuple[str, list[int], Callable[..., ExpertGroup]]]:
    """Yield label, experts and constructor of each group, in the order of their columns."""
    seed = config.seed
    build: dict[str, Callable[..., ExpertGroup]] = {
        "nn_apa": partial(PassiveAggressiveGroup, config=config),
        "nn_apa_full": partial(FullMatrixGroup, config=config),
        "biased": partial(BiasedGroup, seed=seed),
        "resolved": partial(ResolvedGroup, seed=seed),
        "kalman": partial(KalmanGroup, seed=seed),
    }
    labels = [_group_label(expert) for expert in config.experts]
    for label, build_group in build.items():
        if label in labels:
            yield label, [e for e, own in enumerate(labels) if own == label], build_group


def _group_label(expert: Expert) -> str:
    """Return the label of the expert's group; it also names the group's state."""
    if isinstance(expert, PassiveAggressive):
        return "nn_apa_full" if expert.metric == "full" else "nn_apa"
    return type(expert).__name__.lower()
