"""Learn the usual tastes from likes, and how much each feature tells of what somebody likes.

Of each feature the doubt is chosen under which the likes are likeliest, each foreseen by the other
likes of its user. One that tells nothing gets an infinite doubt.
"""

from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from core.batch.content.affinity import Affinity, entries_of
from core.interactions import Interactions
from core.kernels.scan import Mask
from core.types import F64, I32

DOUBTS = (0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0, 256.0)
"""Doubts that may be chosen, in likes."""
FEWEST_NATS = 2.0
"""Least gain in the logarithm of the likelihood by which a feature tells anything."""
SPREAD = 10.0
"""Likes that are added to those of each feature, as frequent as in the catalogue: so a rare value
that a few people like does not look like a taste of its own."""
MOST_LIKES = 20_000
"""Likes of the users by whom the doubts are chosen; of more, some users are drawn."""


def fit_affinity(
    liked: Interactions, shares: sp.csr_array, feature: I32, *, most: int = MOST_LIKES
) -> Affinity:
    """Return the usual tastes in some likes.

    Equation   p(c) = (L(c) + SPREAD m(c)) / (L(f) + SPREAD)
    Symbols    L(c) likes of items with c, in shares · m(c) share of c in the catalogue, where each
               column has one item more
    Shapes     shares (n_items, d) · feature (d,) of each column
    """
    n, d = int(feature.max(initial=-1)) + 1, shares.shape[1]
    every = entries_of(shares, np.arange(shares.shape[0]))
    counts = np.bincount(every.column, every.share, d) + 1.0
    likes = np.bincount(every.column, every.share * liked.item_counts[every.row], d)
    usual_likes: F64 = likes + SPREAD * counts / np.bincount(feature, counts, n)[feature]
    usual = usual_likes / np.bincount(feature, usual_likes, n)[feature]
    seen = _foreseen(_some(liked, most), shares, feature, usual_likes)
    doubt = [_doubt(seen, at) for at in range(n)]
    return Affinity(usual.astype(np.float32), np.array(doubt, np.float32), feature)


class _Foreseen(NamedTuple):
    """What the other likes of its user say of each like, arrays (likes, features)."""

    by_others: F64
    """Sum over columns of x(i, c) n(c) / p(c), n and p without the like itself."""
    others: F64
    """The number of other likes of which the feature says anything."""
    said: Mask
    """Whether it says anything of the liked item."""


def _foreseen(
    likes: Interactions, shares: sp.csr_array, feature: I32, usual_likes: F64
) -> _Foreseen:
    n, d = int(feature.max(initial=-1)) + 1, shares.shape[1]
    one = entries_of(shares, likes.item_ix)
    of_column = feature[one.column]
    # what is usual without the one like that is foreseen
    usual = usual_likes[one.column] - one.share
    usual /= (np.bincount(feature, usual_likes, n) - 1.0)[of_column]
    user = likes.user_ix[one.row].astype(np.int64)
    _, same = np.unique(user * d + one.column, return_inverse=True)
    others = np.bincount(same, one.share)[same] - one.share
    at, shape = one.row * n + of_column, (len(likes), n)
    by_others = np.bincount(at, one.share * others / usual, len(likes) * n).astype(np.float64)
    said = (np.bincount(at, minlength=len(likes) * n) > 0).reshape(shape)
    like, said_by = np.nonzero(said)
    of_user = likes.user_ix[like].astype(np.int64) * n + said_by
    count = np.bincount(of_user, minlength=likes.n_users * n).astype(np.float64)
    others_of = count.reshape(likes.n_users, n)[likes.user_ix] - 1.0
    return _Foreseen(by_others.reshape(shape), others_of, said)


def _doubt(seen: _Foreseen, feature: int) -> float:
    """Return the doubt of a feature under which the likes are likeliest.

    Equation   argmax over k of sum over likes of log((by_others + k) / (others + k))
    """
    own = seen.said[:, feature]
    by_others, others = seen.by_others[own, feature], seen.others[own, feature]
    gains = [float(np.log((by_others + k) / (others + k)).sum()) for k in DOUBTS]
    best = int(np.argmax(gains))
    return DOUBTS[best] if gains[best] > FEWEST_NATS else float("inf")


def _some(liked: Interactions, most: int) -> Interactions:
    """Return the likes of some users, at most so many; of all users, if they have no more."""
    if len(liked) <= most:
        return liked
    users = np.random.default_rng(0).permutation(liked.n_users)
    n = int(np.searchsorted(np.cumsum(liked.user_counts[users]), most, side="right"))
    return liked.rows(users[:n])
