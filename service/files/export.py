"""All histories as events, a page of users at a time, and all documents; `hedgerow import`
restores them."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from typing import Any

import numpy as np

from core.meaning import RATING
from core.online.layout import RowLayout
from service.configs import online_config
from service.files.feedback import FeedbackLine
from service.settings import Settings
from service.store.catalogue.documents import Body, Catalogue
from service.store.catalogue.numbers import ItemNumbers
from service.store.connection import connect, connect_async
from service.store.namespace import Namespace, read_namespace
from service.store.profiles.history_record import sequences
from service.store.profiles.reader import ProfileReader

Document = dict[str, Any]
PAGE = 64
"""Users whose histories are in memory at the same time."""


async def export(settings: Settings, url: str) -> AsyncIterator[Sequence[FeedbackLine]]:
    """Yield the events of each user, the oldest first, partition by partition."""
    with connect(url, role="export") as client:
        namespace = read_namespace(client, settings.namespace)
    if namespace is None:
        return
    async with connect_async(url, role="export") as connection:
        profiles = ProfileReader(
            connection, namespace, RowLayout.of(online_config(settings, namespace))
        )
        numbers = ItemNumbers(connection, namespace.name, settings.max_items)
        names = {kind.code: name for name, kind in settings.kinds.items()}
        async for users in _pages(profiles, namespace):
            found = await asyncio.gather(*map(profiles.placed_history, users))
            for user, (history, contexts) in zip(users, found, strict=True):
                items = await numbers.ids(history["item"].tolist())
                lines = _lines(user, history, items, names)
                for line, sequence in zip(lines, sequences(history).tolist(), strict=True):
                    line.context = dict(contexts.get(sequence, {})) or None
                yield lines


async def export_items(settings: Settings, url: str) -> AsyncIterator[Sequence[Document]]:
    """Yield the documents of all items that have one, as POST /v1/items takes them."""
    async with connect_async(url, role="export") as connection:
        numbers = ItemNumbers(connection, settings.namespace, settings.max_items)
        catalogue, first = Catalogue(connection, settings.namespace), 0
        while ids := await numbers.page(first, PAGE):
            found = await catalogue.items(range(first, first + len(ids)))
            yield _documents("item", ids, [one.body for one in found])
            first += len(ids)


async def export_users(settings: Settings, url: str) -> AsyncIterator[Sequence[Document]]:
    """Yield the documents of all users who have one, as POST /v1/users takes them."""
    async with connect_async(url, role="export") as connection:
        catalogue, after = Catalogue(connection, settings.namespace), None
        while users := await catalogue.user_ids(after, PAGE):
            found = await catalogue.users(users)
            yield _documents("user", users, [one.body for one in found])
            after = users[-1]


def _documents(named: str, ids: Sequence[str], bodies: Sequence[Body | None]) -> list[Document]:
    pairs = zip(ids, bodies, strict=True)
    return [{named: one, **body} for one, body in pairs if body is not None]


async def _pages(profiles: ProfileReader, namespace: Namespace) -> AsyncIterator[list[str]]:
    for partition in range(namespace.partitions):
        after = None
        while users := await profiles.users(partition, after, PAGE):
            yield users
            after = users[-1]


def _lines(user: str, history: Any, items: list[str], names: dict[int, str]) -> list[FeedbackLine]:
    times = np.datetime_as_string(
        history["time_ms"].astype("datetime64[ms]"), unit="ms", timezone="UTC"
    )
    return [
        FeedbackLine(
            user,
            item,
            rating=float(str(value)) if kind == RATING else None,
            kind=None if kind == RATING else names.get(kind, f"unknown-{kind}"),
            timestamp=time,
        )
        for item, value, kind, time in zip(
            items, history["value"], history["kind"].tolist(), times.tolist(), strict=True
        )
    ]
