"""Records of jobs: the status only moves forward, and a dead job is never shown as running."""

import socket
import threading

import pytest

from service.errors import Backlogged, Conflict, NotFound
from service.store.jobs.job import PROMOTING, TrainingOrder
from service.store.jobs.records import JobGone, JobRecords
from service.store.keys import NamespaceKeys
from service.store.log.lease import Lease

WORKER = "host:1:cafe"


@pytest.fixture
def records(client, namespace):
    client.set(NamespaceKeys(namespace).trainer, WORKER)
    return JobRecords(client, namespace)


def made(records, **more):
    order = {"budget_s": 1.0, "who": "ada", "why": "order"} | more
    return records.create(TrainingOrder("fbgd", {"factors": 8}, **order))


def test_a_job_goes_from_queued_through_running_to_its_end(records):
    job = made(records)
    assert records.record(job.id) == job
    assert records.claim(job.id, WORKER)
    assert not records.is_cancelled(job.id)
    records.report(job.id, WORKER, stage="fitting", progress=0.5)
    running = records.record(job.id)
    assert (running.status, running.stage, running.progress) == ("running", "fitting", 0.5)
    assert running.started_ms >= job.created_ms
    records.succeed(job.id, WORKER, version="v", metrics={"ndcg@10": 0.5})
    ended = records.record(job.id)
    assert (ended.status, ended.stage, ended.progress, ended.version) == ("succeeded", "", 1.0, "v")
    assert ended.metrics == {"ndcg@10": 0.5}
    assert ended.has_ended


def test_an_end_is_final(records):
    job = made(records)
    records.claim(job.id, WORKER)
    records.succeed(job.id, WORKER)
    ended = records.record(job.id)
    assert not records.claim(job.id, WORKER)
    assert not records.fail(job.id, "too late")
    with pytest.raises(JobGone):
        records.report(job.id, WORKER, progress=0.1)
    with pytest.raises(Conflict, match=r"ended already \(succeeded\)"):
        records.cancel(job.id, "ada")
    assert records.record(job.id) == ended


def test_only_its_worker_reports_a_job(records):
    job = made(records)
    records.claim(job.id, WORKER)
    with pytest.raises(JobGone):
        records.report(job.id, "host:2:beef", progress=0.9)
    assert records.record(job.id).progress == 0.0


def test_one_of_many_claims_of_a_job_succeeds(records):
    job = made(records)
    got = []
    threads = [
        threading.Thread(target=lambda: got.append(records.claim(job.id, WORKER))) for _ in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(got) == [False] * 7 + [True]


def test_a_job_that_makes_its_model_active_cannot_be_cancelled(records):
    job = made(records)
    records.claim(job.id, WORKER)
    records.report(job.id, WORKER, stage=PROMOTING)
    with pytest.raises(Conflict, match="roll it back"):
        records.cancel(job.id, "ada")
    records.succeed(job.id, WORKER)


def test_a_running_job_whose_trainer_holds_no_lease_has_failed(records, client, namespace):
    job = made(records)
    records.claim(job.id, WORKER)
    records.report(job.id, WORKER, stage="judging")
    assert records.record(job.id).status == "running"
    client.set(NamespaceKeys(namespace).trainer, "host:2:beef")
    [failed] = records.records()
    assert failed.status == "failed"
    assert "judging" in failed.error
    with pytest.raises(JobGone):
        records.report(job.id, WORKER, progress=1.0)


def test_a_job_of_a_busy_trainer_whose_lease_ran_out_goes_on(client, namespace):
    records, key = JobRecords(client, namespace), NamespaceKeys(namespace).trainer
    lease, job = Lease(client, key, 60_000), made(records)
    assert lease.acquire()
    records.claim(job.id, lease.token)
    client.delete(key)  # as when it expires
    assert records.record(job.id).status == "running"
    assert lease.keep()
    records.succeed(job.id, lease.token)


@pytest.mark.parametrize("host", [socket.gethostname(), "elsewhere"])
def test_a_job_without_a_lease_fails_if_its_trainer_is_not_known_to_run(client, namespace, host):
    records, ended = JobRecords(client, namespace), 2**22 + 1  # beyond the largest process id
    job = made(records)
    records.claim(job.id, f"{host}:{ended}:cafe")
    assert records.record(job.id).status == "failed"


def test_the_list_is_bounded_and_newest_first(client, namespace, records):
    records = JobRecords(client, namespace, kept=5)
    jobs = []
    for _ in range(8):
        jobs.append(made(records))
        records.fail(jobs[-1].id, "so it goes")
    listed = [record.id for record in records.records()]
    by_age = sorted(jobs, key=lambda job: (job.created_ms, job.id), reverse=True)
    assert listed == [job.id for job in by_age[:5]]
    with pytest.raises(NotFound):
        records.record(by_age[-1].id)
    assert [record.id for record in records.records(2, listed[1])] == listed[2:4]
    assert records.records(2, "unknown") == []


def test_at_most_twenty_jobs_wait(records):
    for _ in range(20):
        made(records)
    with pytest.raises(Backlogged):
        made(records)


def test_only_a_job_that_was_cancelled_or_is_gone_is_cancelled(records):
    job = made(records)
    records.cancel(job.id, "ada")
    assert records.is_cancelled(job.id)
    assert records.is_cancelled("never-ordered")
    ended = made(records)
    records.claim(ended.id, WORKER)
    records.succeed(ended.id, WORKER)
    assert not records.is_cancelled(ended.id)


def test_cancelled_orders_hide_none_of_those_that_wait(records):
    for _ in range(19):
        made(records)
    for _ in range(50):
        records.cancel(made(records).id, "ada")
    made(records)
    with pytest.raises(Backlogged):
        made(records)
