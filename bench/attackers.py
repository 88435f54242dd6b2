"""Attackers without a key, each in a process of its own, and what another client feels meanwhile.

    python -m bench.attackers                 what the other client and the memory of the api do
    python -m bench.attackers ATTACK PORT     one attack, until standard input closes

Everything stays on loopback and is bounded: 256 MB of one header, 5 000 connections, 60 bodies.
"""

import asyncio
import itertools
import json
import select
import socket
import subprocess
import sys
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from bench.http_client import Load, open_loop
from bench.http_client import request as packed
from bench.service import Server, hedgerow

SECONDS, RATE = 15.0, 50.0
HEADER_MB, PACKET = 256, b"a" * 65_536
HALF_HEADERS, HALF_BODIES, IDLE = 1_500, 60, 5_000
MB = 1 << 20
Taken = tuple[float, int]
"""Memory of a process in MB, and its open files."""
HEAD = b"POST /v1/events HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n"


def long_header(port: int) -> None:
    """Send 256 MB of one header, again from the start whenever the server hangs up."""
    sent = 0
    while sent < HEADER_MB * MB and not _told_to_stop():
        with _connected(port) as client, suppress(OSError):
            client.sendall(HEAD + b"x: ")
            while sent < HEADER_MB * MB:
                client.sendall(PACKET)
                sent += len(PACKET)


def half_headers(port: int) -> None:
    """Open connections that begin a header."""
    _hold(port, HALF_HEADERS, HEAD)


def half_bodies(port: int) -> None:
    """Open connections that send all but the end of a long body."""
    head = HEAD + b"content-length: 16000000\r\n\r\n"
    _hold(port, HALF_BODIES, head + b" " * 15_000_000)


def idle(port: int) -> None:
    """Open connections that say nothing."""
    _hold(port, IDLE, b"")


ATTACKS: dict[str, Callable[[int], None]] = {
    "long-header": long_header,
    "half-headers": half_headers,
    "half-bodies": half_bodies,
    "idle": idle,
}


def main() -> None:
    """Run one attack, or measure all."""
    if len(sys.argv) > 1:
        ATTACKS[sys.argv[1]](int(sys.argv[2]))
        while not _told_to_stop(1.0):
            pass
        return
    print("| attack | answers | errors | p50 ms | p99 ms | memory before | highest | files |")
    print("|---|---:|---:|---:|---:|---:|---:|---:|")
    with hedgerow() as server:
        secret = _new_key(server)
        for name in ("none", *ATTACKS):
            load, taken = asyncio.run(_measured(server, secret, name))
            p50, p99 = load.percentile(50), load.percentile(99)
            highest, files = (max(values) for values in zip(*taken, strict=True))
            print(
                f"| {name} | {load.requests} | {load.errors} | {p50:.1f} | {p99:.1f} "
                f"| {taken[0][0]:.0f} MB | {highest:.0f} MB | {files} |",
                flush=True,
            )


async def _measured(server: Server, secret: str, attack: str) -> tuple[Load, list[Taken]]:
    """Return how the other client fared, and what the api took, from before the attack on."""
    taken = [_taken_by_api(server)]
    watching = asyncio.create_task(_watch(server, taken))
    headers = {"authorization": f"Bearer {secret}"}
    asked = packed("GET", "/v1/users/a/recommendations", headers=headers.items())
    with _attacked(attack, server.port):
        load = await open_loop(
            server.host, server.port, itertools.repeat(asked), rate=RATE, seconds=SECONDS
        )
    watching.cancel()
    return load, taken


async def _watch(server: Server, taken: list[Taken]) -> None:
    while True:
        await asyncio.sleep(0.5)
        taken.append(_taken_by_api(server))


@contextmanager
def _attacked(attack: str, port: int) -> Iterator[None]:
    if attack == "none":
        yield
        return
    command = [sys.executable, "-m", "bench.attackers", attack, str(port)]
    with subprocess.Popen(command, stdin=subprocess.PIPE) as process:
        try:
            yield
        finally:
            process.terminate()


def _hold(port: int, n: int, said: bytes) -> None:
    """Keep ``n`` connections, and open those again that the server ends."""
    held: list[socket.socket] = []
    while not _told_to_stop(0.1):
        for _ in range(min(100, n - len(held))):
            client = _connected(port)
            client.settimeout(0.2)
            with suppress(OSError):
                client.sendall(said)
            client.setblocking(False)
            held.append(client)
        ended = [client for client in held if _has_ended(client)]
        for client in ended:
            client.close()
            held.remove(client)


def _has_ended(client: socket.socket) -> bool:
    try:
        return client.recv(65_536) == b""
    except BlockingIOError:
        return False
    except OSError:
        return True


def _connected(port: int) -> socket.socket:
    return socket.create_connection(("127.0.0.1", port), timeout=10)


def _told_to_stop(seconds: float = 0.0) -> bool:
    return bool(select.select([sys.stdin], [], [], seconds)[0])


def _new_key(server: Server) -> str:
    new = json.dumps({"role": "admin", "name": "bench"}).encode()
    url = f"http://{server.host}:{server.port}/v1/admin/keys"
    headers = {"content-type": "application/json"}
    with urllib.request.urlopen(urllib.request.Request(url, new, headers), timeout=10) as answer:
        return str(json.load(answer)["secret"])


def _taken_by_api(server: Server) -> Taken:
    """Return the memory and the open files of the api process of a service."""
    mine = f"HEDGEROW_DATA_DIR={server.data_dir}".encode()
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            words = (process / "cmdline").read_bytes().split(b"\0")
            if b"--listen-fd" in words and mine in (process / "environ").read_bytes():
                pages = (process / "statm").read_text().split()[1]
                return int(pages) * 4096 / MB, len(list((process / "fd").iterdir()))
    raise RuntimeError("the service has no api process")


if __name__ == "__main__":
    main()
