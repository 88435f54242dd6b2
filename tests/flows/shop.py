"""A namespace with histories and a real trainer: the stage for tests of retraining."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from service.settings import Settings
from service.store.connection import connect
from service.store.jobs.job import JobRecord, TrainingOrder
from service.store.jobs.queue import Jobs
from service.store.models.registry import Registry
from tests.flows import dying_trainer
from tests.flows.roles import Role
from tests.histories import Record, store_histories
from tests.server import wait_until


@dataclass
class Shop:
    """A namespace with a trainer of its own, and what tests ask of both."""

    settings: Settings
    client: Any
    jobs: Jobs
    registry: Registry
    trainer: Role

    def ordered(
        self,
        model: str | None = "fbgd",
        budget_s: float = 0.0,
        who: str = "a test",
        **parameters: Any,
    ) -> JobRecord:
        return self.jobs.submit(
            TrainingOrder(model, parameters, budget_s=budget_s, who=who, why="order")
        )

    def ended(self, job: JobRecord) -> JobRecord:
        records = self.jobs.records
        wait_until(lambda: records.record(job.id).has_ended)
        return records.record(job.id)

    def trained(self, **order: Any) -> JobRecord:
        return self.ended(self.ordered(**order))

    @property
    def serving(self) -> dict[str, str]:
        return self.registry.active()


@contextmanager
def shop(
    room: Path, redis_url: str, namespace: str, stored: list[Record], **settings: Any
) -> Iterator[Shop]:
    """Store these histories and run a trainer on them; yield the shop.

    It starts nothing by itself, unless a test says so.
    """
    # no niceness: beside other tests a nice trainer may get no processor time at all
    usual = {"trainer_nice": 0, "retrain_after_events": 0}
    chosen = Settings(namespace=namespace, redis_url=redis_url, **usual | settings)
    with connect(redis_url, role="test") as client:
        store_histories(client, chosen, stored)
        with Role(room, "trainer", chosen, command=dying_trainer.COMMAND) as trainer:
            yield Shop(
                settings=chosen,
                client=client,
                jobs=Jobs(client, client, namespace),
                registry=Registry(client, namespace),
                trainer=trainer,
            )
