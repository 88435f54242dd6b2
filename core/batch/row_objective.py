"""The objective of one user's row for fixed item factors: all that fold-in needs.

A trained model exports it, a snapshot stores it, and serving folds new and changed users in with it
(``core.kernels.fold_in``).
"""

from dataclasses import dataclass
from functools import cached_property
from typing import get_args

import numpy as np

from core.batch.gram import spectrum
from core.batch.losses import RowLoss
from core.batch.weighting import scaled_reg
from core.errors import ConfigError, Diverged, ShapeError
from core.interactions import Interactions, chunks
from core.kernels import fbgd, fold_in
from core.kernels.scan import Mask
from core.search.bounds import check_bounds
from core.types import F32, F64, I32, I64

PARTS = 64
"""Blocks of rows that threads share; fixed, so that the number of threads changes no result."""
MOST_STEPS, TOLERANCE = 200, 1e-5
"""Most conjugate-gradient steps, and the residual that ends them.

The tolerance is a share of the right-hand side; float32 is not precise enough for less.
"""

FAMILIAR = 20
"""Number of pairs from which a history is no longer shrunk to the mean user."""

ROUNDING = 1e-6
"""Share of the longest row's length below which a row is 0 up to rounding."""

ONE = np.ones(1, np.float32)


@dataclass(frozen=True)
class RowObjective:
    """The function of p that the vector of a user minimises.

    Equation   p'Sp - 2 r- s.p + lambda |p|^2 + d |p - m|^2
               + sum over the user's pairs of l(p.q) - a (r- - p.q)^2

    S is diagonal. The term with d is a prior for short histories: the fewer pairs a user has, the
    more it counts.
    """

    item_factors: F32
    """Q (items, g), in the basis where S = Q'diag(a)Q is diagonal."""
    gram: F32
    """The diagonal of S (g,)."""
    item_sum: F32
    """s = Q'a (g,)."""
    negative: F32
    """a (items,)."""
    negative_target: float
    """r-."""
    reg: float
    nu: float
    mean_count: float
    """Mean number of pairs of a user.

    Lambda = reg (count / mean_count)^nu for a user of count pairs.
    """
    loss: RowLoss = "square"
    """l: w (r+ - p.q)^2 or w log(1 + exp(-sign(r+) p.q))."""
    mean_row: F32 | None = None
    """m (g,), the mean row of the users of the fit (``core.batch.shrinkage``).

    None shrinks no row.
    """
    shrinkage: float = 0.0
    """Strength of the prior: d = shrinkage (1 - count / FAMILIAR)^2.

    From FAMILIAR pairs on d is exactly 0, and the objective is the one of the training.
    """

    def __post_init__(self) -> None:
        if self.loss not in get_args(RowLoss):
            raise ConfigError(f"loss must be square or logistic, not {self.loss!r}")
        check_bounds(
            self, above_0=("mean_count",), finite=("negative_target", "reg", "nu", "shrinkage")
        )
        # the kernels do not check bounds
        items, g = self.item_factors.shape
        wanted = {"gram": (g,), "item_sum": (g,), "negative": (items,), "mean_row": (g,)}
        for name, shape in wanted.items():
            given: F32 | None = getattr(self, name)
            if given is not None and given.shape != shape:
                raise ShapeError(f"{name} has shape {given.shape}, but the items need {shape}")

    @cached_property
    def learned(self) -> Mask:
        """Return which items the training has learned anything about, (items,)."""
        return learned(self.item_factors)

    def knows(self, item_ix: I32) -> bool:
        """Tell whether anything was learned about one of these items, given in rising order.

        >>> q, one = np.array([[1.0], [1e-9]], np.float32), np.ones(2, np.float32)
        >>> row = RowObjective(q, one[:1], one[:1], one, 0.0, 1.0, 0.0, 1.0)
        >>> row.knows(np.array([0, 1], np.int32)), row.knows(np.array([1, 2], np.int32))
        (True, False)
        >>> newer = np.array([2], np.int32)  # than the training
        >>> row.knows(np.array([], np.int32)), row.knows(newer)
        (False, False)
        """
        is_learned = self.learned
        # most histories begin with a learned item, and this check is much cheaper than the search
        if item_ix.size and item_ix[0] < is_learned.size and is_learned[item_ix[0]]:
            return True
        return bool(is_learned[item_ix[: np.searchsorted(item_ix, is_learned.size)]].any())

    def vector(
        self,
        item_ix: I32,
        weight: F32 | None = None,
        target: F32 | None = None,
        *,
        mean_row: F32 | None = None,
        pull: F32 | None = None,
        more_reg: float = 0.0,
    ) -> F32:
        """Return the minimiser of one user's row, (g,).

        ``mean_row`` (g,) replaces m for this user. ``pull`` (g,) and ``more_reg`` add
        more_reg |p|^2 - 2 pull.p to the objective. Runs in the calling thread, without the GIL.
        """
        out = np.empty(self.gram.size, np.float32)
        linear, shrinkage = self.constant(item_ix.size, mean_row)
        ones = np.ones(item_ix.size, np.float32)
        fold_in.fold_in(
            self.item_factors,
            self.gram,
            linear if pull is None else linear + pull,
            self.negative,
            self.negative_target,
            float(self.regs(np.array([item_ix.size]))[0]) + shrinkage + more_reg,
            item_ix,
            ones if weight is None else weight,
            ones if target is None else target,
            self.loss == "logistic",
            MOST_STEPS,
            TOLERANCE,
            out,
        )
        return out

    def vectors(self, pairs: Interactions, start: F32 | None = None) -> F32:
        """Return the minimiser of each row, (users, g), with all threads.

        Conjugate gradients begin at ``start`` (users, g), which is overwritten; None: at 0. Raises
        Diverged if a vector is not finite.
        """
        if self.loss == "logistic":
            return self._one_by_one(pairs)
        rows = np.zeros((pairs.n_users, self.gram.size), np.float32) if start is None else start
        cut = chunks(pairs.ptr, PARTS)
        fbgd.solve_rows(
            cut,
            pairs.ptr,
            pairs.item_ix,
            ONE if pairs.weight is None else pairs.weight,
            ONE if pairs.target is None else pairs.target,
            self.negative,
            np.float32(self.negative_target),
            False,
            self.gram,
            self.item_sum * np.float32(self.negative_target),
            self.regs(pairs.user_counts),
            self.item_factors,
            rows,
            MOST_STEPS,
            TOLERANCE,
            np.empty(cut.size - 1),
        )
        if self.mean_row is not None and self.shrinkage > 0.0:
            short = np.flatnonzero(pairs.user_counts < FAMILIAR)
            rows[short] = self._one_by_one(pairs.rows(short))
        if not np.isfinite(rows).all():
            raise Diverged("a user's vector is not finite: fit with more regularisation (reg)")
        return rows

    def _one_by_one(self, pairs: Interactions) -> F32:
        rows = np.empty((pairs.n_users, self.gram.size), np.float32)
        for u in range(pairs.n_users):
            at = slice(pairs.ptr[u], pairs.ptr[u + 1])
            weight = None if pairs.weight is None else pairs.weight[at]
            target = None if pairs.target is None else pairs.target[at]
            rows[u] = self.vector(pairs.item_ix[at], weight, target)
        return rows

    def constant(self, count: int, mean_row: F32 | None = None) -> tuple[F32, float]:
        """Return r- s + d m (g,) and d for a user of ``count`` pairs.

        The first is the linear term that does not depend on the user's pairs. ``mean_row`` replaces
        m.
        """
        linear = self.item_sum * np.float32(self.negative_target)
        mean_row = self.mean_row if mean_row is None else mean_row
        if mean_row is None or count >= FAMILIAR:
            return linear, 0.0
        shrinkage = self.shrinkage * (1.0 - count / FAMILIAR) ** 2
        return linear + np.float32(shrinkage) * mean_row, shrinkage

    def regs(self, counts: I64) -> F32:
        """Return lambda for users with these numbers of pairs."""
        return scaled_reg(counts, self.reg, self.nu, self.mean_count)


def learned(rows: F32) -> Mask:
    """Return which rows (n, g) hold anything learned; the others are 0 up to rounding."""
    squared = np.einsum("ij,ij->i", rows, rows)
    is_learned: Mask = squared > ROUNDING**2 * squared.max(initial=0.0)
    return is_learned


def diagonal_basis(item_factors: F32 | F64, negative: F32) -> tuple[F64, F64]:
    """Return eigenvalues (g,) and eigenvectors (g, g) of Q'diag(a)Q."""
    q = item_factors.astype(np.float64)
    return spectrum((q * negative[:, None]).T @ q)


def diagonalised(
    item_factors: F32 | F64,
    negative: F32,
    *,
    negative_target: float,
    reg: float,
    nu: float,
    mean_count: float,
    loss: RowLoss = "square",
) -> RowObjective:
    """Return the objective for items in any basis, rotated to the basis where S is diagonal."""
    values, basis = diagonal_basis(item_factors, negative)
    turned = np.ascontiguousarray(item_factors @ basis, np.float32)
    return RowObjective(
        turned,
        values.astype(np.float32),
        (turned.T @ negative).astype(np.float32),
        negative,
        negative_target,
        reg,
        nu,
        mean_count,
        loss,
    )
