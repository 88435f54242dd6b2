"""What each ranker adds to the logit of an item."""

import numpy as np

from core.kernels import candidates as kernels
from core.stack.logit import Logit
from core.types import F32, I64


def by_ranker(logit: Logit, signals: F32, length: int, first: I64) -> tuple[F32, F32]:
    """Return z of the items (m,), and the part of each of r rankers in it (m, r).

    Equation   part = sum over the ranker's signals of w x, less its mean over the items
    Shapes     signals (m, d) · first (r + 1,): where the columns of a ranker begin; those behind
               the last belong to none

    >>> one = np.ones(2, np.float32)
    >>> made = Logit(("good", "new"), one, one, np.eye(2, 3), (0.0, 1.0))
    >>> rows = np.array([[3, 1], [1, 1]], np.float32)
    >>> z, part = by_ranker(made, rows, 9, np.array([0, 1]))
    >>> z.tolist(), part.tolist()
    ([2.0, 0.0], [[1.0], [-1.0]])
    """
    z = np.empty(len(signals), np.float32)
    part = np.empty((len(signals), first.size - 1), np.float32)
    by_length = logit.weights_at(length)
    kernels.add_up(signals, logit.mean, logit.inverse, by_length, first, z, part)
    return z, part
