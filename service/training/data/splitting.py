"""Splits the histories at a cut: the matrices of a dataset, built page by page."""

import numpy as np
from numpy.typing import NDArray

from core.batch.preferences import preference_rows
from core.features import FeatureEncoder
from core.interactions import Interactions
from core.meaning import EventMeanings, HistoryColumns
from core.types import I64
from service.store.profiles.history_reader import Histories
from service.training.data.contexts import ContextPages
from service.training.data.cuts import Cut
from service.training.data.dataset import Dataset, EncodedItems, HeldOut
from service.training.data.documents import UserDocuments
from service.training.data.histories import HistorySource
from service.training.data.order import StepPages
from service.training.data.pairs import keys_of, pairs_of, stacked
from service.training.data.ratings import RatingSample

MOST_HELD_OUT = 20_000
"""Users that judge; more would say the same and take longer."""


class Split:
    """Add all pages of the histories in order, then finish."""

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
        with_contexts: bool,
    ) -> None:
        """``most_rated`` bounds the sample of ratings; with 0 none are kept.

        Contexts are read together with the order.
        """
        self._reader, self._meanings, self._cut, self._items = reader, meanings, cut, items
        self._documents = UserDocuments(reader, encoder) if encoder is not None else None
        self._rated = RatingSample(reader.n_items, most_rated) if most_rated else None
        self._order = StepPages(reader.n_items, meanings) if with_order else None
        self._contexts = ContextPages(reader.n_items, meanings) if with_contexts else None
        self.n_users = 0
        self._known: list[Interactions] = []
        self._whole: list[Interactions] = []
        self._seen: list[Interactions] = []
        self._held: list[Interactions] = []
        self._held_out: list[I64] = []

    def add(self, page: Histories) -> None:
        known, later = self._cut.parts(page, self._meanings)
        learned, seen = self._rows(page, known)
        self._known.append(learned)
        self._whole.append(self._rows(page, known | later)[0])
        if self._cut.holds_out:
            self._add_held_out(page, learned, seen, self._rows(page, later)[0])
        if self._documents is not None:
            self._documents.add(page.users)
        if self._rated is not None:
            self._rated.add(page, self.n_users, known)
        if self._order is not None:
            self._order.add(page, known, later)
        if self._contexts is not None:
            self._contexts.add(page, self._reader.contexts(page.users), known, later)
        self.n_users += len(page.users)

    def _rows(
        self, page: Histories, chosen: NDArray[np.bool_]
    ) -> tuple[Interactions, Interactions]:
        records = page.records[chosen]
        # the records of a user are already in order
        order, item = np.arange(len(records)), records["item"].astype(np.int64)
        return preference_rows(
            page.user_ix[chosen],
            HistoryColumns(item, records["kind"], records["value"], order),
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
        before = np.unique(np.concatenate([keys_of(seen, width), trimmed]))
        positive = later if later.target is None else later.keep(later.target > 0)
        held = positive.keep(~np.isin(keys_of(positive, width), before))
        users = np.flatnonzero((held.user_counts > 0) & (learned.user_counts > 0))
        self._held_out.append(self.n_users + users)
        self._seen.append(pairs_of(before, width, len(page.users)).rows(users))
        self._held.append(pairs_of(keys_of(held, width), width, len(page.users)).rows(users))

    def finish(self) -> Dataset:
        """Return the dataset of all pages, without what is said of the items."""
        n_items = self._reader.n_items
        held_out = HeldOut(
            np.concatenate([*self._held_out, np.empty(0, np.int64)]),
            stacked(self._seen, n_items),
            stacked(self._held, n_items),
        )
        return Dataset(
            cut=self._cut,
            known=stacked(self._known, n_items),
            whole=stacked(self._whole, n_items),
            held_out=_sampled(held_out),
            encoded=None if self._documents is None else self._documents.encoded(self._items),
            sequences=self._reader.watermarks,
            rated=None if self._rated is None else self._rated.sample(),
            order=None if self._order is None else self._order.order(),
            contexts=None if self._contexts is None else self._contexts.contexts(),
        )


def _sampled(held_out: HeldOut) -> HeldOut:
    """Return a sample of at most MOST_HELD_OUT users, the same one for the same data."""
    n = held_out.user_ix.size
    if n <= MOST_HELD_OUT:
        return held_out
    at = np.sort(np.random.default_rng(0).permutation(n)[:MOST_HELD_OUT])
    return HeldOut(held_out.user_ix[at], held_out.seen.rows(at), held_out.held.rows(at))
