"""Repeats are told with the append: of the latest ids, and never of an event that is new."""

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from core.scale import Scale
from service.settings import Settings
from service.store.connection import Client, connect_async
from service.store.keys import PartitionKeys
from service.store.log.append_queue import Row, entry_of
from service.store.log.codec import DIGEST_BYTES, HAS_DIGEST, LISTS, PRODUCER_BYTES, encode
from service.store.log.noted_ids import NotedIds
from service.store.log.stream import LogWriter
from service.store.namespace import Namespace

FEW = NotedIds(place=2, entry=3, seconds=60)

Append = Callable[[str], Awaitable[list[int]]]


def packed(ids: str, sender: bytes = b"home") -> bytes:
    """Return an entry of a rating for each letter; ``.`` has no id."""
    pad = bytes(DIGEST_BYTES - PRODUCER_BYTES - 1)
    rows = [
        Row("ann", 0, 3.0, 1, 0, 0, b"")
        if one == "."
        else Row("ann", 0, 3.0, 1, 0, HAS_DIGEST, one.encode() + pad + sender)
        for one in ids
    ]
    return encode(entry_of(rows, 1))


@pytest.fixture
def told(redis_url: str, namespace: str) -> Callable[..., list[list[int]]]:
    """Append entries one after the other; return which ids of each are told to be repeats."""
    space = Namespace(namespace, partitions=1, scale=Scale(), seed=0, created="")

    def run(*entries: bytes, noted: NotedIds = FEW, process_id: str = "") -> list[list[int]]:
        async def main() -> list[list[int]]:
            async with connect_async(redis_url, role="test") as client:
                writer = LogWriter(
                    client, space, max_bytes=1 << 20, noted=noted, process_id=process_id
                )
                return [[*(await writer.append(0, one, 1)).repeats] for one in entries]

        return asyncio.run(main())

    return run


def test_an_id_is_told_whoever_sends_it_and_in_whichever_place(told):
    again = packed("xa", sender=b"away")
    assert told(packed("a.b"), again, packed("cc")) == [[], [1], [1]]


def test_the_ids_of_two_places_are_noted_and_a_repeat_does_not_renew_its_own(told):
    entries = [packed(one) for one in ("a", "b", "c", "a", "d", "c", "e", "a")]
    # a and b leave when there are two others
    assert told(*entries) == [[], [], [], [0], [], [0], [], []]


def test_an_import_forgets_what_was_noted(told):
    assert told(packed("a"), packed("bcde"), packed("a"), packed("b")) == [[], [], [], []]


def test_an_append_that_is_sent_again_gets_the_same_answer(told):
    told(packed("a"))
    again = packed("bab")
    assert told(again, process_id="p") == told(again, process_id="p") == [[1, 2]]


def test_ids_expire_and_without_a_window_none_is_noted(told, client: Client, namespace: str):
    keys = PartitionKeys(namespace, 0)
    told(packed("a"), packed("a"), noted=NotedIds.of(Settings(dedupe_window=0)))
    assert not client.exists(keys.ids_noted)
    told(packed("ab"), packed("c"))
    assert all(0 < client.ttl(one) <= 60 for one in (keys.ids_noted, keys.ids_noted_before))


def test_no_more_ids_are_noted_than_a_window_is_certain_to_have(told, client: Client, namespace):
    noted = NotedIds.of(Settings(dedupe_window=1_000_000, dedupe_max_age_h=2))
    assert noted.seconds == 7_200
    assert (2 * noted.place + noted.entry) * LISTS <= 1_000_000
    assert NotedIds.of(Settings(dedupe_window=LISTS)).place == 0
