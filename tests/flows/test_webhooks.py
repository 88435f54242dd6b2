"""Webhooks of a whole service: told by one of its processes, also after that one is killed."""

import os
import signal
from collections import Counter
from functools import partial
from pathlib import Path

import pytest

from service.store.connection import connect
from service.store.jobs.records import JobRecords
from service.store.keys import NamespaceKeys
from service.store.server.embedded import running_server
from tests.server import wait_until
from tests.service.running import service
from tests.webhook_receiver import Receiver

pytestmark = [pytest.mark.flow, pytest.mark.slow]


def test_every_training_is_told_once_though_the_sender_is_killed(room: Path) -> None:
    order = {"model": "fbgd", "parameters": {"factors": 2, "epochs": 1}, "budget_s": 0}
    with (
        Receiver(500, 204) as receiver,
        service(room, api_processes=2, webhooks_to_private=True) as running,
        running.client() as client,
    ):
        running.wait_until_ready(client)
        client.post("/v1/webhooks", {"url": receiver.url, "events": ["training.ended"]})
        ended: set[str] = set()
        killed: set[bytes] = set()
        with connect(str(running_server(room / "data")), role="test") as store:
            lease = NamespaceKeys("main").webhook_sender
            for _ in range(3):
                wait_until(lambda: store.get(lease) not in {None, *killed})
                holder = store.get(lease) or b""
                job: str = client.post("/v1/retrain", order)["id"]
                killed.add(holder)
                os.kill(int(holder.split(b":")[1]), signal.SIGKILL)
                # by the store: a request may reach the process that is killed
                records = JobRecords(store, "main")
                wait_until(partial(_has_ended, records, job))
                ended.add(job)
        wait_until(lambda: len({one.id for one in receiver.received}) == len(ended))
        told = {one.id: one.event["data"]["job"] for one in receiver.received}
    # each job has one event; an event may come again, under the same id
    assert Counter(told.values()) == Counter(ended)


def _has_ended(records: JobRecords, job: str) -> bool:
    return records.record(job).has_ended
