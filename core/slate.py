"""From ranked items to a slate: variety, at most so many of a category, and where each score comes from."""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import numpy as np

from core.batch.row_objective import RowObjective
from core.types import F32, F64, I32, I64

# --- variety ------------------------------------------------------------------------------------------


def choose(
    score: F32,
    k: int,
    *,
    vectors: F32 | None = None,
    diversity: float = 0.0,
    groups: Sequence[Sequence[Hashable]] | None = None,
    most: int | None = None,
) -> I64:
    """Return the positions of up to k of m ranked items, best first; ties go to the earlier one.

    Equation   next = argmax_y (1 - d) r(y) - d max_z cos(q_y, q_z) over those left, z over those taken; the first
               is the best; r = (score - min) / (max - min)                      [Carbonell and Goldstein 1998]
    Symbols    score (m,) · vectors q (m, g), for d = ``diversity`` in 0..1 above 0 · groups: those of each item,
               of each of which at most ``most`` are taken; who has none is not bounded
    Cost       O(k m g) with diversity, else O(k m)

    The choice of k begins with the choice of fewer.

    >>> choose(np.array([3.0, 2.0, 1.0], np.float32), 2, groups=["a", "a", "b"], most=1)
    array([0, 2])
    """
    left = np.ones(score.size, np.bool_)
    value = _relevance(score) * (1.0 - diversity)
    unit = _unit(vectors) if vectors is not None and diversity > 0.0 else None
    nearest = np.zeros(score.size, np.float32)
    members = _members(groups) if groups is not None and most is not None else {}
    taken: list[int] = []
    room = dict.fromkeys(members, most or 0)
    while len(taken) < k and left.any():
        best = int(np.argmax(np.where(left, value - diversity * nearest, -np.inf)))
        left[best] = False
        taken.append(best)
        if unit is not None:
            near = unit @ unit[best]
            nearest = near if len(taken) == 1 else np.maximum(nearest, near)
        for group in set(groups[best]) if room and groups is not None else ():
            room[group] -= 1
            if not room[group]:
                left[members[group]] = False
    return np.array(taken, np.int64)


def _relevance(score: F32) -> F64:
    low, high = float(score.min(initial=np.inf)), float(score.max(initial=-np.inf))
    return (score.astype(np.float64) - low) / (high - low if high > low else 1.0)


def _unit(vectors: F32) -> F32:
    length = np.linalg.norm(vectors, axis=1, keepdims=True)
    unit: F32 = np.divide(vectors, length, out=np.zeros_like(vectors), where=length > 0)
    return unit


def _members(groups: Sequence[Sequence[Hashable]]) -> dict[Hashable, list[int]]:
    members: dict[Hashable, list[int]] = {}
    for position, own in enumerate(groups):
        for group in set(own):
            members.setdefault(group, []).append(position)
    return members


# --- where a score comes from -------------------------------------------------------------------------


@dataclass(frozen=True)
class Explanation:
    """The scores of k items as sums over the n pairs that made the user's vector."""

    contribution: F64
    """(k, n): of each pair."""
    constant: F64
    """(k,): of no pair: what most people like, what the user's features say, and what is the same for all users."""

    @property
    def score(self) -> F64:
        """Return the scores (k,) that the parts sum to."""
        total: F64 = self.contribution.sum(axis=1) + self.constant
        return total


def explain(
    objective: RowObjective, vector: F32, item_ix: I32, weight: F32, target: F32, items: I32
) -> Explanation:
    """Return which pairs carry the scores of some items for a folded-in user, and how much.

    Equation   p = A^-1 (sum_j c_j q_j + b), hence p.q_y = sum_j c_j q_y'A^-1 q_j + q_y'A^-1 b, exactly
               A = S + (lambda + d) I + sum_j h_j q_j q_j',  b = r- s + d m and what features pull: of no pair
               square loss: c = w r+ - a r-, h = w - a                                     [fBGD, eq. 7 over p]
               logistic, x = p.q_j, l = 1 / (1 + exp(sign x)): h = w l (1 - l) / 2 - a,
               c = w sign l / 2 + a (x - r-) + h x: the last Newton step                   [OCMF, 3.1]
    Symbols    vector p (g,), folded in from the pairs and whatever else is known of the user
               item_ix, weight w, target r+ (n,) the pairs, as for ``RowObjective.vector`` · items y (k,)
    Cost       O(n g^2 + g^3 + k n g)

    >>> one = np.ones(1, np.float32)
    >>> objective = RowObjective(np.ones((2, 1), np.float32), one, one, np.zeros(2, np.float32), 0.0, 1.0, 0.0, 1.0)
    >>> own = np.zeros(1, np.int32)
    >>> explain(objective, objective.vector(own), own, one, one, np.array([1], np.int32)).contribution.round(3)
    array([[0.333]])
    """
    q = objective.item_factors
    own, asked = q[item_ix].astype(np.float64), q[items].astype(np.float64)
    pull, curvature = _pull(objective, own @ vector, item_ix, weight, target)
    a = own.T @ (own * curvature[:, None])
    reg = float(objective.regs(np.array([item_ix.size]))[0]) + objective.constant(item_ix.size)[1]
    a[np.diag_indices_from(a)] += objective.gram.astype(np.float64) + reg + 1e-20
    contribution = (own @ np.linalg.solve(a, asked.T)).T * pull
    return Explanation(contribution, asked @ vector - contribution.sum(axis=1))


def _pull(
    objective: RowObjective, x: F64, item_ix: I32, weight: F32, target: F32
) -> tuple[F64, F64]:
    """Return c and h (n,) of the equation."""
    w = weight.astype(np.float64)
    a, below = objective.negative[item_ix].astype(np.float64), objective.negative_target
    if objective.loss == "square":
        return w * target - a * below, w - a
    sign = np.where(target > 0, 1.0, -1.0)
    likely = 1.0 / (1.0 + np.exp(sign * x))
    h = 0.5 * w * likely * (1.0 - likely) - a
    return 0.5 * w * sign * likely + a * (x - below) + h * x, h


def topic_parts(user_factors: F32, item_factors: F32) -> F32:
    """Return the parts (r,) of a rating that each topic carries; none is negative.

    Equation   rating = u.v = sum_d u_d v_d, u, v >= 0                                                [NN-APA, 3.1]
    Symbols    u, v (r,): the columns of the two rows that ``OnlineModel.topic_columns`` names, on the inside scale

    >>> topic_parts(np.array([1, 2], np.float32), np.array([3, 1], np.float32))
    array([3., 2.], dtype=float32)
    """
    return user_factors * item_factors
