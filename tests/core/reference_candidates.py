"""Naive twins of the kernels that a stack calls for each slate."""

import numpy as np


def gather(named, latest, excluded, allowed, item):
    """Twin of core.kernels.candidates.gather."""
    again = [y for y in latest if y < allowed.size and allowed[y] and y not in excluded]
    found = sorted({*named.tolist(), *again})
    item[: len(found)] = found
    return len(found)


def signals(score, found):
    """Twin of core.kernels.candidates.signals."""
    known = np.where(np.isfinite(score), score, 0.0).astype(np.float64)
    positive = np.maximum(known, 0.0)
    top = positive.max(initial=0.0)
    share = positive / top if top > 0 else positive
    found[:] = np.column_stack([known, np.log(0.01 + share), known <= 0.0])


def add_up(signal, mean, inverse, weight, first, z, part):
    """Twin of core.kernels.candidates.add_up."""
    each = np.clip((signal.astype(np.float64) - mean) * inverse, -40.0, 40.0) * weight
    z[:] = each.sum(axis=1)
    for r in range(part.shape[1]):
        own = each[:, first[r] : first[r + 1]].sum(axis=1)
        part[:, r] = own - own.mean() if own.size else own
