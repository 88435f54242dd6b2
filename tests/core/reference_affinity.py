"""Naive twins of the kernels of affinity."""

import itertools

import numpy as np


def taste(ptr, column, usual, liked, weight, doubt, own, found):
    of_item = [column[a:b] for a, b in itertools.pairwise(ptr)]
    known = [i for i, y in enumerate(liked) if y < len(of_item) and of_item[y].size]
    for i in known:
        own[of_item[liked[i]]] += weight[i]
    total = weight[known].sum(dtype=np.float64)
    found[:] = 0.0
    some = usual > 0.0
    ratio = (own[some] + doubt * usual[some]) / ((total + doubt) * usual[some])
    found[some] = np.log(ratio)


def affinity(ptr, column, liking, items, found):
    of_item = [column[a:b] for a, b in itertools.pairwise(ptr)]
    for i, y in enumerate(items):
        own = of_item[y] if y < len(of_item) else []
        found[i] = np.mean(liking[own]) if len(own) else 0.0
