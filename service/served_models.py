"""The models that serve in this process: follow the registry, map its models, swap all at once.

A request reads ``current`` once and keeps to it, so no answer mixes two versions. A model that
cannot be loaded is a fault that operators see; the previous model keeps serving.
"""

import threading
import time
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import NamedTuple

from core.errors import CoreError
from core.snapshot import Snapshot
from service.errors import ServiceError, StoreUnavailable
from service.ranking.families import FAMILIES
from service.ranking.family import Published
from service.ranking.ranker import Ranker
from service.store.identity.survey import Survey
from service.store.models.records import ModelRecord
from service.store.models.registry import Registry
from service.store.models.snapshot_files import SnapshotFiles
from service.telemetry import logger

POLL_S = 0.25
"""Seconds between two reads of the registry, hence the longest delay of a promotion."""
RETRY_S = 5.0
"""Seconds between two attempts to load a model."""
TIDY_S = 30.0
"""Seconds between two searches for files that no process needs any longer."""


@dataclass(frozen=True, eq=False)
class ActiveModel:
    """A model that serves; its arrays are memory pages that all processes share."""

    record: ModelRecord
    snapshot: Snapshot
    ranker: Ranker


class UnknownFamily(ServiceError):
    """The registry names a strategy that this version of the service does not have."""

    status, code = 409, "unknown_family"


def active_model(record: ModelRecord, snapshot: Snapshot) -> ActiveModel:
    """Return a published model with its ranker; CoreError if its snapshot is not of its family."""
    family = FAMILIES.get(record.strategy)
    if family is None or family.read is None:
        known = ", ".join(name for name, entry in FAMILIES.items() if entry.trained)
        raise UnknownFamily(
            f"there are no models of the strategy {record.strategy}; known: {known}"
        )
    cuts = record.cuts.get("trained_through", {})
    through = {int(partition): int(sequence) for partition, sequence in cuts.items()}
    ranker = family.read(family, Published(record.version, snapshot, through))
    return ActiveModel(record, snapshot, ranker)


@dataclass(frozen=True)
class Fault:
    """A version that is active in the registry but cannot be loaded."""

    version: str
    detail: str


@dataclass(frozen=True)
class ActiveSet:
    """The models that serve at one moment, and the faults, by strategy."""

    models: Mapping[str, ActiveModel] = field(default_factory=dict)
    faults: Mapping[str, Fault] = field(default_factory=dict)

    @property
    def versions(self) -> dict[str, str]:
        """Return the version of each strategy's model."""
        return {strategy: model.record.version for strategy, model in self.models.items()}


class _Coming(NamedTuple):
    """A model that replaces another one as soon as it is prepared."""

    model: ActiveModel
    prepared: Future[None]


class ActiveModels:
    """Keeps ``current`` up to date between ``start`` and ``close``, and at each ``refresh``."""

    def __init__(
        self,
        registry: Registry,
        files: SnapshotFiles,
        prepare: Callable[[ActiveModel], Future[None] | None] = lambda _: None,
    ) -> None:
        self._registry, self._files = registry, files
        self._prepare = prepare
        """Called with a model that has never served; the previous one serves until it is done."""
        self._coming: dict[str, _Coming] = {}
        """Models in preparation by version; those that come together begin to serve together."""
        self._prepared = True
        """Whether all of them were prepared when the registry was read last."""
        self._closing = threading.Event()
        # one refresh at a time: a slower one could restore an older set
        self._refreshing = threading.Lock()
        self._thread = threading.Thread(target=self._follow, name="active-models", daemon=True)
        self._retry_at: dict[str, float] = {}
        self._tidy_at = 0.0
        self.current = ActiveSet()
        """Replaced as a whole by one assignment."""
        self.ready = False
        """Whether the registry has been read."""
        self._may_vanish = False

    @property
    def coming(self) -> ActiveSet:
        """Return the models that serve as soon as those in preparation do."""
        models = {one.model.record.strategy: one.model for one in [*self._coming.values()]}
        return ActiveSet({**self.current.models, **models})

    def start(self) -> None:
        """Start to follow the registry in a thread."""
        self._thread.start()

    def forget(self, now: Survey, *, went_back: bool) -> None:
        """Follow whatever the registry says now, even that it is empty."""
        self._may_vanish = went_back

    def hold(self, now: Survey) -> None:
        """Go on: an empty registry is not followed, see ``_refresh``."""
        self._may_vanish = False

    def close(self) -> None:
        """Stop following the registry; the models in ``current`` stay usable."""
        self._closing.set()
        if self._thread.ident is not None:
            self._thread.join()
        self._wait_for(set())

    def refresh(self) -> None:
        """Read the registry, load new models and swap them; StoreUnavailable without an answer."""
        with self._refreshing:
            self._refresh()

    def _refresh(self) -> None:
        versions, old = self._registry.active(), self.current
        if not versions and old.models and not self._may_vanish:
            # a strategy never loses its model: this is another store, perhaps an emptied one
            return
        self._prepared = all(one.prepared.done() for one in self._coming.values())
        loaded = {strategy: self._loaded(strategy, versions[strategy]) for strategy in versions}
        new = ActiveSet(
            {strategy: model for strategy, (model, _) in loaded.items() if model is not None},
            {strategy: fault for strategy, (_, fault) in loaded.items() if fault is not None},
        )
        if new != old:
            self.current = new
            self._retry_at = {v: at for v, at in self._retry_at.items() if v in versions.values()}
            self._tidy_at = 0.0
        self._wait_for(set(versions.values()) - set(new.versions.values()))
        self.ready = True
        self._tell(old, new)
        if time.monotonic() >= self._tidy_at:
            self._files.remove_unused(versions.values())
            self._tidy_at = time.monotonic() + TIDY_S

    def _follow(self) -> None:
        while not self._closing.is_set():
            try:
                self.refresh()
            except StoreUnavailable:
                pass  # the current models keep serving; /readyz reports the outage
            except Exception:  # noqa: BLE001 - if the thread ended, no later model would serve
                logger().error("active_models_failed", exc_info=True)
            self._closing.wait(POLL_S)

    def _loaded(self, strategy: str, version: str) -> tuple[ActiveModel | None, Fault | None]:
        """Return the model to serve a strategy, and the fault if it is not ``version``."""
        present, fault = self.current.models.get(strategy), self.current.faults.get(strategy)
        if present is not None and present.record.version == version:
            return present, None
        known = fault is not None and fault.version == version
        if known and time.monotonic() < self._retry_at.get(version, 0.0):
            return present, fault
        try:
            return self._next(version, present), None
        except (CoreError, ServiceError) as error:
            self._retry_at[version] = time.monotonic() + RETRY_S
            return present, Fault(version, str(error))

    def _next(self, version: str, present: ActiveModel | None) -> ActiveModel:
        """Return the model of a version, or the present model until the new one is prepared."""
        coming = self._coming.get(version)
        if coming is None:
            model = self._load(version)
            # a rollback takes effect at once: operators want to be rid of the present model
            new = present is not None and not self._registry.has_served(version)
            if not new:
                return model
            # preparing it looks at ``coming``, perhaps before this thread goes on
            self._coming[version] = _Coming(model, Future())
            prepared = self._prepare(model)
            if prepared is None:
                del self._coming[version]
                return model
            coming = self._coming[version] = _Coming(model, prepared)
        if present is None or (self._prepared and coming.prepared.done()):
            return coming.model
        return present

    def _wait_for(self, versions: set[str]) -> None:
        """Keep only the preparation of these versions; other models serve already or never will."""
        for version in self._coming.keys() - versions:
            self._coming.pop(version).prepared.cancel()

    def _load(self, version: str) -> ActiveModel:
        record = self._registry.record(version)
        snapshot = self._files.open(self._registry, version)
        model = active_model(record, snapshot)
        # before it serves: loads kernels for read-only arrays, and detects faults
        model.ranker.warm()
        return model

    @staticmethod
    def _tell(old: ActiveSet, new: ActiveSet) -> None:
        for strategy, model in new.models.items():
            before = old.models.get(strategy)
            if model is not before:
                replaced = None if before is None else before.record.version
                version = model.record.version
                logger().info(
                    "model_activated", strategy=strategy, version=version, before=replaced
                )
        for strategy, fault in new.faults.items():
            if fault != old.faults.get(strategy):
                logger().error(
                    "model_not_loaded",
                    strategy=strategy,
                    version=fault.version,
                    reason=fault.detail,
                )
