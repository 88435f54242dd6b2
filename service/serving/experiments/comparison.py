"""How the arms of an experiment compare, by what followed their lists."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from msgspec import Struct

from core.comparison import Estimate, Group, lift, rate
from core.types import I64
from service.arms import BUCKETS, CountedArm
from service.store.experiments import Experiment, Guardrail

Counts = Mapping[CountedArm, Counter[int]]
"""Events by kind code, of each arm and bucket of users."""


class ArmResult(Struct, frozen=True):
    """What followed the lists of an arm."""

    shown: int
    """Number of impressions."""
    events: Mapping[int, int]
    """Number of events by kind code, impressions among them."""
    rates: Mapping[int, Estimate | None]
    """Events of each other kind for each impression; None: too few for an interval."""
    lifts: Mapping[int, Estimate | None]
    """The rates over those of the first arm, less 1; empty for the first arm."""


def results(experiment: Experiment, counts: Counts, impression: int) -> list[ArmResult]:
    """Return what followed the lists of each arm; ``impression`` is the code of that kind."""
    own = {
        (arm.number, arm.bucket): n for arm, n in counts.items() if arm.experiment == experiment.id
    }
    kinds = sorted({kind for events in own.values() for kind in events if events[kind]})
    arms = [_columns(own, number, kinds) for number in range(len(experiment.arms))]
    first, *others = arms
    compared = [_result(arm, first, impression, len(others)) for arm in others]
    return [_result(first, None, impression, len(others)), *compared]


class Lost(NamedTuple):
    """An arm that surely loses more than a guardrail allows."""

    arm: int
    """The number of the arm."""
    lift: Estimate


def broken(guardrail: Guardrail, found: Sequence[ArmResult], kind: int) -> Lost | None:
    """Return the first arm that breaks a guardrail; None: none does."""
    for number, arm in enumerate(found):
        difference = arm.lifts.get(kind)
        if difference is not None and difference.high < -guardrail.most_loss:
            return Lost(number, difference)
    return None


def _columns(
    own: Mapping[tuple[int, int], Counter[int]], number: int, kinds: Sequence[int]
) -> dict[int, I64]:
    """Return the events of an arm by kind, each (BUCKETS,)."""
    columns = {kind: np.zeros(BUCKETS, np.int64) for kind in kinds}
    for bucket in range(BUCKETS):
        for kind, n in own.get((number, bucket), Counter[int]()).items():
            if kind in columns:
                columns[kind][bucket] = n
    return columns


def _result(
    arm: Mapping[int, I64], control: Mapping[int, I64] | None, impression: int, comparisons: int
) -> ArmResult:
    def group(columns: Mapping[int, I64], kind: int) -> Group:
        return Group(columns.get(impression, np.zeros(BUCKETS, np.int64)), columns[kind])

    kinds = [kind for kind in arm if kind != impression]
    return ArmResult(
        shown=int(arm[impression].sum()) if impression in arm else 0,
        events={kind: int(column.sum()) for kind, column in arm.items()},
        rates={kind: rate(group(arm, kind)) for kind in kinds},
        lifts={}
        if control is None
        else {kind: lift(group(arm, kind), group(control, kind), comparisons) for kind in kinds},
    )
