"""The naive twins of core/kernels/transitions.py: dictionaries of pairs, events one by one."""

import numpy as np


def follow(steps, half_life_ms, *, reach, sign=1.0, pairs=None, latest=None):
    """Return {(a, b): (weight, time)} and the latest items by user of (user, item, w, t) steps."""
    pairs = {} if pairs is None else pairs
    latest = {} if latest is None else latest
    first = {}
    for user, b, weight, t in steps:
        ring = latest.setdefault(user, [])
        first.setdefault(b, t)
        others = ring[1:] if ring[:1] == [b] else ring
        for distance, a in enumerate(others, 1):
            if a != b:
                pairs.setdefault((a, b), []).append((sign * weight / distance, t))
        if ring[:1] != [b]:
            latest[user] = [b, *ring][:reach]
    total = {
        (a, b): sum(w * 2.0 ** ((t - first[b]) / half_life_ms) for w, t in parts)
        for (a, b), parts in pairs.items()
    }
    return total, latest


def openings(steps, half_life_ms, *, reach):
    """Return {(b, n): weight} of the items that users took when they had n < ``reach`` others."""
    latest, first, found = {}, {}, {}
    for user, b, weight, t in steps:
        ring = latest.setdefault(user, [])
        first.setdefault(b, t)
        if (n := len(ring)) < reach:
            aged = weight * 2.0 ** ((t - first[b]) / half_life_ms)
            found[b, n] = found.get((b, n), 0.0) + aged
        if ring[:1] != [b]:
            latest[user] = [b, *ring][:reach]
    return found


def forget(pairs, item):
    """Return the pairs without those whose predecessor is the item."""
    return {pair: weight for pair, weight in pairs.items() if pair[0] != item}


def load(pairs, b):
    """Return {a: weight} of the row of b."""
    return {a: weight for (a, item), weight in pairs.items() if item == b}


def count_entries(pairs, items):
    """Return the number of entries of each item's row."""
    return [len(load(pairs, b)) for b in items]


def gather(pairs, items):
    """Return the entries (a, weight) of each item's row, by rising a."""
    return [sorted(load(pairs, b).items()) for b in items]


def by_predecessor(pairs, aged, n_items):
    """Return the dense matrix (before, after) of aged weights."""
    dense = np.zeros((n_items, n_items))
    for (a, b), weight in pairs.items():
        dense[a, b] = weight * aged[b]
    return dense


def expect(latest, dense, decay):
    """Return the score of each item."""
    scores = np.zeros(dense.shape[1])
    for m, a in enumerate(latest):
        if a < len(dense):
            scores += decay**m * dense[a]
    return scores
