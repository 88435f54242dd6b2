"""From ranked items to a slate: diversity, limits per category, and explanations of scores."""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import numpy as np

from core.batch.row_objective import RowObjective
from core.types import F32, F64, I32, I64

# --- diversity ----------------------------------------------------------------------------------


def choose(
    score: F32,
    k: int,
    *,
    vectors: F32 | None = None,
    diversity: float = 0.0,
    groups: Sequence[Sequence[Hashable]] | None = None,
    most: int | None = None,
) -> I64:
    """Return the positions of up to k of m ranked items, best first; ties go to the earlier item.

    Equation   next = argmax_y (1 - d) r(y) - d max_z cos(q_y, q_z), y over the remaining items and
               z over those chosen; the first item is the best; r = (score - min) / (max - min)
               [Carbonell and Goldstein 1998]
    Symbols    score (m,) · vectors q (m, g), needed if d = ``diversity`` is above 0 (up to 1) ·
               groups: the groups of each item; at most ``most`` items of a group are chosen, and
               items without a group are not limited
    Cost       O(k m g) with diversity, else O(k m)

    The items chosen for a smaller k are the first of those for a larger k.

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
    for position, names in enumerate(groups):
        for group in set(names):
            members.setdefault(group, []).append(position)
    return members


# --- explanations -------------------------------------------------------------------------------


@dataclass(frozen=True)
class Explanation:
    """The scores of k items as sums over the n pairs that the user's vector was made from."""

    contribution: F64
    """Contribution of each pair, (k, n)."""
    constant: F64
    """Contribution of everything else, (k,): popularity, the user's features, constants."""

    @property
    def score(self) -> F64:
        """Return the scores (k,): the sums of all contributions."""
        total: F64 = self.contribution.sum(axis=1) + self.constant
        return total


def explain(
    objective: RowObjective, vector: F32, item_ix: I32, weight: F32, target: F32, vectors: F32
) -> Explanation:
    """Return the contribution of each pair of a folded-in user to the scores of some items.

    Equation   p = A^-1 (sum_j c_j q_j + b), hence exactly
               p.q_y = sum_j c_j q_y'A^-1 q_j + q_y'A^-1 b
               A = S + (lambda + d) I + sum_j h_j q_j q_j'
               b = r- s + d m and the pull of features: independent of the pairs
               square loss: c = w r+ - a r-, h = w - a                     [fBGD, eq. 7 over p]
               logistic loss, by the last Newton step:                     [OCMF, 3.1]
               x = p.q_j, l = 1 / (1 + exp(sign x)), h = w l (1 - l) / 2 - a,
               c = w sign l / 2 + a (x - r-) + h x
    Symbols    vector p (g,), folded in from the pairs, features and links of the user ·
               item_ix, weight w, target r+ (n,) the pairs, as for ``RowObjective.vector`` ·
               vectors q_y (k, g) of the items
    Cost       O(n g^2 + g^3 + k n g)

    >>> q, one = np.ones((2, 1), np.float32), np.ones(1, np.float32)
    >>> objective = RowObjective(q, one, one, np.zeros(2, np.float32), 0.0, 1.0, 0.0, 1.0)
    >>> liked, asked = np.zeros(1, np.int32), q[1:]
    >>> user = objective.vector(liked)
    >>> explain(objective, user, liked, one, one, asked).contribution.round(3)
    array([[0.333]])
    """
    q = objective.item_factors
    paired, asked = q[item_ix].astype(np.float64), vectors.astype(np.float64)
    pull, curvature = _pull(objective, paired @ vector, item_ix, weight, target)
    a = paired.T @ (paired * curvature[:, None])
    reg = float(objective.regs(np.array([item_ix.size]))[0]) + objective.constant(item_ix.size)[1]
    a[np.diag_indices_from(a)] += objective.gram.astype(np.float64) + reg + 1e-20
    contribution = (paired @ np.linalg.solve(a, asked.T)).T * pull
    return Explanation(contribution, asked @ vector - contribution.sum(axis=1))


def _pull(
    objective: RowObjective, x: F64, item_ix: I32, weight: F32, target: F32
) -> tuple[F64, F64]:
    """Return c and h of the equation in ``explain``, both (n,)."""
    w = weight.astype(np.float64)
    a, below = objective.negative[item_ix].astype(np.float64), objective.negative_target
    if objective.loss == "square":
        return w * target - a * below, w - a
    sign = np.where(target > 0, 1.0, -1.0)
    likely = 1.0 / (1.0 + np.exp(sign * x))
    h = 0.5 * w * likely * (1.0 - likely) - a
    return 0.5 * w * sign * likely + a * (x - below) + h * x, h


def topic_parts(user_factors: F32, item_factors: F32) -> F32:
    """Return the contribution (r,) of each topic to a rating; none is negative.

    Equation   rating = u.v = sum_d u_d v_d, u, v >= 0                             [NN-APA, 3.1]
    Symbols    u, v (r,): the columns ``OnlineModel.topic_columns`` of the two rows, on the inside
               scale

    >>> topic_parts(np.array([1, 2], np.float32), np.array([3, 1], np.float32))
    array([3., 2.], dtype=float32)
    """
    return user_factors * item_factors
