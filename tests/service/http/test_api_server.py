"""The application in a server of its own: many connections, bodies that never seem to end."""

import asyncio
import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from service.ending import command_line
from service.settings import Settings
from tests.api import NDJSON, served

MB = 1 << 20


async def post_many(host: str, port: int, connection: int, n: int) -> list[int]:
    """Post n ratings one after the other on a connection; return their places."""
    reader, writer = await asyncio.open_connection(host, port)
    places = []
    for i in range(n):
        body = json.dumps({"user": f"u{connection}", "item": f"i{i}", "rating": 3}).encode()
        head = f"POST /v1/ratings HTTP/1.1\r\nhost: localhost\r\ncontent-length: {len(body)}\r\n"
        writer.write(head.encode() + b"content-type: application/json\r\n\r\n" + body)
        answer = await reader.readuntil(b"\r\n\r\n")
        assert answer.startswith(b"HTTP/1.1 202")
        length = int(answer.lower().partition(b"content-length: ")[2].partition(b"\r")[0])
        written = json.loads(await reader.readexactly(length))
        places.append(int(written["sequence"].partition(":")[2]))
    writer.close()
    await writer.wait_closed()
    return places


def test_256_connections_at_once_are_all_answered(redis_url: str, namespace: str) -> None:
    async def post_all(host: str, port: int) -> list[list[int]]:
        posts = [post_many(host, port, connection, 4) for connection in range(256)]
        return list(await asyncio.gather(*posts))

    with served(Settings(namespace=namespace), redis_url) as address:
        places = asyncio.run(post_all(*address))
    assert all(own == sorted(own) for own in places)
    assert sorted(place for own in places for place in own) == list(range(1, 1_025))


@contextlib.contextmanager
def api_process(redis_url: str, namespace: str, log: Path) -> Iterator[tuple[str, int]]:
    """Run `hedgerow api` and yield its address and process id."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
    environment = os.environ | {
        "HEDGEROW_REDIS_URL": redis_url,
        "HEDGEROW_NAMESPACE": namespace,
        "HEDGEROW_PORT": str(port),
    }
    command = [str(Path(sys.executable).with_name("hedgerow")), "api"]
    with log.open("wb") as out:
        process = subprocess.Popen(command, env=environment, stdout=out, stderr=out)
    try:
        deadline = time.monotonic() + 180
        while not answers(f"http://127.0.0.1:{port}/healthz"):
            assert process.poll() is None, log.read_text()
            assert time.monotonic() < deadline, log.read_text()
        yield f"http://127.0.0.1:{port}", process.pid
    finally:
        process.terminate()
        process.wait(180)


def answers(url: str) -> bool:
    try:
        return httpx.get(url).is_success
    except httpx.TransportError:
        return False


def resident(pid: int) -> int:
    """Return the bytes of memory that a process holds now."""
    fields = Path(f"/proc/{pid}/statm").read_text().split()
    return int(fields[1]) * os.sysconf("SC_PAGE_SIZE")


def test_a_server_that_stops_does_not_wait_for_streaming_clients(
    redis_url: str, namespace: str, tmp_path: Path
) -> None:
    with api_process(redis_url, namespace, tmp_path / "api.log") as (url, pid):
        job = httpx.post(f"{url}/v1/retrain").json()["id"]
        with httpx.stream("GET", f"{url}/v1/jobs/{job}/events", timeout=180) as watched:
            lines = watched.iter_lines()
            assert next(lines) == "event: job"
            os.kill(pid, signal.SIGTERM)
            # a connection that is cut off instead is an error here
            assert [line for line in lines if line.startswith("event")] == []


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="memory is read from /proc")
def test_a_body_of_a_gigabyte_needs_no_memory(
    redis_url: str, namespace: str, tmp_path: Path
) -> None:
    """Padded lines, a line of 100 MB among them, so that the events fit into the test's store."""
    line = b'{"user":"ada","item":"x","rating":4%b}\n' % (b" " * 8_000)
    chunk, n_chunks = line * 128, 900

    def body(most: list[int], pid: int) -> Iterator[bytes]:
        for i in range(n_chunks):
            yield chunk
            if i % 10 == 0:
                most.append(resident(pid))
        for _ in range(100):
            yield b"x" * MB
        yield b"\n" + line

    with api_process(redis_url, namespace, tmp_path / "api.log") as (url, pid):
        assert "hedgerow" in command_line(pid)
        with httpx.Client(base_url=url, timeout=300) as client:
            client.post("/v1/ratings/stream", content=line, headers=NDJSON)
            before, most = resident(pid), list[int]()
            answer = client.post("/v1/ratings/stream", content=body(most, pid), headers=NDJSON)
        assert answer.json()["accepted"] == 128 * n_chunks + 1
        assert [row["code"] for row in answer.json()["rejected"]] == ["line_too_long"]
        assert max(most) - before < 100 * MB
