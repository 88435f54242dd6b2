"""Twins of core.kernels.rows."""


def add_rows(item_ix, amount, value, scores):
    """Twin of core.kernels.rows.add_rows."""
    for row, times in zip(item_ix, amount, strict=True):
        scores += times * value[row]


def add_sparse_rows(item_ix, amount, ptr, target, value, scores):
    """Twin of core.kernels.rows.add_sparse_rows."""
    for row, times in zip(item_ix, amount, strict=True):
        for e in range(ptr[row], ptr[row + 1]):
            scores[target[e]] += times * value[e]
