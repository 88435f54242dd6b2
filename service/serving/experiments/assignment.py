"""Which parameters the lists of a user are made with.

Users are drawn by a hash of the experiment and the user: the same user is always in the same arm,
in every process, and nothing is stored about it.
"""

from collections.abc import Mapping, Sequence
from functools import cached_property
from hashlib import blake2b
from itertools import accumulate
from typing import Any

from msgspec import Struct

from service.arms import BUCKETS, CountedArm
from service.store.experiments import Arm, Experiment


class Treatment(Struct, frozen=True):
    """What experiments say of a user's lists."""

    parameters: Mapping[str, Any]
    """Parameters for a request that sets none of ``decided``."""
    decided: frozenset[str]
    """The parameters that the arms of the running experiment set, or the promoted one."""
    name: str = ""
    """The running experiment."""
    arm: str = ""
    counted: CountedArm | None = None
    """What is counted for its lists; None: the user is in no arm."""
    otherwise: "Treatment | None" = None
    """What holds for requests that set one of ``decided``."""

    @property
    def key(self) -> bytes:
        """Tells finished answers of one treatment from those of another."""
        return repr((sorted(self.parameters.items()), self.counted)).encode()


class Assignment:
    """Assigns users to the arms of the running experiment, and to what was promoted."""

    def __init__(self, experiments: Sequence[Experiment]) -> None:
        self._running = next((one for one in experiments if one.state == "running"), None)
        promoted = [one for one in experiments if one.state == "promoted"]
        chosen = promoted[-1] if promoted else None
        base = {} if chosen is None else chosen.arm(chosen.promoted or "").parameters
        self._base: Mapping[str, Any] = dict(base)
        arms = () if self._running is None else self._running.arms
        self._ends = [*accumulate(arm.share for arm in arms)]

    @property
    def running(self) -> Experiment | None:
        """The running experiment."""
        return self._running

    @cached_property
    def _decided(self) -> frozenset[str]:
        arms: Sequence[Arm] = () if self._running is None else self._running.arms
        return frozenset(self._base).union(*(arm.parameters for arm in arms))

    @cached_property
    def _of_others(self) -> Treatment | None:
        """The treatment of those who are in no arm."""
        return Treatment(self._base, frozenset(self._base)) if self._base else None

    def of(self, user: str | None) -> Treatment | None:
        """Return the treatment of a user, or of somebody without an id; None: there is none."""
        if self._running is None or user is None:
            return self._of_others
        drawn, bucket = _drawn(self._running.id, user)
        number = next((at for at, end in enumerate(self._ends) if drawn < end), None)
        if number is None:
            return self._of_others
        arm = self._running.arms[number]
        return Treatment(
            parameters={**self._base, **arm.parameters},
            decided=self._decided,
            name=self._running.name,
            arm=arm.name,
            counted=CountedArm(self._running.id, number, bucket),
            otherwise=self._of_others,
        )


def _drawn(experiment: str, user: str) -> tuple[float, int]:
    """Return a number in [0, 1) and a bucket, independent of each other."""
    digest = blake2b(user.encode(), digest_size=8, person=experiment.encode()).digest()
    return int.from_bytes(digest[:4]) / 2**32, digest[4] % BUCKETS
