"""Blend the scores of two rankers."""

import numpy as np

from core.types import F32


def blended(base: F32, other: F32, share: float) -> F32:
    """Return (1 - share) base + share other (n,), both scaled to mean 0 and variance 1.

    Items that ``base`` does not know are left out. An item that only ``other`` does not know gets
    the mean of ``other``.
    """
    n = min(base.size, other.size)
    out = np.float32(1.0 - share) * _standard(base)
    out[:n] += np.float32(share) * _standard(other[:n])
    return out


def _standard(scores: F32) -> F32:
    known = np.isfinite(scores)
    out = np.zeros_like(scores)
    if known.any():
        centred = scores[known] - scores[known].mean()
        spread = float(centred.std())
        out[known] = centred / np.float32(spread) if spread > 0.0 else centred
    return out
