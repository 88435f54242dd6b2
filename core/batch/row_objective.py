"""What one user's row minimises when the items stand still: all that a new or changed user needs.

A trained model exports it, a snapshot stores it, serving folds users in with it (``core.kernels.fold_in``).
"""

from dataclasses import dataclass

import numpy as np

from core.batch.weighting import scaled_reg
from core.errors import Diverged
from core.interactions import Interactions, chunks
from core.kernels import fbgd
from core.types import F32, I64

PARTS = 64
"""Parts of the rows that threads take; fixed, so that their number changes nothing."""
MOST_STEPS, TOLERANCE = 200, 1e-5
"""Conjugate gradients end at this share of the right-hand side: float32 holds no more."""

ONE = np.ones(1, np.float32)


@dataclass(frozen=True)
class RowObjective:
    """min_p p'Sp - 2 r- s.p + sum (w - a)(p.q)^2 - 2 (w r+ - a r-) p.q + lambda |p|^2, S diagonal."""

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
    """lambda = reg (count / mean_count)^nu, count from the user's own pairs."""

    def vectors(self, pairs: Interactions, start: F32 | None = None) -> F32:
        """Return the minimiser of each row, (users, g); all threads."""
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
        if not np.isfinite(rows).all():
            raise Diverged("a user's vector is not finite: fit with more regularisation (reg)")
        return rows

    def regs(self, counts: I64) -> F32:
        """Return lambda for users with these numbers of pairs."""
        return scaled_reg(counts, self.reg, self.nu, self.mean_count)
