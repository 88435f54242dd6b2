"""The registry: the published model that serves each strategy, the pins, and the log of changes.

Each pointer changes by one compare-and-set script, which also logs who changed it and why.
Synchronous: an api process calls it in a thread.
"""

from collections.abc import Mapping
from typing import Any, cast

from service.errors import Conflict, NotFound, VersionConflict
from service.store.connection import store_errors
from service.store.models.published import PublishedModels
from service.store.models.records import MOST_TEXT, SHOWN, ModelChange
from service.store.models.scripts import ACTIVATE, ROLL_BACK, UNPIN

REMEMBERED, KEPT_CHANGES = 32, 1_000
"""Number of earlier versions kept for roll-backs, and of changes kept for listing."""
ANY = "*"
"""Expected version of a pin, which replaces any serving version."""


class Registry(PublishedModels):
    """The published models of a namespace and the pointers to those that serve."""

    def active(self) -> dict[str, str]:
        """Return the version that serves each strategy."""
        return self._pointers(self._keys.active_models)

    def pins(self) -> dict[str, str]:
        """Return the pinned version of each strategy that has one."""
        return self._pointers(self._keys.pinned_models)

    def set_active(
        self, strategy: str, version: str, *, expected: str | None, who: str, why: str
    ) -> None:
        """Let a version serve; VersionConflict unless ``expected`` serves, or if one is pinned."""
        self._activate(strategy, version, expected or "", "promoted", who, why)

    def roll_back(self, strategy: str, *, who: str, why: str) -> str:
        """Let the version serve that served before, and return it.

        Conflict if there is none, VersionConflict if one is pinned.
        """
        keys = self._keys
        names = [
            keys.models,
            keys.active_models,
            keys.pinned_models,
            keys.models_before(strategy),
            keys.model_changes,
        ]
        outcome, version = self._evaluate(
            ROLL_BACK, names, strategy, _bounded(who), _bounded(why), KEPT_CHANGES
        )
        if outcome == b"none":
            raise _no_earlier(strategy) if strategy in self.active() else _never_served(strategy)
        _refuse_pinned(outcome, strategy, version.decode())
        return str(version.decode())

    def only_strategy(self) -> str:
        """Return the only strategy with a serving model; Conflict if there is none or several."""
        active = sorted(self.active())
        if len(active) == 1:
            return active[0]
        if active:
            raise Conflict(
                f"several strategies are active, name one: {', '.join(active)} "
                f"(`hedgerow models rollback {active[0]}`)"
            )
        raise _never_served("the service")

    def pin(self, version: str, who: str, why: str) -> None:
        """Let a version serve until it is unpinned; VersionConflict if another one is pinned."""
        self._activate(self.record(version).strategy, version, ANY, "pinned", who, why)

    def unpin(self, version: str, who: str, why: str) -> None:
        """Let promotions replace a version again; without effect if the version is not pinned."""
        strategy = self.record(version).strategy
        keys = [self._keys.pinned_models, self._keys.model_changes]
        self._evaluate(UNPIN, keys, strategy, version, _bounded(who), _bounded(why), KEPT_CHANGES)

    def changes(self, limit: int, before: str | None = None) -> list[ModelChange]:
        """Return the last changes, or those before the change ``before``, the newest first."""
        newest = "+" if before is None else f"({before}"
        with store_errors():
            answer: Any = self._client.xrevrange(self._keys.model_changes, newest, count=limit)
        return [_change(name, fields) for name, fields in answer]

    def has_served(self, version: str) -> bool:
        """Return whether another version has replaced this one, as far as changes are kept."""
        changes = self.changes(KEPT_CHANGES)
        return any(change.before == version != change.version for change in changes)

    def _pointers(self, key: str) -> dict[str, str]:
        with store_errors():
            answer = cast("dict[bytes, bytes]", self._client.hgetall(key))
        return {strategy.decode(): version.decode() for strategy, version in answer.items()}

    def _activate(
        self, strategy: str, version: str, expected: str, action: str, who: str, why: str
    ) -> None:
        keys = self._keys
        names = [
            keys.model(version),
            keys.active_models,
            keys.pinned_models,
            keys.models_before(strategy),
            keys.model_changes,
        ]
        values = (strategy, version, expected, action, _bounded(who), _bounded(why))
        outcome, other = self._evaluate(ACTIVATE, names, *values, REMEMBERED, KEPT_CHANGES)
        if outcome == b"unknown":
            raise NotFound(f"there is no model {version} of the strategy {strategy}")
        _refuse_pinned(outcome, strategy, other.decode())
        if outcome == b"changed":
            raise VersionConflict(
                f"{other.decode()[:SHOWN] or 'nothing'} now serves {strategy}: "
                "look at it and try again"
            )


def _refuse_pinned(outcome: bytes, strategy: str, version: str) -> None:
    if outcome == b"pinned":
        raise VersionConflict(
            f"version {version[:SHOWN]} of {strategy} is pinned: unpin it first",
            code="model_pinned",
        )


def _no_earlier(strategy: str) -> Conflict:
    return Conflict(
        f"no earlier version of {strategy} is left to go back to: promote one of those that "
        "`hedgerow models list` shows",
        code="no_earlier_version",
    )


def _never_served(strategy: str) -> Conflict:
    return Conflict(
        f"{strategy} has never served a model, so there is none to go back to: train one "
        "(POST /v1/retrain, `hedgerow retrain`), or promote one of those that "
        "`hedgerow models list` shows",
        code="no_earlier_version",
    )


def _change(name: bytes, fields: Mapping[bytes, bytes]) -> ModelChange:
    text = {field.decode(): value.decode() for field, value in fields.items()}
    before = text.pop("before") or None
    at_ms = int(name.partition(b"-")[0])
    return ModelChange(id=name.decode(), at_ms=at_ms, before=before, **text)


def _bounded(text: str) -> str:
    return text[:MOST_TEXT]
