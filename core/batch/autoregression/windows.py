"""Rows of the regression: the latest items before an event, and the items that come next."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from core.batch.autoregression.config import AutoregressionConfig
from core.kernels import autoregression as kernels
from core.steps import Steps
from core.types import F32, I64

MOST_AHEAD, LEAST = 8, 0.02
"""Most steps that one row predicts, and the least weight of such a step."""
AT_ONCE = 200_000
"""Most rows that are in memory at the same time."""


def age_weights(config: AutoregressionConfig) -> F32:
    """Return the weights of the latest items by age, newest first, (items,).

    >>> age_weights(AutoregressionConfig(items=3, fade=1.0)).round(2).tolist()
    [1.0, 0.5, 0.33000001311302185]
    """
    weights: F32 = ((1.0 + np.arange(config.items)) ** -config.fade).astype(np.float32)
    return weights


def ahead_weights(config: AutoregressionConfig) -> F32:
    """Return the weights of the next items by distance; the next one has weight 1."""
    weights = np.arange(1.0, MOST_AHEAD + 1) ** -config.ahead
    kept: F32 = weights[weights >= LEAST].astype(np.float32)
    return kept


@dataclass(frozen=True)
class Rows:
    """Rows of X and Y, both (rows, items) in CSR."""

    x: Any
    y: Any


def rows_of(steps: Steps, config: AutoregressionConfig, at_once: int = AT_ONCE) -> Iterator[Rows]:
    """Yield the rows of all steps but the first of each user, a part at a time.

    Equation   x_t = sum_a (1 + a)^-fade e_(a-th latest distinct item before t), length 1
               y_t = sum_d weight_(t+d-1) d^-ahead e_(t+d-1)
    """
    users = steps.user_ix
    at = np.arange(steps.item_ix.size)
    at = at[at > steps.user_ptr[users]]
    for start in range(0, at.size, at_once):
        part = at[start : start + at_once]
        x = latest_rows(steps, steps.user_ptr[users[part]], part, config)
        yield Rows(x, _targets(steps, steps.user_ptr[users[part] + 1], part, config))


def latest_rows(steps: Steps, first: I64, at: I64, config: AutoregressionConfig) -> Any:
    """Return X for the steps ``first`` to ``at`` of one user each, (m, items) in CSR."""
    weight = age_weights(config)
    ptr = np.zeros(at.size + 1, np.int64)
    ix, value = np.empty(at.size * weight.size, np.int32), np.empty(at.size * weight.size, "f4")
    kernels.windows(first, at, steps.item_ix, weight, ptr, ix, value)
    n = int(ptr[-1])
    return sparse.csr_array((value[:n], ix[:n], ptr), shape=(at.size, steps.n_items))


def _targets(steps: Steps, end: I64, at: I64, config: AutoregressionConfig) -> Any:
    weight = ahead_weights(config)
    place = at[:, None] + np.arange(weight.size)
    known = place < end[:, None]
    place = place[known]
    value = np.broadcast_to(weight, known.shape)[known] * steps.weight[place]
    ptr = np.concatenate([[0], np.cumsum(known.sum(axis=1))]).astype(np.int64)
    shape = at.size, steps.n_items
    return sparse.csr_array((value, steps.item_ix[place], ptr), shape=shape)
