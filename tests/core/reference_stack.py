"""The naive twin of the kernel of the stack."""

import numpy as np


def loss(signal, ptr, taken, context, weight, top, likely, own, gradient):
    """Return the loss, event by event, with the gradient by the chain rule."""
    gradient[:] = 0.0
    total = 0.0
    for event in range(taken.size):
        rows = signal[ptr[event] : ptr[event + 1]].astype(np.float64)
        z = rows @ (weight @ context[event])
        p = np.exp(z - z.max()) / np.exp(z - z.max()).sum()
        at = taken[event] - ptr[event]
        total += -np.log(p[at]) if top == 0.0 else (1.0 - p[at] ** top) / top
        of_chance = -(p[at] ** (top - 1.0))
        of_z = of_chance * p[at] * ((np.arange(p.size) == at) - p)
        gradient += np.outer(rows.T @ of_z, context[event])
    return total
