"""Weighs the rankers of the mixture by what users do next, and publishes the online snapshot: the learner's helper.

A thread of its own in the learner's process. Its results are derived: losing them costs a while of equal weights.
It never makes the learner wait, and rests nine times as long as it works, far longer while the learner is behind.
"""

import contextlib
import threading
import time
from collections.abc import Iterator, Mapping
from typing import Any, cast

import msgspec

from core.mixture import hedge, ndcg10, reciprocal_rank
from service.active import ActiveModel, ActiveModels
from service.errors import StoreUnavailable
from service.learning.handover import Handover, Sighting
from service.learning.judge import Judge, Stored, Verdict, mixed_rank
from service.learning.models import STRATEGIES, Model, model_of
from service.online import online_model
from service.settings import Settings
from service.store.connection import Client, connect, store_errors
from service.store.keys import NamespaceKeys, PartitionKeys
from service.store.mixture import MixtureRecord, RankerRecord, read_mixture, write_mixture
from service.store.namespace import Namespace
from service.store.online_snapshot import OnlineSnapshots
from service.store.registry import Registry
from service.store.snapshot_files import SnapshotFiles
from service.store.state import read_deleted_items
from service.telemetry import logger

ORDERS = ("popular", "trending")
EARNED = {"ordinal": 0.01}
"""Parts of the heaviest weight. Who foresees stars says little about what is taken next: too light to be heard at first."""
SHARE, BUSY_SHARE = 0.1, 0.01
"""Part of the time that judging may take, and while events wait for the learner: both need the interpreter."""
PERIOD_S = 2.0
"""Between two writes of the weights, and two looks at the registry."""
WAIT_S = 0.5
KEEP = 1.0 - 1e-4
"""Of the means of the metrics: about the last 10 000 judgements."""


class Standings:
    """Weights and metrics of the rankers: what is stored, one judgement after the other."""

    def __init__(self, record: MixtureRecord | None) -> None:
        self.record = record or MixtureRecord(0, 0, 0, {})

    @property
    def weights(self) -> dict[str, float]:
        """Return the weight of each ranker."""
        return {name: ranker.weight for name, ranker in self.record.rankers.items()}

    def follow(self, versions: Mapping[str, str]) -> None:
        """Have exactly these rankers: a new version keeps the weight of the one it replaces.

        A new name begins as heavy as the heaviest, or with next to nothing (``EARNED``): it is soon known better.
        """
        old = self.record.rankers
        if {name: ranker.version for name, ranker in old.items()} == versions:
            return
        heaviest = max((ranker.weight for ranker in old.values()), default=1.0)
        weight = {n: old[n].weight if n in old else heaviest * EARNED.get(n, 1.0) for n in versions}
        total = sum(weight.values())
        fresh = {n: RankerRecord(weight[n] / total, v, 0, 0.0, 0.0) for n, v in versions.items()}
        kept = {n: old[n] for n, v in versions.items() if n in old and old[n].version == v}
        self._replace(
            rankers={n: _weighted(kept.get(n, fresh[n]), weight[n] / total) for n in versions}
        )

    def judge(self, verdict: Verdict, sighting: Sighting, passed_over: int) -> None:
        """Learn from one positive."""
        weights = self.weights
        mixed = mixed_rank(verdict, weights, sighting.item)
        gains = {name: reciprocal_rank(rank) for name, rank in verdict.ranks.items()}
        learned = hedge(weights, gains)
        rankers = self.record.rankers
        self._replace(
            watermark=sighting.sequence,
            judged=self.record.judged + 1,
            passed_over=passed_over,
            rankers={
                name: _judged(_weighted(rankers[name], learned[name]), verdict.ranks.get(name))
                for name in rankers
            },
            mixture=_judged(self.record.mixture or RankerRecord(1.0, "", 0, 0.0, 0.0), mixed),
        )

    def _replace(self, **changed: Any) -> None:
        fields = {name: getattr(self.record, name) for name in self.record.__struct_fields__}
        self.record = MixtureRecord(**{**fields, **changed})


class Follower:
    """Follows one learner from ``start`` to ``close``."""

    def __init__(
        self,
        settings: Settings,
        redis_url: str,
        namespace: Namespace,
        partition: int,
        handover: Handover,
    ) -> None:
        self._redis_url, self._namespace, self._partition = redis_url, namespace, partition
        self._handover = handover
        self._keys = PartitionKeys(namespace.name, partition)
        self._user_document = NamespaceKeys(namespace.name).user_document
        model = online_model(settings, namespace)
        self._fingerprint = model.fingerprint.hex()
        self._judge = Judge(settings, model)
        self._files = SnapshotFiles(settings.data_dir / "snapshots")
        self._active: ActiveModels
        self._models: dict[str, Model] = {}
        self._deleted: dict[int, int] = {}
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name=f"follower-{partition}")
        self.standings: Standings
        handover.is_followed = True

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def close(self) -> None:
        """Stop, and wait for it."""
        self._stop.set()
        self._handover.arrived.set()
        self._thread.join()

    def _run(self) -> None:
        with connect(self._redis_url, role=f"follower-{self._partition}") as client:
            while not self._stop.is_set():
                try:
                    self._follow(client)
                except StoreUnavailable:
                    self._stop.wait(PERIOD_S)
                except Exception:  # noqa: BLE001 - a thread that ends in silence would hide it for ever
                    logger().error("follower_failed", exc_info=True)
                    self._stop.wait(PERIOD_S)

    def _follow(self, client: Client) -> None:
        self.standings = Standings(read_mixture(client, self._keys))
        self._active = ActiveModels(Registry(client, self._namespace.name), self._files)
        # what is deleted from now on, the learner tells
        self._deleted = read_deleted_items(client, self._keys)
        due, written = 0.0, self.standings.record
        while not self._stop.is_set():
            if time.monotonic() >= due:
                self._follow_models()
                if self.standings.record is not written:
                    written = self.standings.record
                    write_mixture(client, self._keys, written)
                due = time.monotonic() + PERIOD_S
            self._publish(client)
            if not self._judge_next(client):
                self._handover.arrived.wait(WAIT_S)
                self._handover.arrived.clear()
        if self.standings.record is not written:
            write_mixture(client, self._keys, self.standings.record)

    def _publish(self, client: Client) -> None:
        view = self._handover.take_view()
        if view is not None:
            snapshot = view.snapshot(self._partition, self._fingerprint)
            OnlineSnapshots(client, self._keys).publish(snapshot)

    def _judge_next(self, client: Client) -> bool:
        """Judge one positive if one waits, then rest."""
        sighting = self._handover.take_sighting()
        if sighting is None:
            return False
        began = time.monotonic()
        verdict = self._judge.judge(sighting, self._stored(client, sighting.user), self._models)
        if verdict is not None:
            self.standings.judge(verdict, sighting, self._handover.passed_over)
        share = BUSY_SHARE if self._handover.is_busy else SHARE
        self._stop.wait((time.monotonic() - began) * (1.0 / share - 1.0))
        return True

    def _stored(self, client: Client, user: str) -> Stored:
        keys = self._keys
        self._deleted |= self._handover.take_deleted()
        with store_errors():
            stored = client.mget(keys.history(user), keys.trimmed(user))
        history, trimmed = cast("list[bytes | None]", stored)
        return Stored(history or b"", trimmed or b"", self._deleted, self._features(client, user))

    def _features(self, client: Client, user: str) -> Mapping[str, Any]:
        if not any(model.knows_features for model in self._models.values()):
            return {}
        with store_errors():
            document = cast("bytes | None", client.get(self._user_document(user)))
        body = msgspec.json.decode(document) if document is not None else {}
        return cast("Mapping[str, Any]", body.get("features", {}))

    def _follow_models(self) -> None:
        """Take the models that serve now, and what ranks besides them."""
        self._active.refresh()
        found = self._active.current.models
        self._models = {
            name: self._model_of(name, found[name]) for name in STRATEGIES if name in found
        }
        versions = {name: model.version for name, model in self._models.items()}
        online = f"online-{self._fingerprint}"
        self.standings.follow(versions | {"online": online} | {name: name for name in ORDERS})

    def _model_of(self, strategy: str, active: ActiveModel) -> Model:
        known = self._models.get(strategy)
        if known is not None and known.version == active.record.version:
            return known
        return model_of(active, self._partition)


@contextlib.contextmanager
def following(
    settings: Settings,
    redis_url: str,
    namespace: Namespace,
    partition: int,
    handover: Handover,
) -> Iterator[None]:
    """Follow a learner meanwhile."""
    follower = Follower(settings, redis_url, namespace, partition, handover)
    follower.start()
    try:
        yield
    finally:
        follower.close()


def _weighted(record: RankerRecord, weight: float) -> RankerRecord:
    return RankerRecord(weight, record.version, record.judged, record.mrr, record.ndcg10)


def _judged(record: RankerRecord, rank: int | None) -> RankerRecord:
    """Count one judgement: plain means at first, decaying ones later; None: it had no list."""
    if rank is None:
        return record
    judged = record.judged + 1
    step = max(1.0 / judged, 1.0 - KEEP)
    return RankerRecord(
        record.weight,
        record.version,
        judged,
        record.mrr + step * (reciprocal_rank(rank) - record.mrr),
        record.ndcg10 + step * (ndcg10(rank) - record.ndcg10),
    )
