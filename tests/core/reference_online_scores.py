"""The naive twin of core/kernels/online_scores.py: one pair after the other."""

import numpy as np


def online_scores(user, items, mean, experts, low, high, parts, curve, user_part, item_part):
    """Return scores (n,); ``experts`` are (bias column or None, factor columns).

    ``curve`` holds the factors of z and of z squared.
    """
    predicted = np.array([[_predicted(user, item, mean, *e) for e in experts] for item in items])
    predicted = predicted.clip(low, high)
    z = predicted.mean(axis=1) - 3.0
    return predicted @ parts + curve[0] * z + curve[1] * z**2 + user_part + item_part


def _predicted(user, item, mean, bias, factors):
    p = float(user[factors] @ item[factors])
    return p if bias is None else mean + user[bias] + item[bias] + p
