"""The trainer counts how its trainings ended, and how long they took."""

import redis

from service.metrics.catalogue import TRAINING_SECONDS, TRAININGS
from service.metrics.meters import Meters
from service.settings import Settings
from service.store.jobs.job import TrainingOrder
from service.store.jobs.queue import Jobs
from service.store.jobs.schedule import Schedules
from service.store.keys import NamespaceKeys
from service.store.log.lease import Lease
from service.store.namespace import open_namespace
from service.training.trainer import Trainer


def test_trainings_are_counted_by_what_became_of_them(client: redis.Redis, namespace: str) -> None:
    settings, meters = Settings(namespace=namespace), Meters()
    open_namespace(client, settings)
    jobs = Jobs(client, client, namespace)
    lease = Lease(client, NamespaceKeys(namespace).trainer, 600_000)
    assert lease.acquire()
    trainer = Trainer(settings, lease, jobs, Schedules(client, settings), meters)

    def begun() -> str:
        order = TrainingOrder("fbgd", {}, budget_s=0, who="test", why="order")
        job = jobs.records.create(order).id
        assert trainer.begin(job)
        return job

    killed, cancelled, good, lasting = begun(), begun(), begun(), begun()
    trainer.died(killed, "its process ended: SIGKILL")
    jobs.records.cancel(cancelled, "test")
    jobs.records.succeed(good, lease.token, decision={"outcome": "promoted"})
    for job in (killed, cancelled, good, lasting, "unknown"):
        trainer.ended(job)
    counted = {(one.metric, *one.values): sum(numbers) for one, numbers in meters.series()}
    outcomes = ("failed", "cancelled", "promoted")
    assert {key: n for key, n in counted.items() if key[0] is TRAININGS} == {
        (TRAININGS, outcome): 1 for outcome in outcomes
    }
    spreads = [numbers for one, numbers in meters.series() if one.metric is TRAINING_SECONDS]
    assert [sum(numbers[:-1]) for numbers in spreads] == [1, 1, 1]
    lease.release()

    # another trainer is there: whoever finds out that the job has none counts it, once
    successor = Lease(client, NamespaceKeys(namespace).trainer, 600_000)
    assert successor.acquire()
    for _ in range(2):
        assert jobs.records.record(lasting).status == "failed"
    [failed] = [numbers for one, numbers in meters.series() if one.values == ("failed",)][:1]
    assert failed == [2]
    successor.release()
