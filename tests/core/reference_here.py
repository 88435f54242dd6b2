"""Lifts of items in contexts, counted naively; see core/batch/here/fit.py."""

import numpy as np


def lift(likes, name, text, item, steady):
    """Return log((n_ic + a) / (e_ic + a)) of an item where a name has a text.

    ``likes`` are (name, text, item) of users who liked the item there, each user once.
    """
    of_name = [(said, what) for called, said, what in likes if called == name]
    n_ic = sum(said == text and what == item for said, what in of_name)
    n_i = sum(what == item for _, what in of_name)
    n_c = sum(said == text for said, _ in of_name)
    return np.log((n_ic + steady) / (n_i * n_c / len(of_name) + steady))


def negative_binomial(n, e, a):
    """Return the likelihood of a count whose mean e is multiplied by a factor from Gamma(a, a)."""
    likelihood = 1.0
    for k in range(n):
        likelihood *= (a + k) / (k + 1)
    return likelihood * (a / (a + e)) ** a * (e / (a + e)) ** n
