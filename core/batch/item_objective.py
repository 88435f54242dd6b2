"""The objective of one item's row for fixed users: all that is needed to fold an item in.

It is the mirror image of ``row_objective``: a training exports it, a snapshot stores it, and an
item that the training has not learned gets its vector from the events that it had since.
"""

from dataclasses import dataclass

import numpy as np

from core.batch.losses import RowLoss
from core.batch.row_objective import MOST_STEPS, TOLERANCE, RowObjective
from core.batch.takers import NewPairs, Takers
from core.errors import ConfigError, ShapeError
from core.kernels import fold_in
from core.search.bounds import check_bounds
from core.types import F32, I64


@dataclass(frozen=True)
class ItemObjective:
    """The function of q that the vector of an item minimises.

    Equation   a q'Gq - 2 a r- s.q + lambda |q|^2 + d |q - m|^2
               + sum over the item's n pairs of l(p.q) - a (r- - p.q)^2

    G = P'P and s = sum of p over all users of the fit; l is the loss of a pair as in
    ``RowObjective``, with target 1 or 0, and lambda = reg (n / mean_count)^nu. The term with d is a
    prior m of whoever asks, such as what the item's features say.
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
    """a = unobserved (e^(n / total) - 1)^rho, where total is the number of pairs of the fit."""
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

    def vectors(
        self, users: F32, new: NewPairs, *, prior: F32 | None = None, strength: float = 0.0
    ) -> F32:
        """Return the vectors of m new items, (m, g).

        Shapes     users (all, g) vector of each row of the takers · prior m (m, g) · strength d
        Cost       O((n + 1) g) a conjugate-gradient step of an item with n pairs
        """
        if strength < 0.0 or (strength > 0.0 and prior is None):
            raise ConfigError("a strength above 0 needs a prior: give both or none")
        turned = np.ascontiguousarray(users @ self.turn)
        found = np.zeros((new.items.size, self.gram.size), np.float32)
        for at, out in enumerate(found):
            own = new.of(at)
            pull = np.float32(strength) * prior[at] @ self.turn if prior is not None else None
            self._solve(turned, new.user_ix[own], new.evidence[own], pull, strength, out)
        vectors: F32 = np.ascontiguousarray(found @ self.turn.T, np.float32)
        return vectors

    def _solve(
        self, users: F32, user_ix: I64, evidence: F32, pull: F32 | None, more_reg: float, out: F32
    ) -> None:
        """Write the vector of one item, in the basis of the eigenvectors."""
        n = evidence.size
        a = self.unobserved * np.expm1(n / self.total) ** self.rho
        linear = np.float32(a * self.negative_target) * self.user_sum
        fold_in.fold_in(
            users,
            np.float32(a) * self.gram,
            linear if pull is None else linear + pull,
            np.full(len(users), a, np.float32),
            self.negative_target,
            self.reg * (n / self.mean_count) ** self.nu + more_reg,
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
