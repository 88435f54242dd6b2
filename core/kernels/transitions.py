"""Counted transitions: which items came before an item, in rows of bounded length."""

import numpy as np

from core.kernels.jit import helper, kernel
from core.types import F32, F64, I32, I64

MOST_GROWN = 16.0
"""Half-lives after which the weights of a row are scaled to a new time."""
WAYS = 16
"""Number of entries among which an item is looked for: it stands in one of the groups of a row."""
LEFT = 1e-4
"""Share of a removed weight below which the rest is a rounding error."""


@helper
def _group(item: int, width: int) -> int:
    """Return the first entry of the group of an item in a row."""
    mixed, groups = np.uint32(item) * np.uint32(2654435761), width // WAYS
    spread = int(mixed >> np.uint32(16))
    # the number of groups is a power of two where speed matters: a division takes longer
    if groups & (groups - 1) == 0:
        return (spread & (groups - 1)) * WAYS
    return spread % groups * WAYS


@helper
def _find(before: I32, b: int, first: int, item: int) -> int:
    """Return the entry of an item in its group of row b, -1 if it is not there."""
    group, wanted, found = before[b, first : first + WAYS], np.int32(item + 1), np.int32(-1)
    for k in range(group.size):
        found = max(found, np.int32(k) if group[k] == wanted else np.int32(-1))
    return first + int(found) if found >= 0 else -1


@helper
def _lightest(bits: I32, b: int, first: int) -> int:
    """Return the first of the lightest entries of a group; unused ones weigh nothing."""
    # the bits of floats of at least 0 are in the order of the floats, and vectorised as integers;
    # an unsigned index needs no test for one that counts from the end
    lightest, start = np.int64(2**62), np.uint64(first)
    for k in range(WAYS):
        lightest = min(lightest, np.int64(bits[b, start + np.uint64(k)]) * WAYS + k)
    return first + int(lightest % WAYS)


@helper
def _clear(before: I32, weights: F32, b: int, first: int, at: int) -> None:
    """Remove an entry; the last of its group takes its place, so that groups have no gaps."""
    last = at
    for k in range(at + 1, first + WAYS):
        if before[b, k] > 0:
            last = k
    before[b, at], weights[b, at] = before[b, last], weights[b, last]
    before[b, last], weights[b, last] = 0, np.float32(0.0)


@helper
def _remove(before: I32, weights: F32, b: int, item: int, less: float) -> None:
    """Take a weight from an item of row b."""
    first = _group(item, before.shape[1])
    at = _find(before, b, first, item)
    if at < 0:
        return
    weights[b, at] -= np.float32(less)
    if weights[b, at] <= LEFT * less:
        _clear(before, weights, b, first, at)


@helper
def _grown(weights: F32, opening: F32, row_ms: F64, b: int, t: float, rate: float) -> float:
    """Return the half-lives from the time of row b to a step; a row that is too old moves."""
    if row_ms[b] == 0.0:
        row_ms[b] = t if t != 0.0 else 1.0  # 0 marks a new row
    grown = rate * (t - row_ms[b])
    if grown > MOST_GROWN:
        for k in range(weights.shape[1]):
            weights[b, k] *= np.float32(2.0**-grown)
        for k in range(opening.shape[1]):
            opening[b, k] *= np.float32(2.0**-grown)
        row_ms[b], grown = t, 0.0
    return float(grown)


@helper
def _open(opening: F32, b: int, place: int, more: float) -> None:
    """Add to the weight with which item b has a place at the beginning of histories, or take."""
    opening[b, place] += np.float32(more)
    if opening[b, place] <= -LEFT * more:
        opening[b, place] = np.float32(0.0)


@helper
def _push(latest: I32, user: int, item: int) -> None:
    for k in range(latest.shape[1] - 1, 0, -1):
        latest[user, k] = latest[user, k - 1]
    latest[user, 0] = item


@kernel
def follow(
    slot: I64,
    item: I32,
    weight: F32,
    time_ms: I64,
    rate: float,
    sign: float,
    latest: I32,
    before: I32,
    weights: F32,
    opening: F32,
    row_ms: F64,
) -> None:
    """Count n steps in order: each item follows the latest items of its user.

    Equation   C[a_d, b] += sign w 2^(rate (t - T)) / d for the d-th latest item a_d != b of the
               user, d = 1 .., T the time of row b. A full group of a row gives up its lightest
               entry. O[b, n] += sign w 2^(rate (t - T)) if the user has n < L latest items.
               Then b becomes the latest item.
    Symbols    slot (n,) row of the user in ``latest`` · item (n,): b · weight w (n,); with 0 the
               step changes ``latest`` alone · time_ms t
               (n,) · rate 1 / half life · sign 1 or -1, which takes steps back · latest (slots, L)
               newest first, -1 where there is none · before a + 1, weights C (items, K): row b in
               groups of WAYS, 0 where unused · opening O (items, L) · row_ms T (items,): 0 for
               a new row, which takes the time of its first step, but 1 instead of 0
    Cost       O(n L WAYS); allocates nothing
    Differs    C is stored by the item that follows, so that a step changes one row; an item that
               comes twice in a row counts once as the latest item. New weights grow instead of old
               ones decaying, and a row moves to the time of a step where they would grow too much
    Reference  tests/core/reference_transitions.py::follow
    """
    bits = weights.view(np.int32)
    for i in range(slot.size):
        user, b = slot[i], item[i]
        share, reach = 0.0, 0
        if weight[i] != 0.0:
            reach = latest.shape[1]
            grown = _grown(weights, opening, row_ms, b, float(time_ms[i]), rate)
            share = weight[i] * 2.0**grown
        distance = 0
        for d in range(reach):
            a = latest[user, d]
            if a < 0:
                _open(opening, b, d, sign * share)
                break
            # where the item itself came last, the others are as near as they were then
            distance += d > 0 or a != b
            if a == b:
                continue
            if sign < 0.0:
                _remove(before, weights, b, a, share / distance)
                continue
            more = np.float32(share / distance)
            if more == 0.0:
                continue  # too old to count: it must not push out an entry that does
            first = _group(a, before.shape[1])
            # as ``_find``, which would take twice as long for the whole loop if it were called
            group, wanted, found = before[b, first : first + WAYS], np.int32(a + 1), np.int32(-1)
            for k in range(group.size):  # without branches, in 32 bits: vectorised
                found = max(found, np.int32(k) if group[k] == wanted else np.int32(-1))
            at = first + int(found)
            if found < 0:
                at = _lightest(bits, b, first)
                before[b, at], weights[b, at] = wanted, np.float32(0.0)
            weights[b, at] += more
        if latest[user, 0] != b:
            _push(latest, user, b)


@kernel
def forget(item: int, rows: I64, before: I32, weights: F32, changed: I64) -> int:
    """Remove an item from some rows; return how many changed, their numbers in ``changed``.

    Equation   C[item, b] = 0 for b in ``rows``
    Symbols    rows (m,) · before, weights (items, K): as in ``follow`` · changed (m,)
    Cost       O(m WAYS); allocates nothing
    Differs    the last entry of a group takes the place of the removed one
    Reference  tests/core/reference_transitions.py::forget
    """
    n = 0
    for b in rows:
        first = _group(item, before.shape[1])
        at = _find(before, b, first, item)
        if at >= 0:
            _clear(before, weights, b, first, at)
            changed[n] = b
            n += 1
    return n


@kernel
def load(item: I32, weight: F32, row: I32, weights: F32) -> bool:
    """Load the entries of a row into an empty one; return False if no row can hold them.

    Equation   C[item_k, b] = weight_k
    Symbols    item, weight (n,), in the order of a row, distinct items and finite weights of at
               least 0 · row, weights (K,): as in ``follow``
    Cost       O(n WAYS); allocates nothing
    Differs    entries keep their order within a group, so a row has the same bits as before
    Reference  tests/core/reference_transitions.py::load
    """
    for k in range(item.size):
        at, first = 0, _group(item[k], row.size)
        while at < WAYS and row[first + at] > 0 and row[first + at] != item[k] + 1:
            at += 1
        if at == WAYS or row[first + at] > 0 or item[k] < 0:
            return False
        if not 0.0 <= weight[k] < np.inf:
            return False
        row[first + at], weights[first + at] = item[k] + 1, weight[k]
    return True


@kernel
def count_entries(items: I64, before: I32, n: I64) -> None:
    """Count the entries in the rows of some items.

    Equation   n[i] = number of a with C[a, items[i]] stored
    Symbols    items (m,) · before (items, K): as in ``follow`` · n (m,), out
    Cost       O(m K); allocates nothing
    Differs    nothing
    Reference  tests/core/reference_transitions.py::count_entries
    """
    for i in range(items.size):
        row, used = before[items[i]], 0
        for k in range(row.size):
            used += row[k] > 0
        n[i] = used


@kernel
def gather(items: I64, before: I32, weights: F32, item: I32, weight: F32) -> None:
    """Copy the entries of some rows, one row after the other.

    Equation   (item, weight) = (a, C[a, b]) for b in ``items``, in the order of the row
    Symbols    items (m,) · before, weights (items, K): as in ``follow`` · item, weight (entries,)
    Cost       O(m K); allocates nothing
    Differs    nothing
    Reference  tests/core/reference_transitions.py::gather
    """
    at = 0
    for i in range(items.size):
        row, value = before[items[i]], weights[items[i]]
        for k in range(row.size):
            if row[k] > 0:
                item[at], weight[at] = row[k] - 1, value[k]
                at += 1


@kernel
def by_predecessor(
    n_entries: I64, before: I32, weight: F32, ptr: I64, after: I32, sorted_weight: F32
) -> None:
    """Turn entries by follower into entries by predecessor; the followers of an item rise.

    Equation   a transpose: entries (a, b) in the order of b become entries in the order of a
    Symbols    n_entries (items,): of each b · before a, weight (entries,) · ptr (items + 1,), out ·
               after b, sorted_weight (entries,), out: of a from ptr[a] on
    Cost       O(entries); allocates one number for each item
    Differs    counts, then places: no sort
    Reference  tests/core/reference_transitions.py::by_predecessor
    """
    ptr[:] = 0
    for e in range(before.size):
        ptr[before[e] + 1] += 1
    for a in range(ptr.size - 1):
        ptr[a + 1] += ptr[a]
    at, e = ptr[:-1].copy(), 0
    for b in range(n_entries.size):
        for _ in range(n_entries[b]):
            a = before[e]
            after[at[a]], sorted_weight[at[a]] = b, weight[e]
            at[a] += 1
            e += 1


@kernel
def expect(latest: I32, ptr: I64, after: I32, weight: F32, decay: float, scores: F32) -> int:
    """Add what follows a user's latest items to the scores; return the number of entries read.

    Equation   scores[b] += sum_m decay^m W[a_m, b], a_m the m-th latest item, from 0
    Symbols    latest a (m,) · ptr, after, weight: as in ``by_predecessor`` · scores (items,)
    Cost       O(followers of the latest items); allocates nothing
    Differs    items beyond the index are left out, but have their position
    Reference  tests/core/reference_transitions.py::expect
    """
    share, n = 1.0, 0
    for m in range(latest.size):
        a = latest[m]
        if a < ptr.size - 1:
            for e in range(ptr[a], ptr[a + 1]):
                scores[after[e]] += np.float32(share * weight[e])
            n += ptr[a + 1] - ptr[a]
        share *= decay
    return n
