"""A training that gets hardly any processor says so, for its end may be far."""

import pytest
from structlog.testing import capture_logs

from service.store.jobs.records import JobRecords
from service.store.keys import NamespaceKeys
from service.training import work
from service.training.work import Reporter

WORKER = "host:1:cafe"


@pytest.fixture
def reporter(client, namespace):
    client.set(NamespaceKeys(namespace).trainer, WORKER)
    records = JobRecords(client, namespace)
    job = records.create("fbgd", {}, budget_s=1.0, who="ada", why="order")
    records.claim(job.id, WORKER)
    return Reporter(records, records.record(job.id))


def told(reporter) -> list[str]:
    with capture_logs() as logs:
        for stage in ("reading", "searching", "fitting"):
            with reporter.stage(stage):
                reporter.share(0.5)
    return [line["event"] for line in logs]


def test_a_training_without_a_processor_is_told_once(reporter, monkeypatch):
    # more of a processor than there is: as if others had taken nearly all of it
    monkeypatch.setattr(work, "STARVED", float("inf"))
    monkeypatch.setattr(work, "STARVED_AFTER_S", 0.0)
    assert told(reporter) == ["training_starved"]


def test_a_training_that_has_its_share_says_nothing(reporter, monkeypatch):
    monkeypatch.setattr(work, "STARVED", 0.0)
    monkeypatch.setattr(work, "STARVED_AFTER_S", 0.0)
    assert told(reporter) == []


def test_a_training_that_has_just_begun_says_nothing(reporter, monkeypatch):
    monkeypatch.setattr(work, "STARVED", float("inf"))
    assert told(reporter) == []
