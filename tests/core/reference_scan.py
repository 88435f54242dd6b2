"""Naive twins of the scan: score everything, sort everything."""

import numpy as np


def scan(user, item_factors, excluded, allowed, item, score):
    select(item_factors @ user, excluded, allowed, item, score)


def first(order, scores, excluded, allowed, item, score):
    shown = [y < allowed.size and allowed[y] and y not in excluded for y in order]
    kept = np.flatnonzero(shown)[: item.size]
    item[: kept.size], score[: kept.size] = order[kept], scores[kept]
    return kept.size


def select(scores, excluded, allowed, item, score):
    out = set(excluded.tolist())
    kept = [
        y
        for y in range(scores.size)
        if y not in out and (allowed.size == 0 or allowed[y]) and scores[y] > -np.inf
    ]
    best = sorted(kept, key=lambda y: (-scores[y], y))[: item.size]
    item[:], score[:] = -1, -np.inf
    item[: len(best)], score[: len(best)] = best, scores[best]
