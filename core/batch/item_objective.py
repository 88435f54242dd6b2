"""The objective of one item's row for fixed users: all that is needed to fold an item in.

It is the mirror image of ``row_objective``: a training exports it, a snapshot stores it, and an
item that the training has not learned gets its vector from the events that it had since.
"""

from dataclasses import dataclass

import numpy as np

from core.batch.item_prior import ItemPrior
from core.batch.losses import RowLoss
from core.batch.row_objective import MOST_STEPS, TOLERANCE, RowObjective
from core.batch.takers import NewPairs, Takers
from core.errors import ShapeError
from core.kernels import fold_in
from core.search.bounds import check_bounds
from core.types import F32, I64


@dataclass(frozen=True)
class ItemObjective:
    """The function of q that the vector of an item minimises.

    Equation   a q'Gq - 2 a r- s.q + lambda / (1 - t) |q - m|^2
               + sum over the item's n pairs of l(p.q) - a (r- - p.q)^2

    G = P'P and s = sum of p over all users of the fit; l is the loss of a pair as in
    ``RowObjective``, with target 1 or 0, and lambda = reg (n / mean_count)^nu. The vector m is what
    is expected of the item, and t the share of such vectors that is told so (``ItemPrior``);
    without an expectation both are 0, as in a training.

    An item that is folded in is new: most users could not take it yet, so their missing pairs say
    little. As long as it has fewer than ``mean_count`` pairs, they weigh as much less.
    """

    gram: F32
    """Eigenvalues of G (g,)."""
    turn: F32
    """Eigenvectors of G as columns (g, g), in the basis of the model's vectors."""
    user_sum: F32
    """s (g,), in the basis of the eigenvectors."""
    unobserved: float
    rho: float
    total: float
    """a = unobserved (e^(n / total) - 1)^rho min(1, n / mean_count).

    Total is the number of pairs of the fit.
    """
    negative_target: float
    """r-."""
    reg: float
    nu: float
    mean_count: float
    """Mean number of pairs of an item."""
    loss: RowLoss = "square"

    def __post_init__(self) -> None:
        check_bounds(
            self,
            above_0=("total", "mean_count"),
            finite=("unobserved", "rho", "negative_target", "reg", "nu"),
        )
        g = self.gram.size
        if self.turn.shape != (g, g) or self.user_sum.shape != (g,):
            shapes = f"{self.turn.shape} and {self.user_sum.shape}"
            raise ShapeError(f"turn and user_sum have shapes {shapes} for {g} eigenvalues")

    def vectors(self, users: F32, new: NewPairs, *, prior: ItemPrior | None = None) -> F32:
        """Return the vectors of m new items, (m, g).

        Shapes     users (all, g) vector of each row of the takers · prior of the m items
        Cost       O((n + 1) g) a conjugate-gradient step of an item with n pairs
        """
        m, g = new.items.size, self.gram.size
        known = ItemPrior(np.zeros((m, g), np.float32), np.zeros(m)) if prior is None else prior
        if known.vectors.shape != (m, g) or known.told.shape != (m,):
            shapes = f"{known.vectors.shape} and {known.told.shape}"
            raise ShapeError(f"a prior of {m} items with {g} factors has no shapes {shapes}")
        turned = np.ascontiguousarray(users @ self.turn)
        expected = np.ascontiguousarray(known.vectors @ self.turn, np.float32)
        found = np.zeros((m, g), np.float32)
        for at, out in enumerate(found):
            own = new.of(at)
            told = float(known.told[at])
            self._solve(turned, new.user_ix[own], new.evidence[own], expected[at], told, out)
        vectors: F32 = np.ascontiguousarray(found @ self.turn.T, np.float32)
        return vectors

    def _solve(
        self, users: F32, user_ix: I64, evidence: F32, expected: F32, told: float, out: F32
    ) -> None:
        """Write the vector of one item, in the basis of the eigenvectors."""
        n = evidence.size
        reach = min(1.0, n / self.mean_count)
        a = reach * self.unobserved * np.expm1(n / self.total) ** self.rho
        reg = self.reg * (n / self.mean_count) ** self.nu / (1.0 - told)
        fold_in.fold_in(
            users,
            np.float32(a) * self.gram,
            np.float32(a * self.negative_target) * self.user_sum + np.float32(reg) * expected,
            np.full(len(users), a, np.float32),
            self.negative_target,
            reg,
            user_ix.astype(np.int32),
            np.abs(evidence),
            (evidence > 0.0).astype(np.float32),
            self.loss == "logistic",
            MOST_STEPS,
            TOLERANCE,
            out,
        )


def taker_vectors(row: RowObjective, takers: Takers) -> F32:
    """Return the vector of each taker by the items that the training has learned, (users, g)."""
    found = np.empty((takers.n_users, row.gram.size), np.float32)
    for user in range(takers.n_users):
        items, evidence = takers.row(user, row.learned)
        found[user] = row.vector(items, np.abs(evidence), (evidence > 0.0).astype(np.float32))
    return found
