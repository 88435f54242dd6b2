"""The naive twin of core/kernels/merge.py: dictionaries and a sort."""

import numpy as np


def merge(listed, first, weight, smooth, item, score, loudest):
    gains = {}
    for one, begin in enumerate(first[:-1]):
        for rank, y in enumerate(listed[begin : first[one + 1]].tolist(), 1):
            gains.setdefault(y, {})[one] = weight[one] / (smooth + rank)
    total = {y: sum(own.values()) for y, own in gains.items()}
    best = sorted(total, key=lambda y: (-total[y], y))[: item.size]
    item[:], score[:], loudest[:] = -1, -np.inf, -1
    item[: len(best)] = best
    score[: len(best)] = [total[y] for y in best]
    loudest[: len(best)] = [max(gains[y], key=gains[y].get) for y in best]
