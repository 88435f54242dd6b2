"""Reads the histories into the matrices of a training, with memory for them and one page of users.

A first pass proposes cuts between training and held-out events (``cuts.py``), the next one builds
the matrices. If a cut gives too few held-out users, which is rare, the next cut is tried. Users are
numbered within the dataset, items by the namespace.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from core.batch.content.encoder import Described, DocumentEncoder
from core.batch.content.words import WordFit
from core.batch.preferences import preference_rows
from core.features import EncoderFit, FeatureEncoder, LeftOut, of_item
from core.gate import FEWEST_USERS
from core.interactions import Interactions
from core.meaning import RATING, EventMeanings
from core.ordinal.fit_stars import RatedPairs
from core.steps import Steps
from core.types import F32, I64
from service.ranking.family import Family
from service.store.catalogue.documents import Body
from service.store.profiles.history_reader import Histories
from service.training.data.cuts import JUDGEMENTS, LEAST_KNOWN, LIMITS, SPLITS, Cut, Limits, Times
from service.training.data.material import Material

MOST_HELD_OUT = 20_000

Progress = Callable[[float], None]


class HistorySource(Protocol):
    """All histories up to one moment: those in the store, or those of a file."""

    @property
    def watermarks(self) -> list[int]:
        """Return the sequence of the last event, by partition."""

    @property
    def n_items(self) -> int:
        """Return the number of items with a number."""

    def pages(self) -> Iterator[Histories]:
        """Yield all users in pages; each call yields the same."""

    def documents(self, users: list[str]) -> list[Body]:
        """Return the body of each user's document, empty if there is none."""

    def item_documents(self) -> Iterator[list[Body]]:
        """Yield the bodies of the items' documents by item number, empty if there is none."""


@dataclass(frozen=True)
class HeldOut:
    """n held-out users; each matrix has one row per user."""

    user_ix: I64
    """(n,): rows of the users in the dataset."""
    seen: Interactions
    """Items that count as seen at the cut."""
    held: Interactions
    """Positives after the cut that were not seen before it."""


@dataclass(frozen=True)
class EncodedUsers:
    """Features and links from the users' documents."""

    encoder: FeatureEncoder
    features: sp.csr_array
    """X (users, encoder.width)."""
    links: sp.csr_array
    """(users, users), weights."""
    items: "EncodedItems | None" = None
    left_out: LeftOut = field(default_factory=LeftOut)


@dataclass(frozen=True)
class EncodedItems:
    """Features from the items' documents."""

    encoder: FeatureEncoder
    features: sp.csr_array
    """(items, encoder.width)"""
    left_out: LeftOut = field(default_factory=LeftOut)


@dataclass(frozen=True)
class Dataset:
    """Training and validation data; ``known`` and ``whole`` have one row per user."""

    cut: Cut
    known: Interactions
    """Preferences at the cut."""
    whole: Interactions
    """Preferences now."""
    held_out: HeldOut
    encoded: EncodedUsers | None
    sequences: list[int]
    """Sequence of the last event included, by partition."""
    rated: "RatedSample | None" = None
    order: "Order | None" = None
    described: Described | None = None
    """What is said of the items, whether or not anything is said of users."""
    earlier: "tuple[Dataset, ...]" = ()
    """Earlier splits of the same histories, where few users can judge."""

    @property
    def splits(self) -> "tuple[Dataset, ...]":
        """Return all splits that judge: the dataset itself, then the earlier ones."""
        return (self, *self.earlier)

    @property
    def at_cut(self) -> Material:
        """Return the material from before the cut."""
        rated = None if self.rated is None else self.rated.pairs.rows(self.rated.known)
        return self._material(self.known, rated, None if self.order is None else self.order.known)

    @property
    def now(self) -> Material:
        """Return the material of all events."""
        rated = None if self.rated is None else self.rated.pairs
        return self._material(self.whole, rated, None if self.order is None else self.order.whole)

    def read_by(self, family: Family) -> "Dataset":
        """Return what a family learns from: without documents, ratings or order that it ignores."""
        encoded = self.encoded if family.reads_user_features else None
        if encoded is not None and not family.reads_item_features:
            encoded = replace(encoded, items=None)
        rated = self.rated if family.predicts_stars else None
        order = self.order if family.reads_order else None
        described = self.described if family.reads_item_features else None
        earlier = tuple(one.read_by(family) for one in self.earlier)
        return replace(
            self, encoded=encoded, rated=rated, order=order, described=described, earlier=earlier
        )

    def _material(
        self, pairs: Interactions, rated: RatedPairs | None, steps: Steps | None
    ) -> Material:
        encoded = self.encoded
        if encoded is None:
            return Material(pairs, described=self.described, rated=rated, steps=steps)
        items = None if encoded.items is None else encoded.items.features
        return Material(
            pairs,
            user_features=encoded.features,
            links=encoded.links,
            item_features=items,
            described=self.described,
            rated=rated,
            steps=steps,
        )


@dataclass(frozen=True)
class Order:
    """The steps of all users: every event that has a weight, whether they liked the item or not."""

    known: Steps
    """Steps at the cut."""
    later: Steps
    """Steps after the cut."""
    whole: Steps
    """Steps until now."""


@dataclass(frozen=True)
class RatedSample:
    """A sample of the ratings; a pair is represented by its latest rating."""

    pairs: RatedPairs
    known: NDArray[np.bool_]
    """(n,): whether the rating is from before the cut."""


def read(
    reader: HistorySource,
    meanings: EventMeanings,
    *,
    with_documents: bool,
    with_items: bool = False,
    with_ratings: bool = False,
    with_order: bool = False,
    until_ms: int | None = None,
    limits: Limits = LIMITS,
    on_progress: Progress = lambda share: None,
) -> Dataset:
    """Return the dataset of a namespace; it is empty if there is no positive.

    ``until_ms`` is the latest time that an event may have; a later one is that of a bad clock.
    """
    times, encoder = Times(limits, until_ms=until_ms), EncoderFit(np.random.default_rng(0))
    n_users = 0
    for page in reader.pages():
        times.add(page, meanings)
        n_users += len(page.users)
        if with_documents:
            encoder.add(body.get("features", {}) for body in reader.documents(page.users))
    on_progress(0.3)
    chosen = encoder.encoder() if with_documents else None
    items, described = _encoded_items(reader) if with_items else (None, None)
    most_rated = limits.rated if with_ratings else 0

    def split(cut: Cut) -> Dataset:
        building = _Building(
            reader, meanings, cut, chosen, items, most_rated=most_rated, with_order=with_order
        )
        for page in reader.pages():
            building.add(page)
            on_progress(0.3 + 0.7 * min(building.n_users / max(n_users, 1), 1.0))
        return replace(building.finish(), described=described)

    for cut in times.cuts():
        data = split(cut)
        if data.held_out.user_ix.size >= FEWEST_USERS:
            break
    data = replace(data, earlier=tuple(_earlier(data, split)))
    if data.encoded is None:
        return data
    return replace(data, encoded=replace(data.encoded, left_out=encoder.left_out))


def _earlier(data: Dataset, split: Callable[[Cut], Dataset]) -> Iterator[Dataset]:
    """Yield earlier splits, until enough users have judged in all of them together."""
    judges = data.held_out.user_ix.size
    if judges >= FEWEST_USERS:
        return
    least = LEAST_KNOWN * len(data.known)
    for _ in range(SPLITS - 1):
        if judges >= JUDGEMENTS or not data.held_out.user_ix.size:
            return
        data = split(data.cut.earlier())
        judges += data.held_out.user_ix.size
        if not data.held_out.user_ix.size or len(data.known) < least:
            return
        yield data


def _encoded_items(reader: HistorySource) -> tuple[EncodedItems, Described]:
    fit, words = EncoderFit(np.random.default_rng(0)), WordFit()
    for bodies in reader.item_documents():
        fit.add(map(of_item, bodies))
        words.add(bodies)
    facts = fit.encoder()
    encoder = DocumentEncoder(facts, words.words())
    features, rows = [facts.transform([])], [encoder.transform([])]
    for bodies in reader.item_documents():
        features.append(facts.transform([*map(of_item, bodies)]))
        rows.append(encoder.transform(bodies))
    encoded = EncodedItems(facts, _stacked(features), fit.left_out)
    return encoded, Described(encoder, _stacked(rows))


def _stacked(parts: Sequence[sp.csr_array]) -> sp.csr_array:
    rows: Any = sp.vstack(parts, format="csr")
    return sp.csr_array(rows)


class _Building:
    """Builds the matrices page by page."""

    def __init__(
        self,
        reader: HistorySource,
        meanings: EventMeanings,
        cut: Cut,
        encoder: FeatureEncoder | None,
        items: EncodedItems | None,
        *,
        most_rated: int,
        with_order: bool,
    ) -> None:
        """``most_rated`` bounds the sample of ratings; with 0 none are kept."""
        self._reader, self._meanings, self._cut, self._encoder = reader, meanings, cut, encoder
        self._items = items
        self._rated = _Ratings(reader.n_items, most_rated) if most_rated else None
        self._order = _Orders(reader.n_items, meanings) if with_order else None
        self.n_users = 0
        self._known: list[Interactions] = []
        self._whole: list[Interactions] = []
        self._seen: list[Interactions] = []
        self._held: list[Interactions] = []
        self._held_out: list[I64] = []
        self._features: list[sp.csr_array] = []
        self._numbers: dict[str, int] = {}
        self._links: list[tuple[int, str, float]] = []

    def add(self, page: Histories) -> None:
        known, later = self._cut.parts(page, self._meanings)
        learned, seen = self._rows(page, known)
        self._known.append(learned)
        self._whole.append(self._rows(page, known | later)[0])
        if self._cut.holds_out:
            self._add_held_out(page, learned, seen, self._rows(page, later)[0])
        if self._encoder is not None:
            self._add_documents(page.users, self._encoder)
        if self._rated is not None:
            self._rated.add(page, self.n_users, known)
        if self._order is not None:
            self._order.add(page, known, later)
        self.n_users += len(page.users)

    def _rows(
        self, page: Histories, chosen: NDArray[np.bool_]
    ) -> tuple[Interactions, Interactions]:
        records = page.records[chosen]
        return preference_rows(
            page.user_ix[chosen],
            records["item"].astype(np.int64),
            records["kind"],
            records["value"],
            # the records of a user are already in order
            np.arange(len(records)),
            self._meanings,
            n_users=len(page.users),
            n_items=self._reader.n_items,
        )

    def _add_held_out(
        self, page: Histories, learned: Interactions, seen: Interactions, later: Interactions
    ) -> None:
        width = max(self._reader.n_items, 1)
        # records are trimmed meanwhile, also those of items that the reader does not count yet
        known = page.trimmed < width
        trimmed = page.trimmed_user_ix[known] * width + page.trimmed[known]
        before = np.unique(np.concatenate([_keys(seen, width), trimmed]))
        positive = later if later.target is None else later.keep(later.target > 0)
        held = positive.keep(~np.isin(_keys(positive, width), before))
        users = np.flatnonzero((held.user_counts > 0) & (learned.user_counts > 0))
        self._held_out.append(self.n_users + users)
        self._seen.append(_of_keys(before, width, len(page.users)).rows(users))
        self._held.append(_of_keys(_keys(held, width), width, len(page.users)).rows(users))

    def _add_documents(self, users: list[str], encoder: FeatureEncoder) -> None:
        bodies = self._reader.documents(users)
        self._features.append(encoder.transform([body.get("features", {}) for body in bodies]))
        for ix, (user, body) in enumerate(zip(users, bodies, strict=True), self.n_users):
            self._numbers[user] = ix
            links = body.get("links", ())
            self._links.extend((ix, link["user"], link.get("weight", 1.0)) for link in links)

    def finish(self) -> Dataset:
        n_items = self._reader.n_items
        chosen, at = np.concatenate([*self._held_out, np.empty(0, np.int64)]), slice(None)
        seen, held = stacked(self._seen, n_items), stacked(self._held, n_items)
        held_out = HeldOut(chosen[at], seen, held)
        return Dataset(
            self._cut,
            stacked(self._known, n_items),
            stacked(self._whole, n_items),
            _sampled(held_out),
            self._encoded(),
            self._reader.watermarks,
            None if self._rated is None else self._rated.sample(),
            None if self._order is None else self._order.order(),
        )

    def _encoded(self) -> EncodedUsers | None:
        if self._encoder is None or not self._features:
            return None
        known = [
            (ix, self._numbers[other], weight)
            for ix, other, weight in self._links
            if other in self._numbers
        ]
        ix, other, weight = np.array(known, np.float64).reshape(-1, 3).T
        shape = (self.n_users, self.n_users)
        ends = ix.astype(np.int64), other.astype(np.int64)
        links: sp.csr_array = sp.csr_array((weight.astype(np.float32), ends), shape=shape)
        features: Any = sp.vstack(self._features, format="csr")
        return EncodedUsers(self._encoder, sp.csr_array(features), links, self._items)


class _Orders:
    """The steps of all users, page by page."""

    def __init__(self, n_items: int, meanings: EventMeanings) -> None:
        self._n_items, self._meanings = n_items, meanings
        self._known: list[Steps] = []
        self._later: list[Steps] = []
        self._whole: list[Steps] = []

    def add(self, page: Histories, known: NDArray[np.bool_], later: NDArray[np.bool_]) -> None:
        records = page.records
        weight = self._meanings.meaning(records["kind"], records["value"]).weight
        counts = (weight > 0.0) & (records["item"] < self._n_items)
        whole = counts & (known | later)
        kinds = (self._known, counts & known), (self._later, counts & later), (self._whole, whole)
        for parts, chosen in kinds:
            # the records of a user are already in order
            ptr = np.searchsorted(page.user_ix[chosen], np.arange(len(page.users) + 1))
            item, own = records["item"][chosen], weight[chosen].astype(np.float32)
            parts.append(Steps(self._n_items, ptr.astype(np.int64), item.astype(np.int32), own))

    def order(self) -> Order:
        return Order(*map(self._joined, (self._known, self._later, self._whole)))

    def _joined(self, parts: list[Steps]) -> Steps:
        counts = [np.empty(0, np.int64), *(np.diff(part.user_ptr) for part in parts)]
        items = [np.empty(0, np.int32), *(part.item_ix for part in parts)]
        weights = [np.empty(0, np.float32), *(part.weight for part in parts)]
        ptr = np.concatenate([[0], np.cumsum(np.concatenate(counts))]).astype(np.int64)
        return Steps(self._n_items, ptr, np.concatenate(items), np.concatenate(weights))


class _Ratings:
    """A uniform sample of the ratings, taken page by page."""

    def __init__(self, n_items: int, most: int) -> None:
        self._n_items, self._most = n_items, most
        self._rng = np.random.default_rng(1)
        self._parts: list[tuple[I64, I64, F32, NDArray[np.bool_]]] = []
        self._size, self._share = 0, 1.0

    def add(self, page: Histories, first_user: int, known: NDArray[np.bool_]) -> None:
        records, item = page.records, page.records["item"].astype(np.int64)
        chosen = np.flatnonzero((records["kind"] == RATING) & (item < self._n_items))
        # keep the latest rating of each pair: the records of a user are in order
        pair = (page.user_ix * self._n_items + item)[chosen][::-1]
        chosen = chosen[::-1][np.unique(pair, return_index=True)[1]]
        chosen = chosen[self._rng.random(chosen.size) < self._share]
        users = page.user_ix[chosen] + first_user
        self._parts.append((users, item[chosen], records["value"][chosen], known[chosen]))
        self._size += chosen.size
        if self._size > 2 * self._most:
            self._thin()

    def sample(self) -> RatedSample:
        user_ix, item_ix, value, known = self._columns()
        return RatedSample(RatedPairs(user_ix, item_ix, value.astype(np.float32)), known)

    def _thin(self) -> None:
        kept = self._rng.random(self._size) < 0.5
        user_ix, item_ix, value, known = self._columns()
        self._parts = [(user_ix[kept], item_ix[kept], value[kept], known[kept])]
        self._size, self._share = int(kept.sum()), self._share / 2

    def _columns(self) -> tuple[I64, I64, F32, NDArray[np.bool_]]:
        none = np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0, np.float32)
        parts = [(*none, np.empty(0, np.bool_)), *self._parts]
        user_ix, item_ix, value, known = (
            np.concatenate(column) for column in zip(*parts, strict=True)
        )
        return user_ix, item_ix, value, known


def stacked(parts: Sequence[Interactions], n_items: int) -> Interactions:
    """Return the rows of all parts, one part after the other."""
    if not parts:
        return Interactions(n_items, np.zeros(1, np.int64), np.empty(0, np.int32))
    counts = np.concatenate([part.user_counts for part in parts])
    return Interactions(
        n_items,
        np.concatenate([[0], np.cumsum(counts)]).astype(np.int64),
        np.concatenate([part.item_ix for part in parts]),
        _values([part.weight for part in parts], parts),
        _values([part.target for part in parts], parts),
    )


def _values(values: Sequence[F32 | None], parts: Sequence[Interactions]) -> F32 | None:
    if all(value is None for value in values):
        return None
    return np.concatenate(
        [
            np.ones(len(part), np.float32) if value is None else value
            for value, part in zip(values, parts, strict=True)
        ]
    )


def _sampled(held_out: HeldOut) -> HeldOut:
    """Return a sample of at most MOST_HELD_OUT users, the same one for the same data."""
    n = held_out.user_ix.size
    if n <= MOST_HELD_OUT:
        return held_out
    at = np.sort(np.random.default_rng(0).permutation(n)[:MOST_HELD_OUT])
    return HeldOut(held_out.user_ix[at], held_out.seen.rows(at), held_out.held.rows(at))


def _keys(pairs: Interactions, width: int) -> I64:
    return pairs.user_ix.astype(np.int64) * width + pairs.item_ix


def _of_keys(keys: I64, width: int, n_users: int) -> Interactions:
    user_ix, item_ix = np.divmod(keys, width)
    ptr = np.searchsorted(user_ix, np.arange(n_users + 1)).astype(np.int64)
    return Interactions(width, ptr, item_ix.astype(np.int32))
