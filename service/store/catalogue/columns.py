"""The items in columns: frozen blocks, and the masks computed from them. Nothing here waits.

Slates and the follower share this, so that they rank among the same items. ``blocks.py`` says which
items may be shown.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

import numpy as np

from core.errors import FilterSyntax
from core.filter import CATEGORY, Columns, Filter, Mask, Term, parse
from core.types import I32, I64
from service.errors import InvalidFilter
from service.store.catalogue.blocks import ALWAYS, BLOCK, EMPTY, NEVER, Block
from service.store.catalogue.feed import StoredItem
from service.store.catalogue.masks import Masks

_VALUES: dict[type, str] = {float: "numbers", str: "strings in quotes", bool: "true or false"}
"""Words for the values of a type."""


class Shown(NamedTuple):
    """Which of the items 0 .. n - 1 may be shown now."""

    mask: Mask
    """(n,), read-only."""
    edition: int
    """Changes when an item is shown, or not shown, that was not, or was."""
    reopened: int
    """Changes when an item is shown that was not shown before."""


class CategoryPairs(NamedTuple):
    """Which item has which category, in the order of items; arrays (p,)."""

    item: I64
    category: I32
    """Numbers from 0."""
    n_categories: int
    names: Sequence[str]
    """Of the categories, by number."""


@dataclass(frozen=True)
class Catalogued:
    """All items at one moment. Masks are shared and read-only; get them in one thread only."""

    version: int = 0
    """Number of the newest change that it contains."""
    blocks: tuple[Block, ...] = ()
    names: frozenset[str] = frozenset({CATEGORY})
    """The features that have columns."""
    masks: Masks = field(default_factory=Masks, compare=False)

    def mask(self, now_ms: int, n: int) -> Mask:
        """Return the mask (n,) of the items that are not hidden, not deleted and available now."""
        return self.shown(now_ms, n).mask

    def shown(self, now_ms: int, n: int) -> Shown:
        """Return that mask, and what tells whether a list made earlier still holds."""
        kept = self.masks.kept("shown", self.blocks, n, now_ms, lambda block: block.shown(now_ms))
        return Shown(kept.mask[:n], kept.edition, kept.reopened)

    def filter(self, text: str, n: int) -> Mask:
        """Return the mask (n,) of the items that pass a filter.

        The features that it names must have columns: see ``CatalogueView.covering``.
        """
        return self._mask(("filter", text), n, read(text).mask)

    def category(self, name: str, n: int) -> Mask:
        """Return the mask (n,) of the items in a category."""
        return self._mask(("category", name), n, Term(CATEGORY, "=", (name,)).mask)

    def unmet(self, text: str) -> list[str]:
        """Return what a filter names but no item has: a feature, or values of some type.

        The features must have columns, as for ``filter``.
        """
        compared, types_of = read(text).compared, self._types_of(read(text).names)
        nowhere = ", ".join(f"`{name}`" for name, types in types_of.items() if not types)
        faults = [f"no item has a feature {nowhere}"] if nowhere else []
        if not types_of.get("categories", True):
            faults.append(f"an item's categories are `{CATEGORY}`")
        for name, types in types_of.items():
            wrong = [kind for kind in _VALUES if (name, kind) in compared and kind not in types]
            if types and wrong:
                faults.append(
                    f"`{name}` is compared with {_words(wrong)}, but its values are {_words(types)}"
                )
        return faults

    @property
    def size(self) -> int:
        """Return the number of items in blocks, those without documents at the end included."""
        return len(self.blocks) * BLOCK

    @cached_property
    def has_categories(self) -> bool:
        """Whether any item has a category."""
        return self._holds((CATEGORY, str))

    def categories(self, numbers: Iterable[int]) -> list[list[str]]:
        """Return the categories of each item."""
        return [self._categories(number) for number in numbers]

    @cached_property
    def category_pairs(self) -> "CategoryPairs":
        """Return which item has which category; it takes a while for a large catalogue."""
        key, parts = (CATEGORY, str), enumerate(self.blocks)
        found = [
            (at * BLOCK, block.columns.columns[key])
            for at, block in parts
            if key in block.columns.columns
        ]
        numbers: dict[str, int] = {}
        item = [first + column.owner.astype(np.int64) for first, column in found]
        names = (name for _, column in found for name in column.value.tolist())
        number = np.array([numbers.setdefault(name, len(numbers)) for name in names], np.int32)
        items = np.concatenate([np.empty(0, np.int64), *item])
        return CategoryPairs(items, number, len(numbers), list(numbers))

    def category_counts(self, shown: Mask) -> dict[str, int]:
        """Return how many of the items ``shown`` (n,) each category has, where it has any."""
        pairs = self.category_pairs
        among = pairs.item < shown.size
        among[among] = shown[pairs.item[among]]
        # a document may name a category twice
        distinct = np.unique(pairs.item[among] * pairs.n_categories + pairs.category[among])
        counts = np.bincount(distinct % max(pairs.n_categories, 1), minlength=pairs.n_categories)
        return {name: n for name, n in zip(pairs.names, counts.tolist(), strict=True) if n}

    def opens(self, n: int) -> I64:
        """Return when items 0 .. n - 1 are shown first, in ms; ``ALWAYS`` without such a time."""
        opens = np.concatenate([np.empty(0, np.int64), *[block.opens for block in self.blocks]])
        return np.pad(opens[:n], (0, max(n - opens.size, 0)), constant_values=ALWAYS)

    def since(self, n: int) -> I64:
        """Return since when items 0 .. n - 1 are there, in ms; ``ALWAYS`` where that is unknown.

        It is ``available_from``, or else when the document was written for the first time.
        """
        parts = [np.where(b.opens == ALWAYS, b.created, b.opens) for b in self.blocks]
        since = np.concatenate([np.empty(0, np.int64), *parts])
        return np.pad(since[:n], (0, max(n - since.size, 0)), constant_values=ALWAYS)

    def replaced(self, version: int, items: Mapping[int, StoredItem]) -> "Catalogued":
        """Return the items with new documents for some of them, by item number."""
        blocks = list(self.blocks)
        blocks += [EMPTY] * (max(items, default=-1) // BLOCK + 1 - len(blocks))
        by_block: dict[int, dict[int, StoredItem]] = {}
        for number, item in items.items():
            by_block.setdefault(number // BLOCK, {})[number % BLOCK] = item
        for at, changed in by_block.items():
            blocks[at] = blocks[at].replaced(changed, self.names)
        return Catalogued(version, tuple(blocks), self.names, self.masks)

    def _mask(self, key: object, n: int, columns_mask: Callable[[Columns], Mask]) -> Mask:
        return self.masks.get(
            key, self.blocks, n, 0, lambda block: (columns_mask(block.columns), ALWAYS, NEVER)
        )

    def _types_of(self, names: Iterable[str]) -> dict[str, list[type]]:
        """Return the types of the values that some features have; categories are strings."""
        types: dict[str, list[type]] = {CATEGORY: [str]}
        for name in sorted({*names} - {CATEGORY}):
            types[name] = [kind for kind in _VALUES if self._holds((name, kind))]
        return types

    def _holds(self, key: tuple[str, type]) -> bool:
        columns = (block.columns.columns.get(key) for block in self.blocks)
        return any(column is not None and column.owner.size for column in columns)

    def _categories(self, number: int) -> list[str]:
        at, index = divmod(number, BLOCK)
        column = (
            self.blocks[at].columns.columns.get((CATEGORY, str)) if at < len(self.blocks) else None
        )
        if column is None:
            return []
        first, end = np.searchsorted(column.owner, (index, index + 1))
        categories: list[str] = column.value[first:end].tolist()
        return categories


def read(text: str) -> Filter:
    """Parse a filter; raise InvalidFilter, with the position, if it cannot be parsed."""
    try:
        return parse(text)
    except FilterSyntax as error:
        raise InvalidFilter(str(error)) from None


def _words(kinds: Iterable[type]) -> str:
    return " and ".join(_VALUES[kind] for kind in kinds)
