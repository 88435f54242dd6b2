"""The queue to the trainer: a worker takes an id from it, never a function to call."""

import json
import zlib

import rq.job
from rq.serializers import JSONSerializer

from service.store.connection import connect
from service.store.jobs.job import TrainingOrder
from service.store.jobs.queue import CarriedJob, Jobs
from tests.forged_jobs import forge
from tests.server import wait_until


def test_an_order_holds_while_the_server_that_carries_it_is_away(client, namespace):
    with connect("redis://127.0.0.1:1", role="test") as nowhere:
        jobs = Jobs(client, nowhere, namespace)
        first, second = (
            jobs.submit(TrainingOrder("fbgd", {}, budget_s=0, who="ada", why="order"))
            for _ in range(2)
        )
        assert jobs.cancel(second.id, "ada").status == "cancelled"
    queue = f"rq:queue:hedgerow-{namespace}"
    trainers = Jobs(client, client, namespace)
    wait_until(lambda: trainers.send_lost() or client.llen(queue))
    assert client.lrange(queue, 0, -1) == [first.id.encode()]


def test_jobs_without_a_worker_are_queued_again(client, namespace):
    jobs = Jobs(client, client, namespace)
    first, second = (
        jobs.submit(TrainingOrder("fbgd", {}, budget_s=0, who="ada", why="order")) for _ in range(2)
    )
    queue = f"rq:queue:hedgerow-{namespace}"
    carried = [job.decode() for job in client.lrange(queue, 0, -1)]
    assert carried == [first.id, second.id]
    client.delete(queue)
    jobs.send_lost()
    assert client.llen(queue) == 0, "a job ordered just now is still on its way"
    wait_until(lambda: jobs.send_lost() or client.llen(queue))
    wait_until(lambda: jobs.send_lost() or client.llen(queue) == 2)
    jobs.send_lost()
    assert sorted(job.decode() for job in client.lrange(queue, 0, -1)) == sorted(carried)


def test_a_queued_job_is_its_id_as_json(client, namespace):
    jobs = Jobs(client, client, namespace)
    job = jobs.submit(TrainingOrder("fbgd", {"factors": 8}, budget_s=0, who="ada", why="order"))
    packed = zlib.decompress(client.hget(f"rq:job:{job.id}", "data"))
    assert json.loads(packed) == ["training", None, [job.id], {}]


def test_a_forged_record_names_nothing_that_is_called(client, namespace, tmp_path):
    job = Jobs(client, client, namespace).submit(
        TrainingOrder("fbgd", {}, budget_s=0, who="ada", why="order")
    )
    forge(client, job.id, tmp_path / "forged")
    rqs_own = rq.job.Job.fetch(job.id, client, JSONSerializer)
    rqs_own.perform()
    assert (tmp_path / "forged").exists(), "the forged record would do harm elsewhere"
    ours = CarriedJob.fetch(job.id, client, JSONSerializer)
    assert (ours.func_name, ours.args) == ("training", [job.id])
    assert not ours.webhooks
    assert not ours.success_callback
    assert not ours.failure_callback
    assert not ours.stopped_callback
