"""On the wire: gzip both ways, and HEAD where GET is."""

import contextlib
import gzip
import json
import os
import re
import select
import socket
import zlib
from collections.abc import Iterator

import httpx
import pytest

from service.api.roles import ROLES
from service.http.compression import EMPTY_PIECES, LEAST_BYTES
from service.settings import Settings
from tests.api import JSON, NDJSON, Api, check_problem, served
from tests.service.route_requests import IDS

GZIP = {"content-encoding": "gzip"}
EVENT = {"user": "ada", "item": "a", "rating": 4}
ROWS = b"".join(b'{"user": "u%d", "item": "i%d", "rating": 4}\n' % (n, n) for n in range(30_000))


# --- compressed bodies --------------------------------------------------------------------------


def test_a_compressed_body_is_read_as_if_it_were_not(api: Api) -> None:
    packed = gzip.compress(json.dumps(EVENT).encode())
    assert api("POST", "/v1/events", content=packed, headers=JSON | GZIP).status_code == 202
    packed = gzip.compress(b'{"categories": ["film"]}')
    assert api("PUT", "/v1/items/a", content=packed, headers=JSON | GZIP).status_code == 200
    assert api("GET", "/v1/items/a").json()["categories"] == ["film"]
    plain = {"content-encoding": "identity"}
    assert api("POST", "/v1/events", json=EVENT, headers=plain).status_code == 202


@pytest.mark.parametrize("cuts", [1, 7, 1_000, 1 << 20])
def test_a_compressed_stream_is_read_while_it_arrives(api: Api, cuts: int) -> None:
    # two members, as from `cat a.gz b.gz`, and the padding that some tools add
    half = ROWS.index(b"\n", len(ROWS) // 2) + 1
    packed = gzip.compress(ROWS[:half]) + gzip.compress(ROWS[half:]) + bytes(512)
    packed = packed if cuts > 100 else gzip.compress(ROWS[:4_000].rpartition(b"\n")[0])

    async def parts() -> Iterator[bytes]:
        for at in range(0, len(packed), cuts):
            yield packed[at : at + cuts]

    answer = api("POST", "/v1/events/stream", content=parts(), headers=NDJSON | GZIP)
    summary = answer.json()
    expected = 30_000 if cuts > 100 else ROWS[:4_000].count(b"\n")
    assert (summary["accepted"], summary["rejected_total"]) == (expected, 0)


@pytest.mark.parametrize("seed", range(5))
def test_what_fills_whole_pieces_is_unpacked_to_its_end(api: Api, seed: int) -> None:
    # runs of one letter end their pieces within a match of the compression
    line = b'{"user": "ada", "item": "a", "rating": 4%s}\n' % (b" " * (65_000 - seed))
    body = line * 40
    packed = gzip.compress(body)
    answer = api("POST", "/v1/events/stream", content=packed, headers=NDJSON | GZIP)
    assert answer.json()["accepted"] == 40


@pytest.mark.parametrize("path", ["/v1/events", "/v1/events/stream", "/v1/items"])
def test_a_body_that_is_not_what_its_encoding_says_is_refused(api: Api, path: str) -> None:
    row = json.dumps(EVENT if "events" in path else {"item": "a"}).encode()
    headers = JSON if path == "/v1/events" else NDJSON
    whole = gzip.compress(row)
    for body, encoding, status, code, says in (
        (row, "gzip", 400, "malformed_body", "leave the header out"),
        (whole[:-4], "gzip", 400, "malformed_body", "ends too early"),
        (whole[:5], "gzip", 400, "malformed_body", "ends too early"),
        (whole + b"more", "gzip", 400, "malformed_body", "leave the header out"),
        (zlib.compress(row), "deflate", 415, "unsupported_media_type", "Content-Encoding: gzip"),
        (row, "br", 415, "unsupported_media_type", "Content-Encoding: gzip"),
        (whole, "gzip, gzip", 415, "unsupported_media_type", "Content-Encoding: gzip"),
    ):
        more = {"content-encoding": encoding}
        problem = check_problem(
            api("POST", path, content=body, headers=headers | more), status, code
        )
        assert says in problem["detail"]


def test_a_cut_stream_says_what_is_stored(api: Api) -> None:
    packed = gzip.compress(ROWS)
    answer = api(
        "POST", "/v1/events/stream", content=packed[: len(packed) // 2], headers=NDJSON | GZIP
    )
    problem = check_problem(answer, 400, "malformed_body")
    assert problem["accepted"] < 30_000
    assert problem["lines"] == problem["accepted"]


def test_what_unpacks_to_too_much_is_refused(redis_url: str, namespace: str) -> None:
    with Api(Settings(namespace=namespace, max_body_bytes=100_000), redis_url) as api:
        bomb = gzip.compress(bytes(50 << 20))
        for method, path, headers, says in (
            ("POST", "/v1/events", JSON, "longer than 100000 bytes"),
            ("PUT", "/v1/items/a", JSON, "longer than 100000 bytes"),
            ("POST", "/v1/events/stream", NDJSON, "more than 200 times its length"),
            ("POST", "/v1/items", NDJSON, "more than 200 times its length"),
        ):
            answer = api(method, path, content=bomb, headers=headers | GZIP)
            assert says in check_problem(answer, 413, "too_large")["detail"]
        random = gzip.compress(os.urandom(1 << 20).hex().encode())
        answer = api("POST", "/v1/events/stream", content=random, headers=NDJSON | GZIP)
        assert answer.json()["rejected"][0]["code"] == "line_too_long"


def test_a_body_of_empty_pieces_has_an_end(redis_url: str, namespace: str) -> None:
    """Each member unpacks to nothing, so no bound on what a body unpacks to would ever end it."""
    empty, row = gzip.compress(b""), gzip.compress(json.dumps(EVENT).encode())
    settings = Settings(namespace=namespace)
    with served(settings, redis_url) as address, socket.create_connection(address, 60) as client:
        client.sendall(
            b"POST /v1/events/stream HTTP/1.1\r\nhost: localhost\r\ncontent-encoding: gzip\r\n"
            b"content-type: application/x-ndjson\r\ntransfer-encoding: chunked\r\n\r\n"
        )
        chunk = b"%x\r\n%b\r\n" % (len(empty), empty)
        sent = 0
        while not select.select([client], [], [], 0)[0]:
            assert sent < 5_000_000, "the body goes on for ever"
            with contextlib.suppress(ConnectionError):
                client.sendall(chunk * 100)
            sent += 100
        assert client.recv(65_536).startswith(b"HTTP/1.1 400")
    with Api(settings, redis_url) as api:
        for members, status in ((EMPTY_PIECES, 202), (EMPTY_PIECES + 1, 400)):
            body = empty * members + row
            answer = api("POST", "/v1/events/stream", content=body, headers=NDJSON | GZIP)
            assert answer.status_code == status, answer.text


# --- compressed answers -------------------------------------------------------------------------


def test_a_long_answer_is_compressed_for_those_who_take_that(shop: Api) -> None:
    path = "/v1/popular?k=40&offset=0"
    for accepted, packed in (
        ("gzip", True),
        ("br;q=1, gzip;q=0.2", True),
        ("*", True),
        ("identity", False),
        ("gzip;q=0", False),
        ("br", False),
    ):
        answer = shop("GET", path, headers={"accept-encoding": accepted})
        assert answer.headers.get("content-encoding") == ("gzip" if packed else None)
        assert answer.headers.get("vary") == ("accept-encoding" if packed else None)
        assert len(answer.json()["items"]) == 40
        assert (int(answer.headers["content-length"]) < len(answer.content)) == packed
    for short in ("/healthz", "/v1/popular?k=1"):
        answer = shop("GET", short, headers={"accept-encoding": "gzip"})
        assert "content-encoding" not in answer.headers
        assert len(answer.content) < LEAST_BYTES


def test_an_answer_that_may_not_be_stored_is_not_compressed(api: Api) -> None:
    new = {"role": "admin", "name": "n" * 100}
    made = api("POST", "/v1/admin/keys", json=new, headers={"accept-encoding": "gzip"})
    assert made.headers["cache-control"] == "no-store"
    assert "content-encoding" not in made.headers


def test_lines_are_compressed_as_they_leave(redis_url: str, namespace: str) -> None:
    users = [f"u{n}" for n in range(300)]
    with served(Settings(namespace=namespace), redis_url) as (host, port):
        url = f"http://{host}:{port}/v1/recommendations/batch"
        with httpx.stream("POST", url, json={"users": users}, timeout=180) as answer:
            assert answer.headers["content-encoding"] == "gzip"
            assert "content-length" not in answer.headers
            lines = [json.loads(line)["user"] for line in answer.iter_lines()]
    assert lines == users


# --- HEAD ---------------------------------------------------------------------------------------


def test_head_is_where_get_is(redis_url: str, namespace: str) -> None:
    # a socket begins with a GET; to any other it answers 426
    gets = sorted({route for method, route in ROLES if method == "GET"} - {"/v1/events/ws"})
    with (
        served(Settings(namespace=namespace), redis_url) as (host, port),
        httpx.Client(base_url=f"http://{host}:{port}", timeout=180) as client,
    ):
        client.put("/v1/items/some-item", json={}).raise_for_status()
        client.put("/v1/users/some-user", json={}).raise_for_status()
        client.post("/v1/retrain", json={"model": "fbgd"}).raise_for_status()
        arms = [
            {"name": "a", "share": 0.5},
            {"name": "b", "share": 0.5, "parameters": {"diversity": 1}},
        ]
        begun = {"name": "some-experiment", "arms": arms}
        client.post("/v1/experiments", json=begun).raise_for_status()
        told = {"url": "https://ops.example/hedgerow"}
        webhook = client.post("/v1/webhooks", json=told).raise_for_status().json()
        [job] = client.get("/v1/jobs").json()["items"]
        gone = client.delete("/v1/users/nobody").json()
        for route in [*gets, "/docs", "/openapi.json"]:
            ids = IDS | {
                "job": job["id"],
                "erasure": gone["erasure"],
                "webhook": webhook["id"],
            }
            path = re.sub(r"{(\w+)}", lambda m: ids.get(m[1], f"some-{m[1]}"), route)  # noqa: B023
            head = client.head(path)
            assert head.content == b""
            assert head.status_code == 200, (route, head.headers)
            if not route.endswith("/events"):
                # the events of a job that waits for a trainer have no end
                found = client.get(path)
                assert head.headers["content-type"] == found.headers["content-type"]


def test_head_has_the_headers_of_get_and_of_its_errors(api: Api) -> None:
    api("PUT", "/v1/items/a", json={})
    found, head = api("GET", "/v1/items/a"), api("HEAD", "/v1/items/a")
    for name in ("etag", "content-length", "content-type"):
        assert head.headers[name] == found.headers[name]
    for path, status in (("/v1/items/b", 404), ("/v1/popular?k=0", 422), ("/nowhere", 404)):
        answer = api("HEAD", path)
        assert (answer.status_code, answer.content) == (status, b"")
    answer = api("HEAD", "/v1/events")
    assert (answer.status_code, answer.headers["allow"]) == (405, "POST")
    assert api("POST", "/v1/popular").headers["allow"] == "GET, HEAD"
