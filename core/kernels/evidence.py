"""The evidence of each user-item pair: combines all events of a pair into one number.

It takes a single pass over events that are sorted by pair.
"""

import numpy as np
from numpy.typing import NDArray

from core.kernels.jit import kernel
from core.types import F32, F64, I64, U8

# same as core.meaning: a constant imported from our code could change without invalidating the
# cache
RATING, RATING_WEIGHT = 0, 1.0
POSITIVE_FROM, NEGATIVE_TO, SLACK = 0.6, 0.25, 1e-6


@kernel
def evidence(
    order: I64,
    pair: I64,
    kind: U8,
    value: F32,
    sequence: I64,
    weight: F64,
    sign: NDArray[np.int8],
    hides: NDArray[np.bool_],
    low: float,
    high: float,
    pairs: I64,
    out: F64,
    seen: NDArray[np.bool_],
) -> int:
    """Write the distinct pairs, their evidence and whether they count as seen; return their number.

    Equation   evidence = sign(latest rating) + sign(k) weight(k), k the strongest kind other than
               rating; among equally strong kinds the latest
    Symbols    order (n,): indices of the events, sorted by pair · pair, kind, value, sequence
               (n,) · weight, sign, hides (256,) by kind · ratings on low..high: sign 1 from 60 %
               of the scale up, -1 in the lowest quarter · pairs, out, seen (n,) out
    Cost       O(n); allocates nothing
    Reference  tests/core/reference_evidence.py::evidence
    """
    found = -1
    rated = strongest = 0.0
    rated_at = other_at = np.int64(-1)
    other_weight = 0.0
    scale = high - low
    for at in range(order.size):
        event = order[at]
        if at == 0 or pair[event] != pairs[found]:
            found += 1
            pairs[found], out[found], seen[found] = pair[event], 0.0, False
            rated = strongest = other_weight = 0.0
            rated_at = other_at = np.int64(-1)
        code = kind[event]
        if code == RATING:
            seen[found] = True
            if sequence[event] >= rated_at:
                position = (float(value[event]) - low) / scale
                rated_at, rated = sequence[event], 0.0
                if position >= POSITIVE_FROM - SLACK:
                    rated = RATING_WEIGHT
                elif position <= NEGATIVE_TO + SLACK:
                    rated = -RATING_WEIGHT
        else:
            seen[found] = seen[found] or hides[code]
            own = weight[code]
            if own > other_weight or (own == other_weight and sequence[event] >= other_at):
                other_weight, other_at = own, sequence[event]
                strongest = own * sign[code]
        out[found] = rated + strongest
    return found + 1
