"""The latest distinct items of a user, as models of the order read them."""

from core.kernels.jit import kernel
from core.types import F64, I32, U8

# same as core.meaning: a constant imported from our code could change without invalidating the
# cache
RATING = 0


@kernel
def latest(item: I32, kind: U8, weight: F64, out: I32) -> int:
    """Write the latest distinct items of events in order, newest first; return their number.

    Equation   the first k distinct items from the end, of ratings and of kinds with a weight
    Symbols    item, kind (n,): the events, oldest first · weight (256,) by kind · out (k,); what
               lies behind the last item is not written
    Cost       O(n k); allocates nothing
    Reference  tests/core/reference_latest.py::latest
    """
    found = 0
    for event in range(item.size - 1, -1, -1):
        if found == out.size:
            break
        if kind[event] == RATING or weight[kind[event]] > 0.0:
            known = False
            for at in range(found):
                known |= out[at] == item[event]
            if not known:
                out[found] = item[event]
                found += 1
    return found
