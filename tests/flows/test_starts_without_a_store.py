"""Roles that start, or take a job, while the store goes away between any two calls."""

import re

import pytest

from service.settings import Settings
from service.store.connection import connect
from service.store.jobs.job import TrainingOrder
from service.store.jobs.queue import Jobs
from tests.flows.roles import Role
from tests.proxy import LossyProxy
from tests.server import PrivateServer, wait_until

pytestmark = pytest.mark.flow

ORDER = TrainingOrder("fbgd", {}, budget_s=0, who="ada", why="order")
COMMAND = re.compile(rb"\*\d+\r\n\$\d+\r\n(\w+)\r\n")


class OfEachKind:
    """Loses the first reply to each kind of command, so many in all."""

    def __init__(self, most: int) -> None:
        self.lost: list[bytes] = []
        self._most = most

    def __call__(self, request: bytes) -> bool:
        # what prepares a connection is not part of what it is for
        kinds = [name for name in COMMAND.findall(request) if name != b"CLIENT"]
        if len(self.lost) == self._most or not kinds or kinds[0] in self.lost:
            return False
        self.lost.append(kinds[0])
        return True


def test_an_api_process_waits_for_a_store_that_goes_away_while_it_opens_the_namespace(tmp_path):
    with PrivateServer(tmp_path / "store") as store:
        kinds = OfEachKind(3)
        proxy = LossyProxy(store.url, tmp_path / "line", kinds)
        settings = Settings(redis_url=proxy.url, data_dir=tmp_path / "data")
        with Role(tmp_path, "api", settings, "api", "--port", "0") as api:
            wait_until(lambda: not api.alive or "http://" in api.log)
            assert api.alive
        assert kinds.lost == [b"GET", b"HGETALL", b"MULTI"]
        proxy.close()


def test_a_trainer_waits_for_the_store_and_goes_on_after_lost_replies(tmp_path):
    with PrivateServer(tmp_path / "store") as store:
        kinds = OfEachKind(6)
        proxy = LossyProxy(store.url, tmp_path / "line", kinds)
        store.kill()
        settings = Settings(redis_url=proxy.url, data_dir=tmp_path / "data")
        with Role(tmp_path, "trainer", settings, "trainer") as trainer:
            wait_until(lambda: not trainer.alive or "store_unavailable" in trainer.log)
            store.start()
            wait_until(lambda: not trainer.alive or len(kinds.lost) == 6)
            wait_until(lambda: not trainer.alive or "trainer_started" in trainer.log)
            proxy.loses = lambda request: not proxy.lost and claims(request)
            proxy.lost = 0
            with connect(store.url, role="test") as client:
                jobs = Jobs(client, client, settings.namespace)
                for _ in range(2):
                    job = jobs.submit(ORDER).id
                    wait_until(
                        lambda job=job: not trainer.alive or jobs.records.record(job).has_ended
                    )
            assert trainer.alive
            assert "Traceback" not in trainer.log
        assert proxy.lost == 1
        proxy.close()


def claims(request: bytes) -> bool:
    """Return whether the trainer claims a job."""
    return request.startswith(b"*") and b"EVAL" in request and b'"running"' in request
