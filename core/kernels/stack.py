"""The loss of a multinomial logit over the items of judged events."""

import numpy as np

from core.kernels.jit import kernel
from core.types import F32, F64, I64


@kernel
def loss(
    signal: F32,
    ptr: I64,
    taken: I64,
    length: F64,
    weight: F64,
    top: float,
    likely: F64,
    own: F64,
    gradient: F64,
) -> float:
    """Return the sum of the loss over all events, and write its gradient.

    Equation   sum over e of (1 - p^q) / q, p the softmax of z at the taken item among rows
               ptr[e] .. ptr[e + 1], z = x . (w + l_e v); q = 0: sum of -log p
               [Zhang and Sabuncu 2018]
    Symbols    signal (rows, d) x · taken (events,) rows · length (events,) l · weight (d, 2) w, v ·
               top q · likely (longest event,), own (2, d) scratch · gradient (d, 2)
    Cost       O(rows d); allocates nothing
    Reference  tests/core/reference_stack.py::loss
    """
    d = signal.shape[1]
    gradient[:] = 0.0
    total = 0.0
    for event in range(taken.size):
        first, end, of_length = ptr[event], ptr[event + 1], length[event]
        highest = -np.inf
        for at in range(d):
            own[0, at], own[1, at] = weight[at, 0] + of_length * weight[at, 1], 0.0
        for row in range(first, end):
            z = 0.0
            for at in range(d):
                z += signal[row, at] * own[0, at]
            likely[row - first] = z
            highest = max(highest, z)
        mass = 0.0
        for at in range(end - first):
            likely[at] = np.exp(likely[at] - highest)
            mass += likely[at]
        chance = likely[taken[event] - first] / mass
        total += -np.log(chance) if top == 0.0 else (1.0 - chance**top) / top
        steep = 1.0 if top == 0.0 else chance**top
        for row in range(first, end):
            slope = steep * (likely[row - first] / mass - (1.0 if row == taken[event] else 0.0))
            for at in range(d):
                own[1, at] += slope * signal[row, at]
        for at in range(d):
            gradient[at, 0] += own[1, at]
            gradient[at, 1] += of_length * own[1, at]
    return total
