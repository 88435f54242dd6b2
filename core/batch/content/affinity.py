"""How much likelier than others somebody takes an item, by what is said of it: naive Bayes.

``affinity_fit.py`` learns the usual tastes, and how much each feature tells.
"""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from core.batch.content.encoder import DocumentEncoder
from core.types import F32, I32, I64


@dataclass(frozen=True, eq=False)
class Affinity:
    """The usual tastes: d columns of what is said of items, each of one of several features.

    Equation   affinity(u, i) = sum over features f of log sum over columns c of f of
               x(i, c) theta(u, c) / p(c),   theta(u, c) = (n(u, c) + k(f) p(c)) / (n(u, f) + k(f))
    Symbols    x(i, c) share of c in what f says of i · n(u, c) sum of x(j, c) over the items j
               that u liked, n(u, f) over all columns of f · p(c) usual share of c in likes

    A feature that says nothing of i, or of what u liked, adds 0. With one feature the share of i in
    all likes times exp(affinity) is a probability: it adds up to 1 over the items.

    >>> tastes = Affinity(np.array([0.5, 0.5], "f4"), np.ones(1, "f4"), np.zeros(2, "i4"))
    >>> shares = sp.csr_array(np.eye(2, dtype="f4"))
    >>> np.exp(tastes.of(shares, np.array([0], "i4"), np.array([0, 1], "i4"))).round(2).tolist()
    [1.5, 0.5]
    """

    usual: F32
    """p (d,), above 0; the columns of a feature add up to 1."""
    doubt: F32
    """k (features,): strength of the usual taste, in likes; infinite: the feature tells nothing."""
    feature: I32
    """The feature of each column, (d,)."""

    def of(self, shares: sp.csr_array, liked: I32, items: I32) -> F32:
        """Return the affinity of items (m,) for somebody who liked others (k,).

        ``shares`` (n, d) are those of all items (``shares_of``).
        """
        n = self.doubt.size
        own = entries_of(shares, liked)
        likes = np.bincount(own.column, own.share, self.usual.size)
        said = np.bincount(self.feature[own.column], own.share, n)
        more = likes - said[self.feature] * self.usual
        # theta / p, written so that an infinite doubt makes it 1
        ratio = 1.0 + more / ((said + self.doubt)[self.feature] * self.usual)
        its = entries_of(shares, items)
        at = its.row * n + self.feature[its.column]
        mean = np.bincount(at, its.share * ratio[its.column], items.size * n)
        known = np.bincount(at, minlength=mean.size) > 0
        logs = np.log(mean, out=np.zeros(mean.size), where=known)
        found: F32 = logs.reshape(items.size, n).sum(axis=1).astype(np.float32)
        return found


class Entries(NamedTuple):
    """What is said of some items, one entry for each item and column that it has."""

    row: I64
    """Which of the items it is, (entries,)."""
    column: I32
    share: F32


def entries_of(shares: sp.csr_array, items: I32 | I64) -> Entries:
    """Return what is said of items (m,), which may come more than once."""
    ptr = shares.indptr
    counts = ptr[items + 1] - ptr[items]
    before = np.cumsum(counts) - counts
    at = np.repeat(ptr[items] - before, counts) + np.arange(counts.sum())
    return Entries(np.repeat(np.arange(items.size), counts), shares.indices[at], shares.data[at])


def features_of(encoder: DocumentEncoder) -> I32:
    """Return the feature of each named column, (named,); all words together are one feature."""
    widths = [*(column.width for column in encoder.facts.columns), encoder.words.width]
    return np.repeat(np.arange(len(widths), dtype=np.int32), widths)


def shares_of(rows: sp.csr_array, feature: I32) -> sp.csr_array:
    """Return rows (n, d) in which the columns of each feature of an item add up to 1.

    ``feature`` (d,) does not decrease. The memory is proportional to the stored entries: most items
    say something of a few features only.
    """
    # so that the entries of one feature of an item are neighbours: sums of rows leave any order
    ready = rows if rows.has_sorted_indices else rows.sorted_indices()
    of_feature, ptr = feature[ready.indices], ready.indptr
    first = np.ones(of_feature.size, np.bool_)
    first[1:] = of_feature[1:] != of_feature[:-1]
    # every row begins anew; the empty ones at the end begin after the last entry
    first[ptr[ptr < first.size]] = True
    at = np.flatnonzero(first)
    whole = np.add.reduceat(ready.data, at, dtype=np.float64)
    share = ready.data / np.repeat(whole, np.diff(at, append=first.size))
    parts: Any = share.astype(np.float32), ready.indices, ptr
    return sp.csr_array(parts, shape=rows.shape)
