"""A deleted user leaves nothing: not in any key, not in any file, not in any answer."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import httpx
import numpy as np
import pytest

from service.store.clock import now_ms
from service.store.connection import Client, connect
from service.store.keys import PartitionKeys
from service.store.log.append_queue import Row, entry_of
from service.store.log.codec import decode, encode
from service.store.log.dead_letters import DeadLetter, DeadLetters
from service.store.server.embedded import running_server
from tests.server import wait_until
from tests.service.running import service
from tests.stored import value

pytestmark = pytest.mark.flow

GHOST, SAID = "zz-ghost-7f3a91c2", "unmistakable-biography-55d1"
OTHERS = [f"u{number:02}" for number in range(40)]
ITEMS = [f"i{number:02}" for number in range(30)]
NEAR = OTHERS[:5]
"""They link to the ghost."""


def flat(found: Any) -> Iterator[bytes]:
    """Yield all bytes in what a key holds."""
    if isinstance(found, bytes):
        yield found
    elif isinstance(found, dict):
        for pair in found.items():
            yield from flat(pair)
    elif isinstance(found, list | tuple):
        for one in found:
            yield from flat(one)


def keys_naming(client: Client, text: str) -> set[str]:
    """Return the keys of the whole server that hold a text, or whose names do.

    Also in the form in which the server keeps it, where removed entries of streams leave bytes.
    """
    wanted = text.encode()
    return {
        key.decode(errors="replace")
        for key in client.scan_iter("*")
        if wanted in key
        or wanted in (client.dump(key) or b"")
        or any(wanted in part for part in flat(value(client, key)))
    }


def files_naming(directory: Path, text: str) -> set[str]:
    wanted = text.encode()
    paths = [path for path in directory.rglob("*") if path.is_file()]
    return {path.name for path in paths if wanted in path.read_bytes()}


def live_through(shop: httpx.Client) -> None:
    """Let the ghost and the others leave traces of every kind."""

    def good(answer: httpx.Response) -> Any:
        assert answer.is_success, answer.text
        return answer.json()

    for user in (*OTHERS, GHOST):
        taste = "odd" if int(user[-1], 16) % 2 else "even"
        document: dict[str, Any] = {"features": {"likes": taste}}
        if user in NEAR:
            document["links"] = [{"user": GHOST}, {"user": "u39", "weight": 2}]
        if user == GHOST:
            document = {"features": {"likes": taste, "about": SAID}, "links": [{"user": "u01"}]}
        good(shop.put(f"/v1/users/{user}", json=document))
    rows = [
        {"user": user, "item": item, "rating": 5 if (u + i) % 2 else 2, "event_id": f"{user}{item}"}
        for u, user in enumerate([*OTHERS, GHOST])
        for i, item in enumerate(ITEMS)
        if (u * 7 + i * 3) % 5 < 3
    ]
    good(shop.post("/v1/events", json=rows[1:]))
    good(shop.post("/v1/events?wait=learned", json=rows[0]))
    order = {"model": "fbgd", "parameters": {"factors": 4, "epochs": 2}, "budget_s": 0}
    for recipe in (order, {"model": "exmlds", "parameters": {"factors": 4}, "budget_s": 0}):
        job = good(shop.post("/v1/retrain", json=recipe | {"promote_unjudged": True}))["id"]
        wait_until(lambda job=job: good(shop.get(f"/v1/jobs/{job}"))["ended"])
    wait_until(lambda: len(good(shop.get("/v1/models"))["served"]) == 2)
    slate = good(shop.get(f"/v1/users/{GHOST}/recommendations?k=3&model=fbgd"))
    shown = {"user": GHOST, "item": slate["items"][0]["item"], "rec_id": slate["rec_id"]}
    shown["context"] = {"place": "front"}
    seen = [shown | {"kind": kind} for kind in ("impression", "click")]
    good(shop.post("/v1/events?wait=learned", json=seen))
    for path in (f"/v1/users/{GHOST}/similar?k=3", f"/v1/users/{GHOST}/recommendations?k=3"):
        good(shop.get(path))


def set_aside(client: Client) -> None:
    """Put a letter of two users into the dead letters, as a learner would; one is unreadable."""

    def row(user: str) -> Row:
        return Row(user, 1, 3.0, now_ms(), 0, 0, b"")

    keys = PartitionKeys("main", 0)
    packed = encode(entry_of([row(GHOST), row("u07"), row(GHOST)], now_ms()))
    client.xadd(keys.dead, dict(DeadLetter(1, 3, "a test", packed).fields()), id="3-0")
    broken = DeadLetter(4, 4, "a test", b"hrl?" + GHOST.encode())
    client.xadd(keys.dead, dict(broken.fields()), id="4-0")


def test_a_deleted_user_is_nowhere_in_the_store_and_on_the_disk(tmp_path: Path) -> None:
    data = tmp_path / "data"
    patient: Any = {"wait_timeout_ms": 60_000, "erasure_rewrite_pause_s": 0}
    with service(tmp_path, **patient) as running:
        store = running_server(data)
        assert store is not None
        with (
            httpx.Client(base_url=running.url, timeout=120) as shop,
            connect(store, role="test") as client,
        ):
            # a compressed file would hide what it holds from the search
            client.config_set("rdbcompression", "no")
            wait_until(lambda: shop.get("/readyz").is_success)
            live_through(shop)
            set_aside(client)
            before = keys_naming(client, GHOST)
            # the search finds what there is
            for kind in (
                "user-document:",
                "history:",
                "contexts:",
                "user:",
                "users",
                "changes",
                "impressions",
            ):
                assert any(kind in key for key in before), (kind, before)
            assert any("dead" in key for key in before)
            assert {f"hr:{{main}}:user-document:{user}" for user in NEAR} <= before
            assert files_naming(data, GHOST)
            assert files_naming(data, SAID)

            receipt = shop.delete(f"/v1/users/{GHOST}").json()
            assert receipt["learned"]

            def erasure() -> Any:
                return shop.get(f"/v1/erasures/{receipt['erasure']}").json()

            wait_until(lambda: erasure()["erased_from_disk"])
            done = erasure()
            assert GHOST not in str(done)
            assert done["sequence"] == receipt["sequence"]
            assert done["deleted"] <= done["erased"] <= done["erased_from_disk"]
            assert done["removed"] == {"links": len(NEAR), "events": 2}
            left = {one["where"] for one in done["remains"]}
            assert left == {"models", "dead_letters", "event_ids", "backups"}

            box = DeadLetters(client, PartitionKeys("main", 0))
            readable, unreadable = box.all()
            assert decode(readable.packed).users == ("u07",)
            assert keys_naming(client, GHOST) == {"hr:{main.0}:dead"}
            box.discard(unreadable.last)
            assert keys_naming(client, GHOST) == set()
            assert keys_naming(client, SAID) == set()
            check_answers(shop)
            # the letter that was discarded here came after the rewrite
            again = shop.delete(f"/v1/users/{GHOST}").json()["erasure"]
            wait_until(lambda: shop.get(f"/v1/erasures/{again}").json()["erased_from_disk"])
            assert files_naming(data, GHOST) == set()
            assert files_naming(data, SAID) == set()


def check_answers(shop: httpx.Client) -> None:
    """Check that no process remembers the ghost, and that the others are as they were."""
    assert shop.get(f"/v1/users/{quote(GHOST)}").status_code == 404
    assert shop.get(f"/v1/users/{GHOST}/ratings").json()["items"] == []
    slate = shop.get(f"/v1/users/{GHOST}/recommendations?k=3").json()
    assert slate["strategy"] != "mixture" or slate["reason"]
    for user in NEAR:
        document = shop.get(f"/v1/users/{user}").json()
        assert document["links"] == [{"user": "u39", "weight": 2.0}]
        assert document["features"]["likes"]
    similar = shop.get("/v1/users/u01/similar?k=40").text
    assert GHOST not in similar
    assert GHOST not in shop.get("/v1/users?limit=100").text
    assert np.isfinite(shop.get("/v1/users/u01/predictions/i01").json()["rating"])
