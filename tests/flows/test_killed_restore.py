"""A killed restore leaves half a namespace, which nobody serves or takes for a whole one."""

import os
import signal
import socket
import subprocess
from pathlib import Path
from typing import Any

import pytest

from service.processes.commands import COMMAND
from service.settings import Settings
from service.store.connection import Client, connect
from service.store.keys import NamespaceKeys, key_of, pattern_of
from service.store.namespace import open_namespace
from tests.flows.roles import Role
from tests.proxy import LossyProxy
from tests.server import wait_until
from tests.service.running import hedgerow

pytestmark = pytest.mark.flow

N = 120
"""Keys of 100 kB: more than a restore writes at once."""


def filled(client: Client, name: str, room: Path) -> None:
    open_namespace(client, Settings(namespace=name, data_dir=room / "filled"))
    for n in range(N):
        client.set(key_of(name, 0, b"big-%d" % n), os.urandom(100_000))


def held(client: Client, name: str) -> dict[bytes, bytes]:
    """Return the large keys of a namespace, by their names without it."""
    keys = [key for key in client.scan_iter(pattern_of(name), count=1_000) if b"big-" in key]
    return {key.partition(b":big-")[2]: client.get(key) or b"" for key in keys}


def test_a_restore_that_is_killed_is_refused_until_it_is_done_again(
    room: Path, redis_url: str, namespace: str
) -> None:
    half, file = f"{namespace}-half", str(room / "b")
    ours: Any = {"HEDGEROW_REDIS_URL": redis_url, "HEDGEROW_DATA_DIR": str(room / "data")}
    target = ours | {"HEDGEROW_NAMESPACE": half}
    with connect(redis_url, role="test") as client:
        filled(client, namespace, room)
        assert hedgerow("backup", file, **ours, HEDGEROW_NAMESPACE=namespace).returncode == 0
        killed_midway(redis_url, room, file, target)
        assert 0 < len(held(client, half)) < N
        assert not client.exists(NamespaceKeys(half).settings)

        # nobody takes it for a namespace
        assert half not in hedgerow("namespaces", "list", "--json", **ours).stdout
        for verb in (("backup", str(room / "no")), ("restore", file), ("export",)):
            refused = hedgerow(*verb, **target)
            assert refused.returncode == 2, (verb, refused.stdout)
        assert "--replace" in hedgerow("restore", file, **target).stderr
        not_served(room, redis_url, half)
        assert 0 < len(held(client, half)) < N

        again = hedgerow("restore", file, "--replace", **target)
        assert again.returncode == 0, again.stderr
        assert held(client, half) == held(client, namespace)
        assert half in hedgerow("namespaces", "list", "--json", **ours).stdout
        assert open_namespace(client, Settings(namespace=half, data_dir=room / "data"))


def killed_midway(redis_url: str, room: Path, file: str, target: dict[str, str]) -> None:
    """Restore, and send SIGKILL when the first of several writes has reached the store."""
    watches = 0

    def third_write(data: bytes) -> bool:
        # each begins with WATCH; the first takes the name
        nonlocal watches
        watches += data.count(b"WATCH")
        return watches == 3

    proxy = LossyProxy(redis_url, room / "p", third_write, hangs=True)
    try:
        environment = os.environ | target | {"HEDGEROW_REDIS_URL": proxy.url}
        restoring = subprocess.Popen([*COMMAND, "restore", file], env=environment)
        try:
            wait_until(lambda: proxy.lost)
        finally:
            restoring.send_signal(signal.SIGKILL)
            restoring.wait()
    finally:
        proxy.close()


def not_served(room: Path, redis_url: str, name: str) -> None:
    """Check that a real api process says why it does not serve a namespace."""
    settings = Settings(namespace=name, data_dir=room / "api", redis_url=redis_url, port=0)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        fd = listener.fileno()
        with Role(room, "api", settings, "api", "--listen-fd", str(fd), fds=(fd,)) as api:
            assert api.wait() != 0
            assert "is being restored" in api.log
