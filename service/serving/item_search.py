"""Search of items by their titles and comments, in the catalogue as this process sees it."""

import asyncio
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from core.filter import Column
from core.texts import Texts, folded
from service.errors import ServiceError
from service.serving.copies.catalogue_view import CatalogueView
from service.store.catalogue.blocks import BLOCK, Block

SEARCHED = ("title", "name", "comment")
"""The features whose texts are searched."""
MOST_WORDS = 20


class Found(NamedTuple):
    """An item that a search has found."""

    fit: float
    """Which share of its words the words of the question are."""
    item: int
    """Its number."""


class InvalidSearch(ServiceError):
    """A question without words, or with too many."""

    status, code = 422, "invalid_request"


class ItemSearch:
    """Searches items; the words of a block of the catalogue are kept until the block changes."""

    def __init__(self, view: CatalogueView) -> None:
        self._view = view
        self._texts: dict[int, tuple[tuple[Column | None, ...], Texts]] = {}

    async def find(self, question: str, most: int, after: Found | None = None) -> list[Found]:
        """Return up to ``most`` items with all words, the best first, or those after one of them.

        Of items that fit as well the oldest comes first. Raises InvalidSearch, and NotReady while
        the texts are being read for the first time.
        """
        words = folded(question)
        if not words or len(words) > MOST_WORDS:
            raise InvalidSearch(f"`q` must hold 1 to {MOST_WORDS} words: letters or digits")
        blocks = (await self._view.with_columns(SEARCHED)).blocks
        # in a thread: a million titles take a third of a second
        return await asyncio.to_thread(self._search, blocks, words, most, after)

    def _search(
        self, blocks: Sequence[Block], words: Sequence[str], most: int, after: Found | None
    ) -> list[Found]:
        found = [texts.search(words) for texts in self._texts_of(blocks)]
        if not found:
            return []
        items = np.concatenate([inside + at * BLOCK for at, (inside, _) in enumerate(found)])
        fits = np.concatenate([fit for _, fit in found])
        if after is not None:
            follows = (fits < after.fit) | ((fits == after.fit) & (items > after.item))
            items, fits = items[follows], fits[follows]
        best = np.lexsort((items, -fits))[:most]
        return list(map(Found, fits[best].tolist(), items[best].tolist()))

    def _texts_of(self, blocks: Sequence[Block]) -> Iterator[Texts]:
        """Yield the texts of each block, kept ones where nothing has changed."""
        for at, block in enumerate(blocks):
            columns = tuple(block.columns.columns.get((name, str)) for name in SEARCHED)
            kept = self._texts.get(at)
            if kept is None or any(a is not b for a, b in zip(kept[0], columns, strict=True)):
                kept = self._texts[at] = (columns, Texts.of(_joined(columns)))
            yield kept[1]


def _joined(columns: Sequence[Column | None]) -> list[str]:
    """Return the texts of the items of a block, those of all columns together."""
    texts = [""] * BLOCK
    for column in columns:
        if column is not None:
            for owner, value in zip(column.owner.tolist(), column.value.tolist(), strict=True):
                texts[owner] += f" {value}"
    return texts
