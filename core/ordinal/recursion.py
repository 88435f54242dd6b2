"""Doubly stochastic gradient steps: each step draws rows and a block of random features.

The draws do not depend on the score, so only the rows that will be drawn need a score: a step costs
one block on those rows, whereas recomputing the score would cost all previous blocks.
"""

from dataclasses import dataclass

import numpy as np

from core.errors import Diverged
from core.ordinal.pairing import pairing
from core.ordinal.random_features import RandomFeatures
from core.types import F32, F64, I64


@dataclass(frozen=True)
class Steps:
    """Settings of the descent."""

    steps: int = 500
    reg: float = 0.125
    theta: float = 1.5
    """Scale of the step sizes, which approach theta / (reg step); above 1, as in the paper."""
    first: float = 0.5
    """Size of the first step; theta / reg, as in the paper, would far exceed 2 / curvature."""
    per_level: int = 20
    unlabelled: int = 100
    """Rows drawn in a step, per level and from the unlabelled ones."""
    blocks: int = 0
    """Number of feature blocks, visited in turn; 0: a new block in each step, as in the paper."""
    gamma: float = 1.0
    seed: int = 0

    def size(self, step: int) -> float:
        """Return the size eta of a step, counted from 1."""
        return self.theta / (self.reg * step + self.theta / self.first)


def descend(x: F32, group: I64, levels: int, features: RandomFeatures, by: Steps) -> F64:
    """Return the blocks' coefficients a, (blocks, 2 block) f64, of f(x) = sum_q a_q' phi_q(x).

    Equation   a_q <- (1 - eta reg) a_q for all q;
               a_i <- a_i - eta sum_r dL/df_r phi_i(x_r) over the drawn rows r
    Symbols    x (n, d) f32 · group (n,) 0 if unlabelled, else the level ·
               eta = theta / (reg step + theta / first)
    Cost       O(steps * rows ever drawn * block (d + 2)); memory linear in the rows ever drawn
    """
    pairs = pairing(np.bincount(group, minlength=levels + 1), by.gamma)
    drawn = _draw(group, levels, by)
    touched, place = np.unique(np.concatenate(drawn), return_inverse=True)
    ends = np.cumsum([len(rows) for rows in drawn])[:-1]
    known, group = np.ascontiguousarray(x[touched]), group[touched]
    scores = np.zeros(len(touched))
    blocks = by.blocks or by.steps
    coefficients = np.zeros((blocks, 2 * features.block))
    # All coefficients shrink in every step; one shared factor stands for that until they are read.
    scale = 1.0
    for step, rows in enumerate(np.split(place, ends), start=1):
        eta, q = by.size(step), (step - 1) % blocks
        phi = features.of(q, known)
        change = -eta * (pairs.slopes(scores[rows], group[rows]) @ phi[rows])
        keep = 1.0 - eta * by.reg
        if scale * keep == 0.0:
            coefficients[:], scale = 0.0, 1.0
        else:
            scale *= keep
        coefficients[q] += change / scale
        scores *= keep
        scores += phi @ change.astype(np.float32)
    found: F64 = scale * coefficients
    if not np.isfinite(found).all():
        raise Diverged("the steps diverged: give a larger reg or a smaller first step")
    return found


def _draw(group: I64, levels: int, by: Steps) -> list[I64]:
    """Return the rows of each step, equally many of every level."""
    rng = np.random.default_rng([by.seed, 1])
    sides = [(np.flatnonzero(group == c), by.per_level) for c in range(1, levels + 1)]
    if by.gamma < 1.0:
        sides.append((np.flatnonzero(group == 0), by.unlabelled))
    sides = [(rows, count) for rows, count in sides if len(rows)]
    return [
        np.concatenate([rows[rng.integers(len(rows), size=count)] for rows, count in sides])
        for _ in range(by.steps)
    ]
