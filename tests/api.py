"""The application under test: called within this process, or served on a real socket."""

import asyncio
import contextlib
import socket
import tempfile
import threading
from collections.abc import Coroutine, Iterator
from functools import partial
from http import HTTPStatus
from pathlib import Path
from typing import Any, Self, TypeVar

import httpx
import uvicorn

from service.app import create_app
from service.http.connections import server_config
from service.http.problems import MEDIA_TYPE
from service.learning.partition_loop import learn_partition
from service.runtime.api import ApiRuntime, api_runtime
from service.settings import Settings
from service.store.api_keys import ApiKey, Role
from service.store.keys import PartitionKeys
from service.store.log.codec import Entry, decode
from tests.openapi.promises import broken_promise
from tests.server import DEADLINE_S, wait_until

T = TypeVar("T")

JSON = {"content-type": "application/json"}
NDJSON = {"content-type": "application/x-ndjson"}
PATIENCE_MS = 5_000
"""As in tests/conftest.py, which says it to processes."""


class Api:
    """An application with its lifespan, on an event loop of its own."""

    def __init__(self, settings: Settings, redis_url: str, **more: float) -> None:
        self._runner = asyncio.Runner()
        self._stack = contextlib.AsyncExitStack()
        settings = self._stack.enter_context(housed(settings))
        self.settings = settings
        self.app = create_app(partial(api_runtime, settings, redis_url), settings, **more)

    def __enter__(self) -> Self:
        self.run(self._stack.enter_async_context(self.app.router.lifespan_context(self.app)))
        transport = httpx.ASGITransport(self.app, raise_app_exceptions=False)
        self.client = httpx.AsyncClient(
            transport=transport, base_url="http://localhost", timeout=180
        )
        return self

    def __exit__(self, *_: object) -> None:
        self.run(self.client.aclose())
        self.run(self._stack.aclose())
        self._runner.close()

    @property
    def runtime(self) -> ApiRuntime:
        runtime: ApiRuntime = self.app.state.runtime
        return runtime

    def new_key(self, role: Role, name: str) -> tuple[ApiKey, str]:
        """Make a key that acts at once, whoever has the first; returns it with its secret."""
        key, secret = self.run(self.runtime.keys.create(role, name))
        self.app.state.key_check.note(key)
        return key, secret

    def follow_models(self) -> None:
        """Let the models that are active serve, prepared."""
        self.run(self._follow_models())

    async def _follow_models(self) -> None:
        models = self.runtime.active
        async with asyncio.timeout(DEADLINE_S):
            await asyncio.to_thread(models.refresh)
            # the cache for a new model is warmed on this loop
            while models._coming:
                await asyncio.sleep(0.01)
                await asyncio.to_thread(models.refresh)

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Run something on the application's loop."""
        return self._runner.run(work)

    def __call__(self, method: str, path: str, **more: Any) -> httpx.Response:
        answer = self.run(self.client.request(method, path, **more))
        # whatever a test is about, its answers are those that the OpenAPI document promises
        assert broken_promise(answer) is None
        return answer

    def ready(self) -> Any:
        """Wait until the application is ready and return its readiness report."""
        wait_until(lambda: self("GET", "/readyz").is_success)
        return self("GET", "/readyz").json()

    def rate(self, user: str, item: str, rating: float, **more: Any) -> str:
        """Post a rating and return its sequence."""
        body = {"user": user, "item": item, "rating": rating, **more}
        answer = self("POST", "/v1/ratings", json=body)
        assert answer.status_code == 202, answer.text
        sequence: str = answer.json()["sequence"]
        return sequence


@contextlib.contextmanager
def housed(settings: Settings) -> Iterator[Settings]:
    """Settings with a data directory of their own: it remembers the stores that it has seen.

    A store that waits for a processor is not away, unless a test sets how soon it is.
    """
    if "store_patience_ms" not in settings.model_fields_set:
        settings = settings.model_copy(update={"store_patience_ms": PATIENCE_MS})
    if settings.data_dir != Settings.model_fields["data_dir"].default:
        yield settings
        return
    with tempfile.TemporaryDirectory() as directory:
        yield settings.model_copy(update={"data_dir": Path(directory)})


@contextlib.contextmanager
def learning(settings: Settings, redis_url: str) -> Iterator[None]:
    """Run the learner of each partition in a thread."""
    stop = threading.Event()
    threads = [
        threading.Thread(target=learn_partition, args=(settings, redis_url, partition, stop))
        for partition in range(settings.partitions)
    ]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        stop.set()
        for thread in threads:
            thread.join()


@contextlib.contextmanager
def served(settings: Settings, redis_url: str) -> Iterator[tuple[str, int]]:
    """Serve the application on a loopback port by a real uvicorn; yields (host, port)."""
    with housed(settings) as ours:
        yield from _served(ours, redis_url)


def _served(settings: Settings, redis_url: str) -> Iterator[tuple[str, int]]:
    app = create_app(partial(api_runtime, settings, redis_url), settings)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        config = server_config(app, settings)
        server = uvicorn.Server(config)
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
        thread.start()
        try:
            yield listener.getsockname()
        finally:
            server.should_exit = True
            thread.join()


def exchange(address: tuple[str, int], request_line: bytes) -> bytes:
    """Send a request as these very bytes; return the whole answer."""
    with socket.create_connection(address) as client:
        client.sendall(request_line + b"host: localhost\r\nconnection: close\r\n\r\n")
        parts = []
        while part := client.recv(65_536):
            parts.append(part)
    return b"".join(parts)


def appended(api: Api) -> list[Entry]:
    """Return all entries of the log, in order."""
    key = PartitionKeys(api.settings.namespace, 0).log
    entries: Any = api.run(api.runtime.redis.xrange(key))
    return [decode(fields[b"d"]) for _, fields in entries]


def check_problem(answer: httpx.Response, status: int, code: str) -> dict[str, Any]:
    """Assert the one shape of errors."""
    assert answer.headers["content-type"] == MEDIA_TYPE
    problem: dict[str, Any] = answer.json()
    assert (answer.status_code, problem["code"]) == (status, code)
    assert problem["type"] == f"/docs/errors#{code}"
    assert problem["title"] == HTTPStatus(status).phrase
    assert problem["status"] == status
    assert problem["detail"]
    assert problem["request_id"] == answer.headers["x-request-id"]
    retry = problem.get("retry_after")
    assert answer.headers.get("retry-after") == (None if retry is None else str(retry))
    assert (status in {429, 503}) == (retry is not None)
    return problem
