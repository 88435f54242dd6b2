"""NDJSON uploads: blocks are decoded at once, with the same result as row by row."""

import asyncio
import json
import random
import socket
import tracemalloc
from collections.abc import AsyncIterator, Iterator
from typing import Any

import numpy as np
import pytest
from starlette.types import Message

from service.api.feedback.columns import entry
from service.api.feedback.schemas import decode_lines
from service.api.feedback.sender import Sender
from service.api.feedback.upload import MAX_REJECTED
from service.http.lines import BodyLines, LineBlock
from service.rec_ids import encode
from service.settings import Settings
from service.store.keys import PartitionKeys
from service.store.log.append_queue import entry_of
from tests.api import NDJSON, Api, appended, learning, served
from tests.server import wait_until
from tests.service.bad_feedback import REFUSED

GOOD = b'{"user":"ada","item":"x","rating":4}\n'


def stream(api: Api, body: bytes | AsyncIterator[bytes], **headers: str) -> Any:
    return api("POST", "/v1/ratings/stream", content=body, headers={**NDJSON, **headers})


def blocks_of(chunks: Iterator[bytes], *, cut: bool = False, **bounds: int) -> list[LineBlock]:
    messages: list[Message] = [
        {"type": "http.request", "body": c, "more_body": True} for c in chunks
    ]
    messages.append({"type": "http.disconnect"} if cut else {"type": "http.request", "body": b""})
    feed = iter(messages)

    async def receive() -> Message:
        return next(feed)

    async def collect() -> list[LineBlock]:
        limits = {"block_bytes": 64, "max_line_bytes": 40} | bounds
        return [block async for block in BodyLines(receive, **limits).blocks()]

    return asyncio.run(collect())


@pytest.mark.parametrize("seed", range(20))
def test_however_a_body_is_chunked_its_lines_are_the_same(seed: int) -> None:
    rng = random.Random(seed)  # noqa: S311
    lines = [bytes([97 + i % 26]) * rng.choice([0, 1, 5, 39, 40, 41, 200]) for i in range(50)]
    body = b"\n".join(lines) + rng.choice([b"", b"\n"])
    cuts = sorted(rng.choices(range(len(body)), k=30))
    chunks = [body[a:b] for a, b in zip([0, *cuts], [*cuts, len(body)], strict=True)]
    found: dict[int, bytes | None] = {}
    for block in blocks_of(iter(chunks)):
        if block.too_long:
            found[block.first] = None
        else:
            own = block.text.removesuffix(b"\n").split(b"\n")
            assert len(own) == block.n
            found |= dict(enumerate(own, block.first))
    expected = body.removesuffix(b"\n").split(b"\n")
    assert sorted(found) == list(range(len(expected)))
    for number, line in enumerate(expected):
        # a line beyond the bound may arrive whole; then the upload refuses it
        assert found[number] in ({line, None} if len(line) > 40 else {line})


def test_a_line_without_end_takes_no_memory() -> None:
    chunk = b"x" * 65_536
    tracemalloc.start()
    blocks = blocks_of((chunk for _ in range(3_000)), block_bytes=1 << 18, max_line_bytes=1 << 16)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert [(block.first, block.too_long) for block in blocks] == [(0, True)]
    assert peak < 4 << 20


def test_a_cut_body_keeps_its_complete_lines_only() -> None:
    assert [b.text for b in blocks_of(iter([b"a\nb\nc"]), cut=True)] == [b"a\nb\n"]
    assert [b.text for b in blocks_of(iter([b"a\nb\nc"]))] == [b"a\nb\nc"]


def test_a_stream_is_accepted_and_summarised(api: Api) -> None:
    rows = [{"user": f"u{i % 7}", "item": f"i{i % 11}", "rating": 1 + i % 5} for i in range(5_000)]
    answer = stream(api, b"".join(json.dumps(row).encode() + b"\n" for row in rows))
    assert answer.status_code == 202
    assert answer.json() == {
        "accepted": 5_000,
        "rejected": [],
        "rejected_total": 0,
        "warnings": [],
        "warnings_total": 0,
        "lines": 5_000,
        "sequence": "0:5000",
    }
    entries = appended(api)
    assert [e.users[ix] for e in entries for ix in e.user_ix] == [row["user"] for row in rows]
    assert np.concatenate([e.value for e in entries]).tolist() == [row["rating"] for row in rows]


def test_a_block_becomes_the_same_entry_as_its_rows_one_by_one(api: Api) -> None:
    rng = random.Random(0)  # noqa: S311
    rows = []
    for i in range(300):
        row: dict[str, Any] = {"user": f"u{rng.randrange(9)}", "item": f"i{rng.randrange(9)}"}
        row |= {"kind": "view"} if i % 5 == 0 else {"rating": rng.choice([1, 2.5, 5])}
        if i % 3:
            row["timestamp"] = f"2{rng.randrange(1000):03}-01-02T03:04:05.{i:03}999+02:00"
        if i % 7 == 0:
            row["timestamp"] = rng.choice([1.7e9 + i / 8, 1_700_000_000_000 + i])
        if i % 4 == 0:
            row["event_id"] = f"e{i}"
        if i % 6 == 0:
            row["rec_id"] = encode("popular", "", i, row["user"] if i % 12 else None)
        rows.append(row)
    events = decode_lines(b"\n".join(json.dumps(row).encode() for row in rows))
    numbers = {f"i{n}": n for n in range(9)}
    for key in (None, "K"):
        sender = Sender({"headers": []}, key)
        block = entry(api.app.state.intake.rules, range(7, 307), events, numbers, sender)
        one_by_one = entry_of(
            [
                api.app.state.intake.rules.row(
                    event,
                    numbers[event.item],
                    now_ms=block.appended_ms,
                    digest=sender.digest(event.user, event.event_id, i),
                )
                for i, event in enumerate(events, 7)
            ],
            block.appended_ms,
        )
        assert block.users == one_by_one.users
        assert block.digests == one_by_one.digests
        assert block.sources == one_by_one.sources != b""
        for column in ("user_ix", "item", "value", "time_ms", "kind", "flags"):
            assert getattr(block, column).tolist() == getattr(one_by_one, column).tolist()


def test_every_bad_line_is_named_and_stops_nothing(api: Api) -> None:
    bad = [body.replace(b"\n", b" ") or b"{" for body, _ in REFUSED.values()]
    body = b"".join(GOOD + line + b"\n\n" for line in bad) + GOOD.rstrip()
    answer = stream(api, body)
    assert answer.status_code == 202
    summary = answer.json()
    assert summary["accepted"] == len(bad) + 1
    assert [row["line"] for row in summary["rejected"]] == [3 * i + 2 for i in range(len(bad))]
    assert [row["index"] + 1 for row in summary["rejected"]] == [
        row["line"] for row in summary["rejected"]
    ]


def test_a_bad_line_is_found_in_a_block_that_is_decoded_at_once(api: Api) -> None:
    for body, code in REFUSED.values():
        if body and len(body) <= api.settings.max_line_bytes:
            summary = stream(api, GOOD + body + b"\n" + GOOD).json()
            assert summary["accepted"] == 2
            assert [(row["line"], row["code"]) for row in summary["rejected"]] == [(2, code)]


@pytest.mark.parametrize(
    "body",
    [b"\n" + GOOD[:-1] + GOOD + GOOD, GOOD.replace(b",", b",\n", 1) + GOOD[:-1] + GOOD],
    ids=["two events on a line", "an event on two lines"],
)
def test_a_line_is_one_event_however_the_body_is_cut(api: Api, body: bytes) -> None:
    # decoded at once or one by one, the lines give the same rows with the same item numbers
    whole = stream(api, body).json()
    lines = [line for line in body.split(b"\n") if line]
    single = [stream(api, line).json() for line in lines]
    assert whole["accepted"] == sum(one["accepted"] for one in single)
    assert whole["rejected_total"] == sum(one["rejected_total"] for one in single) > 0


def test_rejections_are_counted_and_the_first_are_spelt_out(api: Api) -> None:
    answer = stream(api, b"x\n" * 5_000 + GOOD)
    assert (answer.json()["rejected_total"], answer.json()["accepted"]) == (5_000, 1)
    assert len(answer.json()["rejected"]) == MAX_REJECTED


def test_a_stream_of_which_nothing_is_accepted_is_refused(api: Api) -> None:
    answer = stream(api, b"x\n")
    assert (answer.status_code, answer.json()["code"]) == (422, "nothing_accepted")
    assert answer.json()["rejected_total"] == 1


def test_an_empty_stream_is_no_error(api: Api) -> None:
    assert stream(api, b"").json()["accepted"] == 0


def test_a_long_line_is_refused_wherever_it_is_cut(api: Api) -> None:
    padded = GOOD.rstrip() + b" " * api.settings.max_line_bytes + b"\n"
    answer = stream(api, GOOD + padded + GOOD + b"y" * 300_000 + b"\n" + GOOD)
    assert answer.json()["accepted"] == 3
    assert [(row["line"], row["code"]) for row in answer.json()["rejected"]] == [
        (2, "line_too_long"),
        (4, "line_too_long"),
    ]


def test_sending_a_file_again_under_its_key_counts_once(learned_api: Api) -> None:
    body = b"".join(b'{"user":"ada","item":"i%d","rating":3}\n' % i for i in range(50))
    for _ in range(2):
        answer = stream(learned_api, body, **{"idempotency-key": "file"})
        assert answer.json()["accepted"] == 50
    sequence = answer.json()["sequence"]
    learned_api("GET", f"/v1/users/ada/predictions/i0?min_sequence={sequence}")
    history = learned_api("GET", "/v1/users/ada/ratings?limit=1000").json()["items"]
    assert len(history) == 50


def test_items_beyond_the_bound_are_refused_line_by_line(redis_url: str, namespace: str) -> None:
    with Api(Settings(namespace=namespace, max_items=2), redis_url) as api:
        lines = [b'{"user":"a","item":"%b","rating":3}' % item for item in (b"x", b"y", b"z", b"x")]
        summary = stream(api, b"\n".join(lines)).json()
        assert summary["accepted"] == 3
        assert [(row["line"], row["code"]) for row in summary["rejected"]] == [(3, "item_limit")]


def test_rows_reach_the_partition_of_their_user(redis_url: str, namespace: str) -> None:
    with Api(Settings(namespace=namespace, partitions=3), redis_url) as api:
        lines = [b'{"user":"u%d","item":"x","rating":3}' % (i % 30) for i in range(600)]
        summary = stream(api, b"\n".join(lines)).json()
        assert summary["accepted"] == 600
        places = [int(part.partition(":")[2]) for part in summary["sequence"].split(",")]
        assert (len(places), sum(places)) == (3, 600)


def test_a_full_log_slows_the_stream_until_there_is_room(redis_url: str, namespace: str) -> None:
    settings = Settings(namespace=namespace, log_max_bytes=1 << 16)
    body = b"".join(b'{"user":"u%d","item":"x","rating":3}\n' % (i % 50) for i in range(60_000))
    with learning(settings, redis_url), Api(settings, redis_url) as api:
        answer = stream(api, body)
        assert answer.status_code == 202
        assert answer.json()["sequence"] == "0:60000"


def test_a_log_that_stays_full_ends_the_stream_with_what_is_safe(
    redis_url: str, namespace: str
) -> None:
    settings = Settings(namespace=namespace, log_max_bytes=1 << 16)
    with Api(settings, redis_url, patience_s=0.1) as api:
        answer = stream(api, GOOD * 60_000)
        assert (answer.status_code, answer.json()["code"]) == (503, "backlogged")
        assert 0 < answer.json()["accepted"] < 60_000
        assert answer.json()["sequence"] == f"0:{answer.json()['accepted']}"


def head(length: int | None) -> bytes:
    how = "transfer-encoding: chunked" if length is None else f"content-length: {length}"
    return (
        "POST /v1/ratings/stream HTTP/1.1\r\nhost: localhost\r\n"
        f"content-type: application/x-ndjson\r\n{how}\r\n\r\n"
    ).encode()


def wait_for_rows(api: Api, n: int) -> None:
    """Wait until n events are in the log."""
    key = PartitionKeys(api.settings.namespace, 0).sequence
    wait_until(lambda: int(api.run(api.runtime.redis.get(key)) or 0) >= n)


@pytest.mark.parametrize("length", [None, 10_000], ids=["chunked", "with a length"])
def test_a_body_cut_in_the_middle_keeps_its_complete_lines(
    redis_url: str, namespace: str, length: int | None
) -> None:
    settings = Settings(namespace=namespace)
    with served(settings, redis_url) as address, Api(settings, redis_url) as api:
        with socket.create_connection(address) as client:
            body = GOOD * 3 + b'{"user":"ada","item":"y","ra'
            chunk = body if length else b"%x\r\n%b\r\n" % (len(body), body)
            client.sendall(head(length) + chunk)
            wait_for_rows(api, 3)
        with socket.create_connection(address) as client:
            client.sendall(head(len(GOOD)) + GOOD)
            assert client.recv(65_536).startswith(b"HTTP/1.1 202")
        assert [len(entry) for entry in appended(api)] == [3, 1]


def test_lines_that_trickle_are_taken_before_the_body_ends(redis_url: str, namespace: str) -> None:
    settings = Settings(namespace=namespace)
    with served(settings, redis_url) as address, Api(settings, redis_url) as api:
        with socket.create_connection(address) as client:
            client.sendall(head(None) + b"%x\r\n%b\r\n" % (len(GOOD), GOOD))
            wait_for_rows(api, 1)
            client.sendall(b"0\r\n\r\n")
            answer = client.recv(65_536)
        assert answer.startswith(b"HTTP/1.1 202")
