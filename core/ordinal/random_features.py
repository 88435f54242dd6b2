"""Random features of the Gaussian kernel, in blocks regenerated from a seed instead of stored."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from core.types import F32, F64

ROWS = 4096
"""Number of rows turned into features at a time, which bounds the memory."""


@dataclass(frozen=True, eq=False)
class RandomFeatures:
    """Blocks of ``block`` frequencies for k(x, y) = exp(-sum_d widths_d (x_d - y_d)^2).

    Equation   phi_q(x) = [cos(W_q' x), sin(W_q' x)] / sqrt(block),  E[phi_q(x)' phi_q(y)] = k(x, y)
    Symbols    W_q (d, block) f32, column ~ N(0, 2 diag(widths)), a pure function of (seed, q)
    """

    widths: F64
    block: int
    seed: int

    def frequencies(self, q: int) -> F32:
        """Return W_q, (d, block) f32."""
        normal = np.random.default_rng([self.seed, q]).standard_normal(
            (len(self.widths), self.block)
        )
        return (normal * self._scale).astype(np.float32)

    def of(self, q: int, x: F32) -> F32:
        """Return phi_q of the rows of ``x`` (n, d), (n, 2 block) f32."""
        return waves(x, self.frequencies(q)) / np.float32(self.block**0.5)

    def all_frequencies(self, blocks: int) -> F32:
        """Return the first blocks side by side, (d, blocks * block) f32."""
        return np.concatenate([self.frequencies(q) for q in range(blocks)], axis=1)

    @cached_property
    def _scale(self) -> F64:
        scale: F64 = np.sqrt(2.0 * self.widths)[:, None]
        return scale


def waves(x: F32, frequencies: F32) -> F32:
    """Return [cos(x W), sin(x W)] of rows (n, d) and frequencies (d, m), (n, 2m) f32."""
    m = frequencies.shape[1]
    out = np.empty((len(x), 2 * m), dtype=np.float32)
    np.matmul(x, frequencies, out=out[:, m:])
    np.cos(out[:, m:], out=out[:, :m])
    np.sin(out[:, m:], out=out[:, m:])
    return out


def kernel_of(x: F64, y: F64, widths: F64) -> F64:
    """Return exp(-sum_d widths_d (x_d - y_d)^2) of all pairs of rows, (n, m) f64."""
    a, b = x * np.sqrt(widths), y * np.sqrt(widths)
    distance = (a * a).sum(axis=1)[:, None] + (b * b).sum(axis=1)[None, :] - 2.0 * a @ b.T
    similar: F64 = np.exp(-np.maximum(distance, 0.0))
    return similar
