"""Turn a history into preferences: what rankers are trained on and what they fold in.

Trainer, gate, serving and follower all use this module, so that they read a history alike. If a
pair has several events, its latest rating and its strongest other kind count (among equally strong
kinds, the latest). Each is evidence for or against the item, and the two add up. A pair whose
evidence is 0 is not a preference.
"""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from core.interactions import Interactions
from core.kernels import evidence as kernels
from core.meaning import EventMeanings, HistoryColumns, Mask
from core.steps import latest_items
from core.types import F32, F64, I32, I64

_NO_ITEMS: I32 = np.empty(0, np.int32)


@dataclass(frozen=True)
class Preferences:
    """The n preferences of a user and the m items that count as seen, both in rising order."""

    item_ix: I32
    """Item numbers, (n,)."""
    weight: F32
    """|evidence|, above 0, (n,)."""
    target: F32
    """1 for a positive, 0 for a negative, (n,)."""
    seen: I32
    """Item numbers, (m,)."""
    latest: I32 = field(default_factory=lambda: _NO_ITEMS)
    """Items of the latest steps, newest first; see ``core.steps``."""

    def within(self, n_items: int) -> "Preferences":
        """Return the preferences for the first ``n_items`` items; the rest stays whole."""
        if not self.item_ix.size or self.item_ix[-1] < n_items:
            return self
        n = int(np.searchsorted(self.item_ix, n_items))
        kept = self.item_ix[:n], self.weight[:n], self.target[:n]
        return Preferences(*kept, self.seen, self.latest)


def preferences(
    history: HistoryColumns,
    meanings: EventMeanings,
    *,
    trimmed: NDArray[Any] = _NO_ITEMS,
    through: int | None = None,
) -> Preferences:
    """Return the preferences that the n records of one user express.

    Records after sequence ``through`` are left out. Items ``trimmed`` (t,) count as seen although
    no record names them any longer.

    Equation   evidence = sign(latest rating) + sign(k) weight(k), k the strongest kind;
               weight = |evidence|, target = [evidence > 0]

    >>> items, stars = np.array([7, 4, 9]), np.array([5, 1, 3], np.float32)
    >>> history = HistoryColumns(items, np.zeros(3, np.uint8), stars, np.arange(3))
    >>> one = preferences(history, EventMeanings())
    >>> one.item_ix.tolist(), one.target.tolist(), one.seen.tolist()
    ([4, 7], [0.0, 1.0], [4, 7, 9])
    """
    if through is not None:
        history = history.at(history.sequence <= through)
    items, evidence, is_seen = _evidence(history.item, history, meanings)
    is_preference = evidence != 0.0
    seen = items[is_seen].astype(np.int32)
    return Preferences(
        items[is_preference].astype(np.int32),
        np.abs(evidence[is_preference]).astype(np.float32),
        (evidence[is_preference] > 0.0).astype(np.float32),
        np.union1d(seen, trimmed.astype(np.int32)) if trimmed.size else seen,
        latest_items(history, meanings),
    )


def preference_rows(
    user_ix: I64,
    histories: HistoryColumns,
    meanings: EventMeanings,
    *,
    n_users: int,
    n_items: int,
) -> tuple[Interactions, Interactions]:
    """Return the preferences of many users and the items they have seen, one row for each user.

    The result is that of ``preferences`` user by user, for the first ``n_items`` items. user_ix
    (n,) is the user of each record.
    """
    within, width = histories.item < n_items, max(n_items, 1)
    histories = histories.at(within)
    pair = user_ix[within] * width + histories.item
    pairs, evidence, seen = _evidence(pair, histories, meanings)
    is_preference = evidence != 0.0
    learned = _rows(pairs[is_preference], width, n_users, evidence[is_preference])
    return learned, _rows(pairs[seen], width, n_users)


def _evidence(
    pair: NDArray[Any], histories: HistoryColumns, meanings: EventMeanings
) -> tuple[I64, F64, Mask]:
    """Return the distinct pairs in rising order, the evidence of each, and which count as seen.

    ``pair`` (n,) takes the place of the items: it tells apart what several users did.
    """
    # copies, because the kernel is compiled for one array layout
    keys = pair.astype(np.int64)
    pairs, evidence, seen = np.empty_like(keys), np.empty(keys.size), np.empty(keys.size, np.bool_)
    n = kernels.evidence(
        np.argsort(keys, kind="stable"),
        keys,
        histories.kind.astype(np.uint8),
        histories.value.astype(np.float32),
        histories.sequence.astype(np.int64),
        meanings.kinds.weight,
        meanings.kinds.sign,
        meanings.kinds.hides,
        meanings.scale.low,
        meanings.scale.high,
        pairs,
        evidence,
        seen,
    )
    return pairs[:n], evidence[:n], seen[:n]


def _rows(pairs: I64, width: int, n_users: int, evidence: F64 | None = None) -> Interactions:
    user_ix, item_ix = np.divmod(pairs, width)
    ptr = np.searchsorted(user_ix, np.arange(n_users + 1)).astype(np.int64)
    weight = target = None
    if evidence is not None:
        size = np.abs(evidence).astype(np.float32)
        weight = None if (size == 1.0).all() else size
        target = None if (evidence > 0.0).all() else (evidence > 0.0).astype(np.float32)
    return Interactions(width, ptr, item_ix.astype(np.int32), weight, target)
