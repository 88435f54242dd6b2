"""The items in columns: frozen blocks, and the masks computed from them. Nothing here waits.

Slates and the follower share this, so that they rank among the same items.
"""

from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import cached_property
from itertools import count
from typing import NamedTuple

import numpy as np

from core.errors import FilterSyntax
from core.filter import CATEGORY, Columns, Facts, Filter, Mask, Term, parse
from core.types import I32, I64
from service.errors import InvalidFilter
from service.store.catalogue.feed import StoredItem

BLOCK = 1_024
"""Number of items in a block: a change copies the columns of one block."""
MASK_BYTES = 64 << 20
"""Maximum bytes of cached masks; ``LEAST_MASKS`` are cached whatever their size."""
LEAST_MASKS = 4
"""Number of masks that are cached whatever their size."""

TIMES = frozenset({"available_from", "available_until", "created"})
"""What filters see of a document beside features; a feature of the same name comes first."""

ALWAYS, NEVER = int(np.iinfo(np.int64).min), int(np.iinfo(np.int64).max)
_EPOCH, _MS = datetime(1970, 1, 1, tzinfo=UTC), timedelta(milliseconds=1)

_VALUES: dict[type, str] = {float: "numbers", str: "strings in quotes", bool: "true or false"}
"""Words for the values of a type."""

_EDITIONS = count(1)

BlockMask = Callable[["Block"], tuple[Mask, int, int]]
"""Returns the mask of a block and the times (from, before) between which it is valid, in ms."""


@dataclass(frozen=True)
class Block:
    """The items ``i * BLOCK .. (i + 1) * BLOCK - 1``; all arrays (BLOCK,)."""

    closed: Mask
    """Whether an item is hidden or deleted."""
    opens: I64
    closes: I64
    """An item is shown from ``opens`` on and before ``closes``, in ms."""
    created: I64
    """When an item was written for the first time, in ms; ``ALWAYS`` where that is not known."""
    columns: Columns
    """Columns of the categories, and of the features that filters have named."""

    def replaced(self, items: Mapping[int, StoredItem], names: Iterable[str]) -> "Block":
        """Return the block with new documents for some items, by their index in the block."""
        indexes = list(items)
        closed, opens, closes = self.closed.copy(), self.opens.copy(), self.closes.copy()
        created = self.created.copy()
        closed[indexes] = [item.hidden or item.deleted for item in items.values()]
        opens[indexes] = [_moment(item.available_from, ALWAYS) for item in items.values()]
        closes[indexes] = [_moment(item.available_until, NEVER) for item in items.values()]
        created[indexes] = [
            ALWAYS if item.created_ms is None else item.created_ms for item in items.values()
        ]
        facts = {index: _facts(item) for index, item in items.items()}
        return Block(closed, opens, closes, created, self.columns.replaced(facts, names))

    def shown(self, now_ms: int) -> tuple[Mask, int, int]:
        """Return which items may be shown now, and from when and before when that is valid."""
        moments = np.concatenate((self.opens, self.closes))
        return (
            ~self.closed & (self.opens <= now_ms) & (now_ms < self.closes),
            int(moments.max(where=moments <= now_ms, initial=ALWAYS)),
            int(moments.min(where=moments > now_ms, initial=NEVER)),
        )


EMPTY = Block(
    np.zeros(BLOCK, np.bool_),
    np.full(BLOCK, ALWAYS),
    np.full(BLOCK, NEVER),
    np.full(BLOCK, ALWAYS),
    Columns(BLOCK, {}),
)
"""A block of items without documents."""


@dataclass(frozen=True)
class _Kept:
    """A cached mask of whole blocks and beyond them; valid from ``since`` on, before ``until``."""

    blocks: Sequence[Block]
    mask: Mask
    since: int
    until: int
    edition: int
    """Changes with the mask."""
    reopened: int
    """Changes when an item passes that did not pass before."""


class Masks:
    """A cache of recently used masks; only blocks that changed are evaluated again."""

    def __init__(self) -> None:
        self._kept: OrderedDict[object, _Kept] = OrderedDict()

    def get(
        self, key: object, blocks: Sequence[Block], n: int, now_ms: int, block_mask: BlockMask
    ) -> Mask:
        """Return the mask (n,) of items 0 .. n - 1; read-only."""
        return self.kept(key, blocks, n, now_ms, block_mask).mask[:n]

    def kept(
        self, key: object, blocks: Sequence[Block], n: int, now_ms: int, block_mask: BlockMask
    ) -> _Kept:
        """Return the cached mask of at least n items, evaluated now if it must be."""
        kept = self._kept.get(key)
        if (
            kept is None
            or kept.blocks is not blocks
            or kept.mask.size < n
            or not kept.since <= now_ms < kept.until
        ):
            kept = self._evaluated(kept, blocks, n, now_ms, block_mask)
            self._kept[key] = kept
            while len(self._kept) > max(LEAST_MASKS, MASK_BYTES // max(kept.mask.size, 1)):
                self._kept.popitem(last=False)
        self._kept.move_to_end(key)
        return kept

    def _evaluated(
        self, old: _Kept | None, blocks: Sequence[Block], n: int, now_ms: int, block_mask: BlockMask
    ) -> _Kept:
        size = (
            max(len(blocks), -(-n // BLOCK), 0 if old is None else old.mask.size // BLOCK) * BLOCK
        )
        since, until, known = ALWAYS, NEVER, 0
        mask = np.empty(size, np.bool_)
        if old is not None and old.since <= now_ms < old.until:
            since, until, known = old.since, old.until, old.mask.size // BLOCK
            mask[: old.mask.size] = old.mask
        for at in range(size // BLOCK):
            block = blocks[at] if at < len(blocks) else EMPTY
            before = old.blocks[at] if old is not None and at < len(old.blocks) else EMPTY
            if at >= known or block is not before:
                mask[at * BLOCK : (at + 1) * BLOCK], begins, ends = block_mask(block)
                since, until = max(since, begins), min(until, ends)
        mask.flags.writeable = False
        edition = reopened = next(_EDITIONS)
        if old is not None:
            passed = np.ones(size, np.bool_)
            passed[: old.mask.size] = old.mask
            # of most items that change, other fields do
            edition = old.edition if np.array_equal(mask, passed) else edition
            reopened = reopened if (mask > passed).any() else old.reopened
        return _Kept(blocks, mask, since, until, edition, reopened)


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


def _facts(item: StoredItem) -> Facts:
    moments = {name: _time(moment) for name, moment in _moments(item) if moment is not None}
    return {**moments, **item.features, CATEGORY: item.categories}


def _moments(item: StoredItem) -> Iterable[tuple[str, datetime | None]]:
    yield "available_from", item.available_from
    yield "available_until", item.available_until
    known = item.created_ms is not None
    yield "created", _EPOCH + timedelta(milliseconds=item.created_ms or 0) if known else None


def _time(moment: datetime) -> list[float | str]:
    """Return a time as a filter compares it: in seconds since 1970, or as text to the second."""
    told = moment.astimezone(UTC).replace(microsecond=0, tzinfo=None)
    return [(moment - _EPOCH) / timedelta(seconds=1), f"{told.isoformat()}Z"]


def _moment(moment: datetime | None, otherwise: int) -> int:
    return otherwise if moment is None else (moment - _EPOCH) // _MS
