"""The proxies of docs/how-to/serve-with-tls.md hold the certificate, and change nothing else."""

import asyncio
import contextlib
import json
import shutil
import socket
import ssl
import subprocess
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from pathlib import Path

import httpx
import pytest
from websockets.sync.client import connect

from service.ending import end_process
from service.settings import Settings
from tests.api import NDJSON, learning, served
from tests.deploy.tools import tool
from tests.docs.pages import DOCS, blocks
from tests.server import wait_until

PAGE = DOCS / "how-to" / "serve-with-tls.md"
NAME = "shop.example"


@dataclass(frozen=True)
class Proxied:
    """A service behind a proxy."""

    client: httpx.Client
    port: int
    trusted: ssl.SSLContext


@pytest.fixture(params=["caddy", "nginx"])
def proxied(
    request: pytest.FixtureRequest, redis_url: str, namespace: str, tmp_path: Path
) -> Iterator[Proxied]:
    """A service behind a proxy that is configured as the page says, with a port of its own."""
    certify(tmp_path)
    settings = Settings(
        namespace=namespace,
        trusted_hosts=(NAME,),
        trusted_proxies=("127.0.0.1",),
        limits={"unknown_requests_per_s": 0.001, "unknown_requests_at_once": 40},
    )
    with learning(settings, redis_url), served(settings, redis_url) as (host, port):
        wait_until(lambda: httpx.get(f"http://{host}:{port}/readyz").is_success)
        text = "".join(blocks(PAGE, request.param)).replace("127.0.0.1:8000", f"{host}:{port}")
        start = {"caddy": caddy, "nginx": nginx}[request.param]
        with start(text, tmp_path) as listening:
            trusted = ssl.create_default_context(cafile=str(tmp_path / "certificate.pem"))
            to_us = httpx.HTTPTransport(verify=trusted)
            address = f"https://127.0.0.1:{listening}"
            extensions = {"sni_hostname": NAME}
            with httpx.Client(base_url=address, transport=to_us, timeout=60) as client:
                client.headers["host"] = NAME
                client.event_hooks["request"] = [lambda one: one.extensions.update(extensions)]
                wait_until(lambda: answers(client))
                yield Proxied(client, listening, trusted)


def answers(client: httpx.Client) -> bool:
    try:
        return client.get("/readyz").is_success
    except httpx.TransportError:
        return False


def certify(folder: Path) -> None:
    """Write a certificate that names the host, and its key."""
    if shutil.which("openssl") is None:
        pytest.skip("this needs openssl")
    subprocess.run(
        [
            *("openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256"),
            *(
                "-nodes",
                "-days",
                "1",
                "-subj",
                f"/CN={NAME}",
                "-addext",
                f"subjectAltName=DNS:{NAME}",
            ),
            *("-keyout", str(folder / "key.pem"), "-out", str(folder / "certificate.pem")),
        ],
        check=True,
        capture_output=True,
    )


def free_port() -> int:
    """Return a port that was free a moment ago: neither proxy says which one it was given."""
    with socket.create_server(("127.0.0.1", 0)) as one:
        return int(one.getsockname()[1])


@contextlib.contextmanager
def caddy(text: str, folder: Path) -> Iterator[int]:
    port = free_port()
    assert text.startswith(f"{NAME} {{\n")
    own = f"\tbind 127.0.0.1\n\ttls {folder}/certificate.pem {folder}/key.pem\n"
    apart = (
        "{\n\tadmin off\n\tauto_https disable_redirects\n\tstorage file_system "
        + f"{folder}/s\n}}\n"
    )
    text = text.replace(f"{NAME} {{\n", f"https://{NAME}:{port} {{\n{own}")
    (folder / "Caddyfile").write_text(apart + text)
    command = [tool("caddy"), "run", "--config", str(folder / "Caddyfile")]
    with running(command, folder):
        yield port


@contextlib.contextmanager
def nginx(text: str, folder: Path) -> Iterator[int]:
    if (program := shutil.which("nginx", path="/usr/sbin:/usr/bin:/usr/local/sbin")) is None:
        pytest.skip("this needs nginx")
    port = free_port()
    for there, here in (
        ("listen 443 ssl", f"listen 127.0.0.1:{port} ssl"),
        ("/etc/ssl/hedgerow.pem", f"{folder}/certificate.pem"),
        ("/etc/ssl/hedgerow.key", f"{folder}/key.pem"),
    ):
        assert there in text
        text = text.replace(there, here)
    places = ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    apart = "".join(f"{one}_temp_path {folder}/{one};\n" for one in places)
    (folder / "nginx.conf").write_text(
        f"daemon off;\npid {folder}/pid;\nerror_log stderr;\nevents {{}}\n"
        f"http {{\naccess_log off;\n{apart}{text}}}\n"
    )
    command = [program, "-e", "stderr", "-p", str(folder), "-c", str(folder / "nginx.conf")]
    with running(command, folder):
        yield port


@contextlib.contextmanager
def running(command: list[str], folder: Path) -> Iterator[None]:
    with (folder / "proxy.log").open("wb") as log:
        process = subprocess.Popen(command, stdout=log, stderr=log)
    try:
        yield
    finally:
        end_process(process, patience_s=10.0)


def test_requests_go_through_long_ones_too(proxied: Proxied) -> None:
    event = {"user": "ada", "item": "film", "rating": 5}
    assert proxied.client.post("/v1/events?wait=learned", json=event).is_success
    assert proxied.client.get("/v1/popular").json()["items"][0]["item"] == "film"
    assert proxied.client.get("/console", follow_redirects=True).is_success
    long = b"".join(b'{"user": "u%d", "item": "film", "rating": 3}\n' % n for n in range(30_000))
    answer = proxied.client.post("/v1/events/stream", content=long, headers=NDJSON)
    assert answer.json()["accepted"] == 30_000


def test_what_a_client_says_of_its_address_is_not_believed(proxied: Proxied) -> None:
    claim = {"x-forwarded-for": "203.0.113.7"}
    statuses = [proxied.client.get("/healthz", headers=claim).status_code for _ in range(80)]
    # this test comes from loopback, which is exempt; the address that it claims may send 40
    assert set(statuses) == {200}


def test_a_stream_is_read_while_it_is_sent(proxied: Proxied) -> None:
    """A row is answered for before the last one is sent: the proxy keeps neither side back."""

    async def exchange() -> int:
        async def rows() -> AsyncIterator[bytes]:
            yield b'{"user": "early", "item": "film", "rating": 4}\n' * 5_000
            await asyncio.to_thread(wait_until, lambda: known("early", proxied.client))
            yield b'{"user": "late", "item": "film", "rating": 4}\n'

        transport = httpx.AsyncHTTPTransport(verify=proxied.trusted)
        async with httpx.AsyncClient(transport=transport, timeout=60) as client:
            answer = await client.post(
                f"https://127.0.0.1:{proxied.port}/v1/events/stream",
                content=rows(),
                headers={**NDJSON, "host": NAME},
                extensions={"sni_hostname": NAME},
            )
        return int(answer.json()["accepted"])

    assert asyncio.run(exchange()) == 5_001


def test_a_websocket_goes_through(proxied: Proxied) -> None:
    event = {"user": "ada", "item": "film", "rating": 5}
    reached = socket.create_connection(("127.0.0.1", proxied.port))
    address = f"wss://{NAME}/v1/events/ws"
    with connect(address, sock=reached, ssl=proxied.trusted, proxy=None) as client:
        client.send(json.dumps(event))
        assert "sequence" in json.loads(client.recv(timeout=60))


def known(user: str, client: httpx.Client) -> bool:
    return bool(client.get(f"/v1/users/{user}/ratings").json()["items"])
