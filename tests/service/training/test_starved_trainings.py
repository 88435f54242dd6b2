"""A training that gets hardly any processor time reports that, for it may take very long."""

from functools import partial

import pytest
from structlog.testing import capture_logs

from service.store.jobs.job import TrainingOrder
from service.store.jobs.records import JobRecords
from service.store.keys import NamespaceKeys
from service.training.reporter import Reporter

WORKER = "host:1:cafe"


@pytest.fixture
def reporter(client, namespace):
    """Return a factory of reporters of a running job, with other bounds."""
    client.set(NamespaceKeys(namespace).trainer, WORKER)
    records = JobRecords(client, namespace)
    job = records.create(TrainingOrder("fbgd", {}, budget_s=1.0, who="ada", why="order"))
    records.claim(job.id, WORKER)
    return partial(Reporter, records, records.record(job.id))


def told(reporter) -> list[str]:
    with capture_logs() as logs:
        for stage in ("reading", "searching", "fitting"):
            with reporter.stage(stage):
                reporter.share(0.5)
    return [line["event"] for line in logs]


def test_a_training_without_a_processor_is_reported_once(reporter):
    # more of a processor than there is: as if others had taken nearly all of it
    assert told(reporter(starved=float("inf"), starved_after_s=0.0)) == ["training_starved"]


def test_a_training_with_its_share_is_not_reported(reporter):
    assert told(reporter(starved=0.0, starved_after_s=0.0)) == []


def test_a_training_that_has_just_begun_is_not_reported(reporter):
    assert told(reporter(starved=float("inf"))) == []
