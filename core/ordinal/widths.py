"""Kernel widths per feature, from the labelled rows alone.

Features that matter little get a flat kernel.
"""

import math
from dataclasses import dataclass

import numpy as np
from scipy.linalg import cholesky, lapack
from scipy.optimize import minimize

from core.ordinal.random_features import kernel_of
from core.types import F64

START_WIDTH, START_NOISE = 0.1, 0.1
PULL = 0.5
"""Strength of the pull of each logarithmic width to its start; few rows determine few widths."""
LOW, HIGH = -9.0, 5.0
"""Bounds of the logarithms."""
SWEEPS = 30


@dataclass(frozen=True, eq=False)
class Evidence:
    """Penalised negative log-likelihood of targets under a Gaussian process with the kernel.

    A function of the logarithms of the kernel's widths and of the noise.

    Equation   n/2 log(t' B^-1 t / n) + 1/2 log |B| + pull/2 sum_d (log w_d - log w_0)^2,
               B = K(w) + noise I
    Symbols    x (n, d) f64 · t (n,) f64 with mean 0 · K(w)_ij = exp(-sum_d w_d (x_id - x_jd)^2)
    """

    x: F64
    target: F64

    def __call__(self, logs: F64) -> tuple[float, F64]:
        """Return the value and its gradient at (log w_1 .. log w_d, log noise); O(n^3 + n^2 d)."""
        n = len(self.x)
        widths, noise = np.exp(logs[:-1]), math.exp(logs[-1])
        kernel = kernel_of(self.x, self.x, widths)
        factor = cholesky(kernel + noise * np.eye(n), lower=True)
        inverse = _inverse(factor)
        fitted = inverse @ self.target
        scale = float(self.target @ fitted) / n
        far = logs[:-1] - math.log(START_WIDTH)
        value = 0.5 * n * math.log(scale) + float(np.log(np.diag(factor)).sum())
        slope = 0.5 * (inverse - np.outer(fitted, fitted) / scale)
        toward_noise = noise * float(np.trace(slope))
        slope *= kernel
        # sum_ij s_ij (x_i - x_j)^2 without forming the differences
        apart = 2.0 * (
            slope.sum(axis=1) @ self.x**2 - np.einsum("id,id->d", self.x, slope @ self.x)
        )
        gradient = np.append(-widths * apart + PULL * far, toward_noise)
        return value + 0.5 * PULL * float(far @ far), gradient


def find_widths(x: F64, target: F64) -> F64:
    """Return the width along each feature, (d,) f64, of largest likelihood.

    ``x`` (n, d) in 0..1 and ``target`` (n,): a few hundred rows are enough.
    """
    start = np.append(np.full(x.shape[1], math.log(START_WIDTH)), math.log(START_NOISE))
    bounds = [(LOW, HIGH)] * len(start)
    evidence = Evidence(x, target - target.mean())
    found = minimize(
        evidence, start, jac=True, method="L-BFGS-B", bounds=bounds, options={"maxiter": SWEEPS}
    )
    widths: F64 = np.exp(found.x[:-1])
    return widths


def _inverse(factor: F64) -> F64:
    """Return B^-1 (n, n), given B's lower Cholesky factor."""
    half: F64 = lapack.dpotri(factor, lower=True)[0]
    lower: F64 = np.tril(half)
    return lower + np.tril(lower, -1).T
