"""Many clients that watch one job cost the store no more than one."""

import asyncio
import threading
from collections.abc import Iterator
from dataclasses import replace

from service.api.models.watched_jobs import WatchedJobs
from service.errors import NotFound, StoreUnavailable
from service.limits import Limits
from service.settings import Settings
from service.store.jobs.job import JobRecord
from tests.api import Api
from tests.server import wait_until

JOB = JobRecord(
    id="0123456789abcdef",
    status="queued",
    model="fbgd",
    parameters={},
    budget_s=1.0,
    who="local",
    why="ordered",
    created_ms=0,
)


class Store:
    """A job that changes with each look, and counts them."""

    def __init__(self, *states: JobRecord | Exception) -> None:
        self._states: Iterator[JobRecord | Exception] = iter(states)
        self.reads = 0

    def __call__(self, job: str) -> JobRecord:
        assert job == JOB.id
        self.reads += 1
        found = next(self._states)
        if isinstance(found, Exception):
            raise found
        return found


def told(store: Store, watchers: int, stopping: threading.Event | None = None) -> list[list[str]]:
    """Return the statuses that each of some watchers is told."""
    watched = WatchedJobs(store, stopping or threading.Event(), most=100)

    async def watch() -> list[str]:
        return [now.status async for now in watched.changes(JOB)]

    async def watch_all() -> list[list[str]]:
        found = await asyncio.gather(*(watch() for _ in range(watchers)))
        assert not watched._watched
        return found

    return asyncio.run(watch_all())


def test_all_watchers_are_told_and_the_job_is_read_once_for_all() -> None:
    running, done = replace(JOB, status="running"), replace(JOB, status="succeeded")
    store = Store(running, StoreUnavailable("away"), running, done)
    assert told(store, 50) == [["queued", "running", "succeeded"]] * 50
    assert store.reads == 4


def test_watching_ends_with_the_job_and_with_the_server() -> None:
    assert told(Store(NotFound("gone")), 2) == [["queued"]] * 2
    stopping = threading.Event()
    stopping.set()
    assert told(Store(), 2, stopping) == [["queued"]] * 2


def test_there_are_only_so_many_watchers(redis_url: str, namespace: str) -> None:
    settings = Settings(namespace=namespace, limits=Limits(watchers=1))
    with Api(settings, redis_url) as api:
        job = api("POST", "/v1/retrain", json={"model": "fbgd"}).json()["id"]

        async def watch() -> tuple[int, str]:
            path = f"/v1/jobs/{job}/events"
            first = asyncio.create_task(api.client.get(path))
            await asyncio.to_thread(wait_until, lambda: api.app.state.watched_jobs._watched)
            second = await api.client.get(path)
            await api.client.delete(f"/v1/jobs/{job}")
            assert (await first).status_code == 200
            # there is room again
            assert (await api.client.get(path)).status_code == 200
            return second.status_code, second.json()["detail"]

        status, detail = api.run(watch())
    assert status == 503
    assert "HEDGEROW_LIMITS__WATCHERS" in detail
