"""The naive twin of core/kernels/online_scores.py: one pair after the other."""

import numpy as np


def expert_scores(user, items, mean, experts, low, high):
    """Return (clipped (n, m), known (n, 5)); ``experts`` are (bias column or None, factor columns)."""
    clipped = np.array([[_predicted(user, item, mean, *e) for e in experts] for item in items])
    clipped = clipped.clip(low, high)
    known = [
        [p.mean(), user[2], item[2], user[3] / (user[4] + 3.0), item[3] / (item[4] + 3.0)]
        for p, item in zip(clipped, items, strict=True)
    ]
    return clipped, np.array(known)


def _predicted(user, item, mean, bias, factors):
    p = float(user[factors] @ item[factors])
    return p if bias is None else mean + user[bias] + item[bias] + p
