"""The items in memory: visibility in time, after changes, gaps and a lost stream."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
import pytest
import redis.asyncio
from hypothesis import given, settings
from hypothesis import strategies as st
from structlog.testing import capture_logs

from core.filter import CATEGORY
from service.errors import InvalidFilter, NotReady
from service.serving.copies.catalogue_view import CatalogueView
from service.settings import Settings
from service.store.catalogue.blocks import BLOCK
from service.store.catalogue.columns import Catalogued
from service.store.catalogue.documents import CHANGES_KEPT, Catalogue
from service.store.catalogue.feed import CatalogueFeed, StoredItem
from service.store.catalogue.numbers import ItemNumbers
from service.store.connection import connect_async
from service.store.identity.survey import survey
from service.store.keys import NamespaceKeys
from tests.api import Api
from tests.server import DEADLINE_S

NOON = 1_795_003_200_000
"""2026-11-18T12:00:00Z."""


class World:
    """A catalogue that is written to, and a view that follows it."""

    def __init__(
        self, client: redis.asyncio.Redis, namespace: str, *, changes_kept: int, **waits: Any
    ) -> None:
        self.client, self.keys = client, NamespaceKeys(namespace)
        self.catalogue = Catalogue(client, namespace, changes_kept=changes_kept)
        self.numbers = ItemNumbers(client, namespace, 10_000_000)
        self.view = CatalogueView(CatalogueFeed(client, namespace), **waits)

    async def number(self, n: int) -> None:
        await self.numbers.give(f"i{i}" for i in range(n))

    async def put(self, number: int, **body: object) -> None:
        await self.catalogue.change_item(number, lambda _: body)

    async def see(self, condition: Callable[[Catalogued], object]) -> Catalogued:
        """Wait until the view shows it."""
        async with asyncio.timeout(DEADLINE_S):
            while not self.view.ready or not condition(self.view.current):  # noqa: ASYNC110 - its only sign
                await asyncio.sleep(0.002)
        return self.view.current


@asynccontextmanager
async def world(
    url: str, namespace: str, *, changes_kept: int = CHANGES_KEPT, **waits: Any
) -> AsyncIterator[World]:
    """Open an empty catalogue and a view of it; ``waits`` are the view's pauses and time limits."""
    async with connect_async(url, role="test") as client:
        made = World(client, namespace, changes_kept=changes_kept, **waits)
        try:
            yield made
        finally:
            await made.view.close()


def numbers(mask: np.ndarray) -> list[int]:
    return np.flatnonzero(mask).tolist()


def test_a_catalogue_that_is_forgotten_is_read_again_without_waiting_for_a_change(
    client: redis.Redis, redis_url: str, namespace: str
) -> None:
    now = survey(client, namespace, 1)

    async def story() -> None:
        async with world(redis_url, namespace, block_ms=4_000) as w, asyncio.timeout(20):
            await w.number(1)
            await w.put(0, hidden=True)
            document = w.keys.item_document(0)
            hidden = await w.client.get(document)
            w.view.start()
            await w.see(lambda items: not items.mask(NOON, 1)[0])
            for _ in range(5):
                # a store that goes back tells of no change
                await w.client.delete(document)
                w.view.forget(now, went_back=True)
                await w.see(lambda items: items.mask(NOON, 1)[0])
                await w.client.set(document, hidden)
                w.view.forget(now, went_back=True)
                await w.see(lambda items: not items.mask(NOON, 1)[0])

    asyncio.run(story())


def test_documents_written_before_and_after_the_start_are_seen(
    redis_url: str, namespace: str
) -> None:
    async def story() -> None:
        async with world(redis_url, namespace) as w:
            await w.number(5)
            await w.put(1, hidden=True)
            await w.put(2, categories=["film", "drama"], features={"year": 2024})
            w.view.start()
            seen = await w.see(lambda now: now.version)
            assert numbers(seen.mask(NOON, 6)) == [0, 2, 3, 4, 5]
            assert numbers(seen.category("film", 6)) == [2]
            assert seen.categories([2, 0, BLOCK + 7]) == [["film", "drama"], [], []]
            await w.put(3, hidden=True)
            await w.put(1)
            seen = await w.see(lambda now: now.mask(NOON, 5)[1])
            assert numbers(seen.mask(NOON, 5)) == [0, 1, 2, 4]
            await w.catalogue.change_item(2, lambda _: None)
            seen = await w.see(lambda now: not now.mask(NOON, 5)[2])
            assert numbers(seen.category("film", 5)) == []

    asyncio.run(story())


def test_an_item_whose_document_cannot_be_read_is_hidden_and_no_other(
    redis_url: str, namespace: str
) -> None:
    async def story() -> None:
        async with world(redis_url, namespace) as w:
            await w.number(5)
            for number in range(4):
                await w.put(number, categories=["film"])
            for number, damaged in enumerate((b"{", b'{"version":1\n\n,"hidden":fals', b"\xff")):
                await w.client.set(w.keys.item_document(number), damaged)
            w.view.start()
            seen = await w.see(lambda now: now.version)
            assert numbers(seen.mask(NOON, 5)) == [3, 4]

    asyncio.run(story())


def test_items_become_available_and_unavailable_in_time(redis_url: str, namespace: str) -> None:
    async def story() -> None:
        async with world(redis_url, namespace) as w:
            await w.number(3)
            await w.put(0, available_from="2026-11-18T12:00:00Z")
            await w.put(1, available_until="2026-11-18T12:00:00.500Z")
            w.view.start()
            seen = await w.see(lambda now: now.version)
            for moment, expected in [
                (NOON - 1, [1, 2]),
                (NOON, [0, 1, 2]),
                (NOON + 499, [0, 1, 2]),
                (NOON + 500, [0, 2]),
                (NOON - 1, [1, 2]),
            ]:
                assert numbers(seen.mask(moment, 3)) == expected

    asyncio.run(story())


def test_the_first_filter_that_names_a_feature_finds_it(redis_url: str, namespace: str) -> None:
    async def story() -> None:
        async with world(redis_url, namespace) as w:
            await w.number(4)
            await w.put(0, features={"year": 2024, "tags": ["slow"]})
            await w.put(1, features={"year": 1999})
            w.view.start()
            await w.see(lambda now: now.version)
            text = "year > 2000 or tags has 'new' or colour = 'red'"
            seen = await w.view.covering(text)
            assert numbers(seen.filter(text, 4)) == [0]
            await w.put(3, features={"tags": ["new"], "colour": "red"})
            seen = await w.see(lambda now: now.filter(text, 4)[3])
            assert numbers(seen.filter(text, 4)) == [0, 3]
            assert seen.names == {CATEGORY, "year", "tags"}
            only = "colour = 'red'"
            assert numbers((await w.view.covering(only)).filter(only, 4)) == [3]
            # a feature that no document has needs no reading
            before = w.view.current
            assert await w.view.covering("size = 3") is before
            assert numbers(before.filter("not size = 3", 5)) == [0, 1, 2, 3, 4]
            with pytest.raises(InvalidFilter, match="at character 6"):
                await w.view.covering("size ~ 3")

    asyncio.run(story())


def test_a_filter_that_waits_too_long_is_asked_to_retry(redis_url: str, namespace: str) -> None:
    async def story() -> None:
        async with world(redis_url, namespace, patience_s=0.0) as w:
            await w.number(3)
            await w.put(1, features={"year": 2024})
            w.view.start()
            await w.see(lambda now: now.version)
            with pytest.raises(NotReady, match="try again"):
                await w.view.covering("year = 2024")
            # the reading goes on although no request waits for it
            await w.see(lambda now: "year" in now.names)
            assert numbers((await w.view.covering("year = 2024")).filter("year = 2024", 3)) == [1]

    asyncio.run(story())


def test_changes_that_were_trimmed_make_it_read_all_anew(redis_url: str, namespace: str) -> None:
    async def story() -> None:
        async with world(redis_url, namespace, changes_kept=100, pause_s=0.5) as w:
            await w.number(2_000)
            await w.put(0)
            w.view.start()
            await w.see(lambda now: now.version)
            for first in range(0, 2_000, 500):
                hidden = {number: {"hidden": True} for number in range(first, first + 500)}
                await w.catalogue.replace_items(hidden)
            assert await w.client.xlen(w.keys.catalogue_changes) < 500
            await w.see(lambda now: not now.mask(NOON, 2_000).any())

    asyncio.run(story())


def test_a_lost_stream_makes_it_read_all_anew(redis_url: str, namespace: str) -> None:
    async def story() -> None:
        async with world(redis_url, namespace, block_ms=50) as w:
            await w.number(2)
            for _ in range(3):
                await w.put(0)
            w.view.start()
            before = await w.see(lambda now: now.version)
            await w.client.delete(w.keys.catalogue_changes)
            await w.see(lambda now: now.version == 0)
            await w.put(1, hidden=True)
            after = await w.see(lambda now: not now.mask(NOON, 2)[1])
            assert after.version > before.version

    asyncio.run(story())


def test_columns_are_read_while_changes_go_on(redis_url: str, namespace: str) -> None:
    async def story() -> None:
        async with world(redis_url, namespace) as w:
            n = 3 * BLOCK
            await w.number(n)
            for first in range(0, n, 1_024):
                await w.catalogue.replace_items(
                    {i: {"features": {"n": i}} for i in range(first, min(first + 1_024, n))}
                )
            w.view.start()
            await w.see(lambda now: now.version)
            meanings = asyncio.ensure_future(w.view.covering("n >= 0"))
            changed = 0
            while not meanings.done():
                await w.put(changed, features={"n": -1})
                changed += 1
            assert changed > 1
            seen = await w.see(lambda now: not now.filter("n >= 0", n)[changed - 1])
            assert numbers(seen.filter("n >= 0", n)) == list(range(changed, n))
            await meanings

    asyncio.run(story())


def test_an_unexpected_failure_is_logged_and_the_view_goes_on(
    redis_url: str, namespace: str
) -> None:
    async def story() -> None:
        async with world(redis_url, namespace) as w:
            await w.number(2)
            # what the server refuses, because its type is another
            await w.client.set(w.keys.catalogue_changes, b"")
            with capture_logs() as logged:
                w.view.start()
                async with asyncio.timeout(DEADLINE_S):
                    while not logged:  # noqa: ASYNC110 - a list says nothing when it grows
                        await asyncio.sleep(0.01)
                assert not w.view.ready
                await w.client.delete(w.keys.catalogue_changes)
                await w.put(0, hidden=True)
                await w.see(lambda now: not now.mask(NOON, 1)[0])
            assert logged[0]["event"] == "catalogue_view_failed"

    asyncio.run(story())


def test_a_change_over_http_is_visible_in_every_process(
    api: Api, redis_url: str, namespace: str
) -> None:
    with Api(Settings(namespace=namespace), redis_url) as other:
        body = {"hidden": True, "available_from": "2026-11-01T00:00:00+01:00"}
        api("PUT", "/v1/items/x", json=body)
        api("PUT", "/v1/users/x", json={"features": {"age": 3}})
        for process in (api, other):
            process.run(_hidden(process))
            assert process.runtime.view.current.blocks[0].opens[0] == 1_793_487_600_000


def test_a_process_is_not_ready_until_it_knows_what_is_hidden(api: Api) -> None:
    api.ready()
    api.runtime.view.ready = False
    answer = api("GET", "/readyz")
    assert (answer.status_code, answer.json()["missing"]) == (503, ["catalogue"])


async def _hidden(api: Api) -> None:
    async with asyncio.timeout(DEADLINE_S):
        while api.runtime.view.current.mask(NOON, 1)[0]:  # noqa: ASYNC110 - its only sign
            await asyncio.sleep(0.002)


def _at(minutes: float) -> datetime:
    return datetime.fromtimestamp(NOON / 1_000, UTC) + timedelta(minutes=minutes)


ITEM = st.builds(
    StoredItem,
    hidden=st.booleans(),
    deleted=st.booleans(),
    available_from=st.sampled_from([None, _at(-60), _at(60)]),
    available_until=st.sampled_from([None, _at(-30), _at(90)]),
    categories=st.lists(st.sampled_from("abc"), max_size=2, unique=True),
)
STEP = st.tuples(
    st.dictionaries(st.integers(0, 3 * BLOCK), ITEM, max_size=4),
    st.integers(-100, 100).map(lambda minutes: NOON + 60_000 * minutes),
    st.integers(0, 4 * BLOCK),
)


@settings(max_examples=40)
@given(st.lists(STEP, max_size=6))
def test_masks_that_are_kept_are_as_if_made_anew(
    steps: list[tuple[dict[int, StoredItem], int, int]],
) -> None:
    catalogued, items = Catalogued(), dict[int, StoredItem]()
    for version, (changes, now, n) in enumerate(steps):
        catalogued = catalogued.replaced(version, changes)
        items.update(changes)
        fresh = Catalogued().replaced(version, items)
        assert numbers(catalogued.mask(now, n)) == numbers(fresh.mask(now, n))
        assert numbers(~catalogued.mask(now, n)) == sorted(
            number for number, item in items.items() if number < n and not _shown(item, now)
        )
        for text in ("category = 'a'", "not category has 'a'"):
            assert (catalogued.filter(text, n) == fresh.filter(text, n)).all()
        assert catalogued.categories(items) == [item.categories for item in items.values()]


def _shown(item: StoredItem, now: int) -> bool:
    clock = _at((now - NOON) / 60_000)
    opened = item.available_from is None or item.available_from <= clock
    closed = item.available_until is not None and item.available_until <= clock
    return opened and not (item.hidden or item.deleted or closed)
