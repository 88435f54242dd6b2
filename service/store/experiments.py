"""Experiments: groups of users whose lists are made with different parameters.

All experiments of a namespace are one value, which the api changes by compare-and-set. Users are
assigned by arithmetic (see ``serving/experiments``), so that nothing is stored about a user. The
learner counts what follows the lists of an arm by the ``rec_id`` of the list.
"""

import secrets
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, cast

import msgspec
import redis
from msgspec import Struct
from msgspec.structs import replace
from redis import exceptions as redis_errors

from service.errors import Conflict, NotFound
from service.store.clock import now_ms
from service.store.connection import store_errors
from service.store.keys import NamespaceKeys

MOST = 32
"""Most experiments of a namespace, ended ones included."""
MOST_ARMS = 8
State = Literal["running", "stopped", "promoted"]


class Arm(Struct, frozen=True):
    """A group of users, and the parameters that their lists are made with."""

    name: str
    share: float
    """The share of all users, above 0 to 1."""
    parameters: Mapping[str, Any]
    """Parameters of requests for recommendations, where a request does not set them itself."""


class Guardrail(Struct, frozen=True):
    """What ends an experiment by itself."""

    kind: str
    """The kind of event whose rate is watched."""
    most_loss: float = 0.0
    """The loss against the first arm, as a share, that is put up with."""


class Experiment(Struct, frozen=True):
    """An experiment as it is stored."""

    id: str
    """Six hex digits: its name in ids of lists and in counts, and what draws the users."""
    name: str
    arms: tuple[Arm, ...]
    """The first is the one that the others are compared with."""
    state: State
    created_ms: int
    who: str
    guardrail: Guardrail | None = None
    ended_ms: int | None = None
    ended_by: str = ""
    why: str = ""
    """Why it ended, in words."""
    promoted: str | None = None
    """The arm whose parameters hold for all users, or held until another was promoted."""
    promoted_ms: int | None = None
    """When it was promoted last."""

    def arm(self, name: str) -> Arm:
        """Return an arm by its name; NotFound if it has none of this name."""
        for arm in self.arms:
            if arm.name == name:
                return arm
        names = ", ".join(f"`{arm.name}`" for arm in self.arms)
        raise NotFound(f"the experiment has no arm `{name}`: its arms are {names}")


def named(experiments: Sequence[Experiment], name: str) -> Experiment:
    """Return an experiment by its name; NotFound if there is none."""
    for one in experiments:
        if one.name == name:
            return one
    raise NotFound(f"there is no experiment `{name}`: GET /v1/experiments lists them")


class Experiments:
    """The experiments of a namespace, the newest last."""

    def __init__(self, client: redis.Redis, namespace: str) -> None:
        self._client, self._key = client, NamespaceKeys(namespace).experiments

    def read(self) -> tuple[Experiment, ...]:
        """Return all experiments."""
        with store_errors():
            return _unpacked(cast("bytes | None", self._client.get(self._key)))

    def begin(
        self, name: str, arms: Sequence[Arm], guardrail: Guardrail | None, who: str
    ) -> Experiment:
        """Begin an experiment; Conflict if one runs, or has this name, or there are too many."""
        new = Experiment(
            id=secrets.token_hex(3),
            name=name,
            arms=tuple(arms),
            state="running",
            created_ms=now_ms(),
            who=who,
            guardrail=guardrail,
        )

        def added(before: Sequence[Experiment]) -> Sequence[Experiment]:
            for one in before:
                if one.name == name:
                    raise Conflict(f"there is an experiment `{name}` already: choose another name")
                if one.state == "running":
                    raise Conflict(
                        f"the experiment `{one.name}` is running, and two at a time would disturb "
                        f"each other: stop it first, by POST /v1/experiments/{one.name}/stop"
                    )
            if len(before) >= MOST:
                raise Conflict(
                    f"there are {MOST} experiments: delete one that has ended, "
                    "by DELETE /v1/experiments/{experiment}"
                )
            return [*before, new]

        self._change(added)
        return new

    def stop(self, name: str, who: str, why: str) -> Experiment:
        """End a running experiment; one that has ended stays as it is."""

        def ended(one: Experiment) -> Experiment:
            if one.state != "running":
                return one
            return replace(one, state="stopped", ended_ms=now_ms(), ended_by=who, why=why)

        return self._change_one(name, ended)

    def promote(self, name: str, arm: str, who: str) -> Experiment:
        """Let the parameters of an arm hold for all users, instead of what was promoted before."""

        def promoted(one: Experiment) -> Experiment:
            if one.name != name:
                return replace(one, state="stopped") if one.state == "promoted" else one
            chosen, now = one.arm(arm).name, now_ms()
            return replace(
                one,
                state="promoted",
                promoted=chosen,
                promoted_ms=now,
                ended_ms=one.ended_ms or now,
                ended_by=who,
                why=f"`{chosen}` was promoted",
            )

        return named(
            self._change(lambda before: [promoted(one) for one in _having(before, name)]), name
        )

    def delete(self, name: str) -> Experiment:
        """Forget an experiment; one that runs ends, and a promoted arm holds no longer."""
        gone: list[Experiment] = []

        def left(before: Sequence[Experiment]) -> Sequence[Experiment]:
            gone.append(named(before, name))
            return [one for one in before if one.name != name]

        self._change(left)
        return gone[-1]

    def _change_one(self, name: str, change: Callable[[Experiment], Experiment]) -> Experiment:
        def changed(before: Sequence[Experiment]) -> Sequence[Experiment]:
            return [change(one) if one.name == name else one for one in _having(before, name)]

        return named(self._change(changed), name)

    def _change(
        self, change: Callable[[Sequence[Experiment]], Sequence[Experiment]]
    ) -> Sequence[Experiment]:
        pipe: Any
        with store_errors(), self._client.pipeline() as pipe:
            while True:
                try:
                    pipe.watch(self._key)
                    before = _unpacked(pipe.get(self._key))
                    after = change(before)
                    if after != before:
                        pipe.multi()
                        pipe.set(self._key, msgspec.json.encode(after))
                        pipe.execute()
                    return after
                except redis_errors.WatchError:
                    continue


def _having(experiments: Sequence[Experiment], name: str) -> Sequence[Experiment]:
    named(experiments, name)
    return experiments


_decode = msgspec.json.Decoder(tuple[Experiment, ...]).decode


def _unpacked(stored: bytes | None) -> tuple[Experiment, ...]:
    return () if stored is None else _decode(stored)
