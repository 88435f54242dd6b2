"""A deletion and the order to erase what is left of the user reach the store together."""

import contextlib
import socket
import threading
from pathlib import Path
from typing import Any

import httpx
import pytest

from service.settings import Settings
from service.store.connection import connect
from service.store.erasures.records import Erasures
from service.store.keys import NamespaceKeys, PartitionKeys
from tests.api import Api, learning
from tests.flows.roles import Role
from tests.server import wait_until

pytestmark = pytest.mark.flow

LOOPBACK = ("127.0.0.1", 0)


def test_a_process_that_is_killed_before_it_answers_leaves_no_user_unerased(
    room: Path, redis_url: str, namespace: str
) -> None:
    # nobody learns yet, so the answer to the deletion waits
    usual: Any = {"data_dir": room / "data", "redis_url": redis_url, "wait_timeout_ms": 60_000}
    settings = Settings(namespace=namespace, port=0, **usual)
    log, keys = PartitionKeys(namespace, 0).log, NamespaceKeys(namespace)
    with connect(redis_url, role="test") as client, socket.create_server(LOOPBACK) as listener:
        fd, port = listener.fileno(), listener.getsockname()[1]
        with Role(room, "api", settings, "api", "--listen-fd", str(fd), fds=(fd,)) as api:
            url = f"http://127.0.0.1:{port}/v1/users"
            for user, links in {"ada": [], "bob": [{"user": "ada"}]}.items():
                put = httpx.put(f"{url}/{user}", json={"links": links}, timeout=300)
                assert put.is_success, put.text
            asking = threading.Thread(target=delete, args=(f"{url}/ada",))
            asking.start()
            wait_until(lambda: client.xlen(log) == 1)
            api.kill()
        asking.join()
        [due] = Erasures(client, namespace).due()
        assert not client.exists(keys.user_document("ada"))
    assert (due.user, due.erasure.partition, due.erasure.sequence) == ("ada", 0, 1)
    with learning(settings, redis_url), Api(settings, redis_url) as again:
        receipt = f"/v1/erasures/{due.erasure.id}"
        wait_until(lambda: again("GET", receipt).json()["erased"])
        assert again("GET", receipt).json()["removed"] == {"links": 1, "events": 0}
        assert again("GET", "/v1/users/bob").json()["links"] == []


def delete(url: str) -> None:
    """Send a deletion whose answer does not come."""
    with contextlib.suppress(httpx.TransportError):
        httpx.delete(url, timeout=120)
