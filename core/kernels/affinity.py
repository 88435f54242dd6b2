"""Taste by features of liked items, and how well items fit it."""

import math

from core.kernels.jit import kernel
from core.types import F32, F64, I32, I64


@kernel
def taste(
    ptr: I64,
    column: I32,
    usual: F64,
    liked: I32,
    weight: F32,
    doubt: float,
    own: F64,
    found: F32,
) -> None:
    """Write how much more than usual somebody likes each feature.

    Equation   found(c) = log((own(c) + doubt usual(c)) / ((total + doubt) usual(c))), 0 where
               usual(c) = 0; own(c): weight of the liked items with c, total: of the described ones
    Symbols    ptr (n + 1,), column: features of n items · usual (d,) · liked (k,) items, those from
               n on are not described · weight (k,) · own (d,) zeros, filled · found (d,)
    Cost       O(d + features of the liked items); allocates nothing
    Reference  tests/core/reference_affinity.py::taste
    """
    total, n = 0.0, ptr.size - 1
    for i in range(liked.size):
        item = liked[i]
        if item >= n or ptr[item] == ptr[item + 1]:
            continue
        total += weight[i]
        for at in range(ptr[item], ptr[item + 1]):
            own[column[at]] += weight[i]
    for c in range(usual.size):
        if usual[c] > 0.0:
            found[c] = math.log((own[c] + doubt * usual[c]) / ((total + doubt) * usual[c]))
        else:
            found[c] = 0.0


@kernel
def affinity(ptr: I64, column: I32, liking: F32, items: I32, found: F32) -> None:
    """Write how well items fit a taste.

    Equation   found(i) = mean of liking(c) over the features c of items(i), 0 without any
    Symbols    ptr (n + 1,), column: features of n items · liking (d,) · items, found (m,); items
               from n on are not described
    Cost       O(features of the items); allocates nothing
    Reference  tests/core/reference_affinity.py::affinity
    """
    n = ptr.size - 1
    for i in range(items.size):
        found[i] = 0.0
        item = items[i]
        if item >= n or ptr[item] == ptr[item + 1]:
            continue
        total = 0.0
        for at in range(ptr[item], ptr[item + 1]):
            total += liking[column[at]]
        found[i] = total / (ptr[item + 1] - ptr[item])
