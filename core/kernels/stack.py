"""The loss of a multinomial logit over the items of judged events."""

import numpy as np

from core.kernels.jit import kernel
from core.types import F32, F64, I64


@kernel
def loss(
    signal: F32,
    ptr: I64,
    taken: I64,
    context: F64,
    weight: F64,
    top: float,
    likely: F64,
    own: F64,
    gradient: F64,
) -> float:
    """Return the sum of the loss over all events, and write its gradient.

    Equation   sum over e of (1 - p^q) / q, p the softmax of z at the taken item among rows
               ptr[e] .. ptr[e + 1], z = x . W c_e; q = 0: sum of -log p
               [Zhang and Sabuncu 2018]
    Symbols    signal (rows, d) x · taken (events,) rows · context (events, c) c_e ·
               weight (d, c) W · top q · likely (longest event,), own (2, d) scratch ·
               gradient (d, c)
    Cost       O(rows d); allocates nothing
    Reference  tests/core/reference_stack.py::loss
    """
    d = signal.shape[1]
    gradient[:] = 0.0
    total = 0.0
    for event in range(taken.size):
        first, end = ptr[event], ptr[event + 1]
        highest = -np.inf
        for at in range(d):
            own[0, at], own[1, at] = 0.0, 0.0
            for of in range(context.shape[1]):
                own[0, at] += weight[at, of] * context[event, of]
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
            for of in range(context.shape[1]):
                gradient[at, of] += context[event, of] * own[1, at]
    return total
