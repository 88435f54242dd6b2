"""The work after a promotion: remove old models, note it in the schedule, order due trainings."""

import resource
import sys
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict
from time import process_time
from typing import Any

from service.errors import Backlogged, NotFound, StoreUnavailable
from service.ranking.strategies import Strategy
from service.settings import Settings
from service.store.clock import now_ms
from service.store.connection import Client
from service.store.jobs.job import ORDERED, JobRecord, TrainingOrder
from service.store.jobs.records import JobRecords
from service.store.jobs.schedule import Schedules
from service.store.models.records import ModelRecord
from service.store.models.registry import Registry
from service.store.namespace import Namespace
from service.telemetry import logger
from service.training.data.dataset import Dataset, EncodedUsers
from service.training.recipes import SERVED


class Afterwards:
    """The end of a job."""

    def __init__(
        self, settings: Settings, client: Client, namespace: Namespace, record: JobRecord
    ) -> None:
        self._settings, self._client, self._record = settings, client, record
        self._registry = Registry(client, namespace.name)
        self._records = JobRecords(client, namespace.name)

    def prune(self) -> list[str]:
        """Remove old models; return their versions."""
        max_age_ms = int(self._settings.keep_models_days * 86_400_000)
        return self._registry.prune(self._settings.keep_models, max_age_ms)

    def note_for_the_schedule(self, data: Dataset) -> bool:
        """Let the schedule count from here; return whether to retrain the other models, too."""
        began_ms = self._record.started_ms or now_ms()
        schedules = Schedules(self._client, self._settings)
        try:
            counts = schedules.trained(self._record.model, began_ms, data.sequences)
        except StoreUnavailable as error:
            # the model serves all the same; the schedule will order one training too many
            logger().warning("training_not_noted", job=self._record.id, reason=error.detail)
            return False
        return counts and self._record.why != ORDERED

    def order_others(self, own: Strategy) -> None:
        """Order a training of every other serving model that is not pinned.

        Only records are written; the trainer finds them.
        """
        try:
            pinned = self._registry.pins()
            for strategy, version in self._registry.active().items():
                served = self._registry.record(version)
                if strategy in {own, *pinned} or served.model not in SERVED:
                    continue
                # with a full queue this model is left out
                with suppress(Backlogged):
                    self._order_again(served)
        except StoreUnavailable as error:
            reason = error.detail
            logger().warning("others_not_ordered", job=self._record.id, reason=reason)

    def _order_again(self, served: ModelRecord) -> None:
        """Order a training of a serving model with the settings that were stated for it."""
        job, order = self._record, order_of(served, self._records)
        self._records.create(
            TrainingOrder(
                served.model,
                order.parameters if order else {},
                budget_s=job.budget_s,
                who=job.who,
                why=job.why,
                promote_unjudged=job.promote_unjudged or bool(order and order.promote_unjudged),
            )
        )


def order_of(served: ModelRecord, records: JobRecords) -> JobRecord | None:
    """Return the job that made a model; None if its record has expired or there was none.

    The record of a job may expire before its model does.
    """
    with suppress(NotFound):
        return records.record(served.job) if served.job else None
    return None


def costs(data: Dataset, seconds: Mapping[str, float]) -> dict[str, Any]:
    """Return the size of the data, and what the job cost."""
    # ru_maxrss is in kilobytes, on macOS in bytes
    unit = 1 if sys.platform == "darwin" else 1024
    return {
        "users": data.whole.n_users,
        "items": data.whole.n_items,
        "pairs": len(data.whole),
        **_encoded(data.encoded),
        "seconds": dict(seconds),
        "processor_seconds": round(process_time(), 3),
        "peak_bytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit,
    }


def _encoded(encoded: EncodedUsers | None) -> dict[str, Any]:
    """Return the columns made of features, those left out, and the number of links.

    The answer is empty for a model without documents.
    """
    if encoded is None:
        return {}
    of = {"users": encoded} | ({"items": encoded.items} if encoded.items else {})
    found = {
        who: {"columns": one.encoder.width, "left_out": asdict(one.left_out)}
        for who, one in of.items()
    }
    return {"features": found, "links": int(encoded.links.nnz)}
