"""The first training of much feedback: the usual recipe serves before the others are fitted."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from service.settings import Settings
from service.store.jobs.job import TrainingOrder
from service.store.jobs.records import JobGone, JobRecords
from service.store.keys import NamespaceKeys
from service.store.models.registry import Registry
from service.store.namespace import existing_namespace
from service.training.all_families.job import LARGE, AllFamilies
from service.training.reporter import Reporter
from tests.histories import store_histories, world

WORKER = "the trainer of this test"


class Watching(Reporter):
    """Notes what serves as each stage begins; may lose its job in one of them."""

    serving: dict[str, set[str]]
    lost_in = ""

    @contextmanager
    def stage(
        self, name: str, bounds: tuple[float, float] | None = None, **more: Any
    ) -> Iterator[None]:
        self.serving[name] = set(self.registry.active().values())
        with super().stage(name, bounds, **more):
            if name == self.lost_in:
                raise JobGone(name)
            yield


@pytest.fixture
def train(client, namespace):
    """Return a function that trains all families of a namespace, and what served meanwhile."""
    settings = Settings(namespace=namespace)
    store_histories(client, settings, world(users=120, items=60))
    client.set(NamespaceKeys(namespace).trainer, WORKER)
    records, registry = JobRecords(client, namespace), Registry(client, namespace)

    def run(*, large: int = 1, lost_in: str = "", first_serves=lambda: None):
        order = {"budget_s": 0.2, "who": "ada", "why": "order"}
        job = records.create(TrainingOrder(None, {}, **order))
        records.claim(job.id, WORKER)
        record = records.record(job.id)
        reporter = Watching(records, record)
        reporter.serving, reporter.registry, reporter.lost_in = {}, registry, lost_in
        room = existing_namespace(client, settings)
        AllFamilies(settings, client, room, record, reporter, large=large).run(first_serves)
        return records.record(job.id), reporter.serving

    return run


def test_the_usual_recipe_serves_before_the_others_are_weighed(train, client, namespace):
    job, serving = train()
    assert job.status == "succeeded", job.error
    [first] = serving["weighing"]
    registry = Registry(client, namespace)
    assert registry.record(first).strategy == "fbgd"
    found = {one["model"]: one for one in job.tried}
    assert found["fbgd"]["serves"]
    assert found["fbgd"]["decision"]["rival"] == first
    # what was chosen beside it serves too, and it has gone on with all the others
    chosen = {one["strategy"] for one in job.tried if one["chosen"]}
    assert chosen <= set(registry.active())
    assert "fbgd" in registry.active()


def test_a_training_that_ends_early_leaves_the_first_model_in_service(train, client, namespace):
    with pytest.raises(JobGone):
        train(lost_in="weighing")
    assert set(Registry(client, namespace).active()) == {"fbgd"}


def test_it_is_told_once_when_the_first_model_serves(train, client, namespace):
    registry, told = Registry(client, namespace), []
    train(first_serves=lambda: told.append(set(registry.active())))
    assert told == [{"fbgd"}]
    train(first_serves=lambda: told.append("again"))
    assert told == [{"fbgd"}]


def test_little_feedback_is_weighed_before_anything_serves(train):
    job, serving = train(large=LARGE)
    assert job.status == "succeeded", job.error
    assert serving["weighing"] == set()


def test_where_something_serves_nothing_is_hurried(train, client, namespace):
    train()
    before = set(Registry(client, namespace).active().values())
    _, serving = train()
    assert serving["weighing"] == before
