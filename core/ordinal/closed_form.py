"""Minimisers of the risk in closed form.

For fixed features the risk is quadratic, so its minimum solves one linear system.
"""

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from core.ordinal.pairing import Pairing
from core.ordinal.random_features import ROWS, waves
from core.types import F32, F64, I64


def in_rows(kernel: F64, group: I64, pairs: Pairing, reg: float) -> F64:
    """Return the coefficients c (n,) f64 of the f(x) = sum_i c_i k(x_i, x) of least risk; O(n^3).

    Equation   (reg I + M K) c = 2 v,  M = 2 (diag(square_g / n_g) - C' cross C),  v = C' linear
    Symbols    kernel K (n, n) · C (k+1, n) averages a group's rows · g the group of a row
    """
    averages = _averages(group, len(pairs.square))
    own = averages[group, np.arange(len(group))] * pairs.square[group]
    system = 2.0 * (own[:, None] * kernel - averages.T @ (pairs.cross @ (averages @ kernel)))
    system[np.diag_indices_from(system)] += reg
    right: F64 = 2.0 * averages.T @ pairs.linear
    return np.asarray(np.linalg.solve(system, right), dtype=np.float64)


def in_features(x: F32, group: I64, frequencies: F32, pairs: Pairing, reg: float) -> F64:
    """Return the weights w (2m,) f64 of the f(x) = w' waves(x) / sqrt(m) of least risk.

    Equation   (reg I + 2 A) w = 2 h,  A = sum_c square_c H_c - sum_ab cross_ab m_a m_b',
               h = sum_c linear_c m_c
    Symbols    m_c, H_c mean and second moment of group c's features
    Cost       O(n m^2 + m^3), with fewer rows than features O(n^2 m + n^3); memory O(m^2)
    """
    size = 2 * frequencies.shape[1]
    if len(x) < size:
        features = waves(x, frequencies)
        kernel = (features @ features.T).astype(np.float64) / frequencies.shape[1]
        rows = in_rows(kernel, group, pairs, reg)
        few: F64 = rows @ features / frequencies.shape[1] ** 0.5
        return few
    counts = np.bincount(group, minlength=len(pairs.square))
    share = pairs.square[group] / counts[group]
    moment, sums = np.zeros((size, size)), np.zeros((len(counts), size))
    for start in range(0, len(x), ROWS):
        part = slice(start, start + ROWS)
        features = waves(x[part], frequencies)
        weighted = features * np.sqrt(share[part], dtype=np.float32)[:, None]
        moment += weighted.T @ weighted
        sums += _indicator(group[part], len(counts)) @ features
    means = sums / np.maximum(counts, 1)[:, None]
    m = size / 2
    system = 2.0 * (moment - means.T @ pairs.cross @ means) / m
    system[np.diag_indices_from(system)] += reg
    right = 2.0 * means.T @ pairs.linear / np.sqrt(m)
    found: F64 = cho_solve(cho_factor(system, overwrite_a=True), right)
    return found


def _averages(group: I64, groups: int) -> F64:
    counts = np.maximum(np.bincount(group, minlength=groups), 1)
    averages: F64 = _indicator(group, groups) / counts[:, None]
    return averages


def _indicator(group: I64, groups: int) -> F64:
    indicator: F64 = (group == np.arange(groups)[:, None]).astype(np.float64)
    return indicator
