"""Naive twins of the kernels of fBGD, fold-in and top-k: every pair is visited, in float64."""

import math

import numpy as np


def top_k(user, item_factors, excluded, item, score):
    """Sort all scores; the lower number wins a tie."""
    scores = (item_factors @ user).astype(np.float64)
    scores[excluded] = -np.inf
    scores[np.isnan(scores)] = -np.inf
    order = np.lexsort((np.arange(scores.size), -scores))[: item.size]
    item[:], score[:] = -1, -np.inf
    kept = order[scores[order] > -np.inf]
    item[: kept.size], score[: kept.size] = kept, scores[kept]


def top_k_all(users, item_factors, ptr, excluded, item, score):
    """Make the lists user by user."""
    for u in range(users.shape[0]):
        top_k(users[u], item_factors, excluded[ptr[u] : ptr[u + 1]], item[u], score[u])


def dense(pairs):
    """Return (observed, weight, target), each (users, items)."""
    shape = pairs.n_users, pairs.n_items
    observed, weight, target = np.zeros(shape, bool), np.ones(shape), np.ones(shape)
    at = pairs.user_ix, pairs.item_ix
    observed[at] = True
    if pairs.weight is not None:
        weight[at] = pairs.weight
    if pairs.target is not None:
        target[at] = pairs.target
    return observed, weight, target


def loss(observed, weight, target, negative, below, users, items):
    """Equation 2 over all pairs; negative (items,) are the weights of the unlabelled."""
    score = users.astype(np.float64) @ items.astype(np.float64).T
    known = (weight * (target - score) ** 2)[observed].sum()
    return known + (negative * (below - score) ** 2)[~observed].sum()


def negative_weights(item_counts, alpha0, rho):
    """Return equation 22: alpha0 (e^z - 1)^rho / sum of these, z an item's share of the pairs."""
    raw = [(math.exp(count / sum(item_counts)) - 1.0) ** rho for count in item_counts]
    return np.array([alpha0 * one / sum(raw) for one in raw])


def scaled_reg(counts, reg, nu):
    """Return reg (count / mean count)^nu of each row; the mean is of rows with pairs, 0 is 1."""
    mean = sum(counts) / sum(count > 0 for count in counts)
    return np.array([reg * (max(count, 1) / mean) ** nu for count in counts])


def exact_row(observed, weight, target, negative, below, reg, fixed):
    """Minimise one row's part of equation 2 over all of the other side; negative (others,)."""
    w = np.where(observed, weight, negative)
    t = np.where(observed, target, below)
    q = fixed.astype(np.float64)
    return np.linalg.solve((q * w[:, None]).T @ q + reg * np.eye(q.shape[1]), q.T @ (w * t))


def exact_gradient(observed, weight, target, negative, below, users, items):
    """Differentiate equation 2 by hand over all pairs; returns both sides."""
    w = np.where(observed, weight, negative)
    error = 2.0 * w * (users @ items.T - np.where(observed, target, below))
    return error @ items, error.T @ users


def _rows(ptr, other_ix, weight, target, negative, below, of_items):
    """Yield (row, others, a, w, t) of the CSR arguments of a kernel."""
    for x in range(ptr.size - 1):
        at = slice(ptr[x], ptr[x + 1])
        others = other_ix[at]
        w = weight[at] if weight.size > 1 else np.repeat(weight, others.size)
        t = target[at] if target.size > 1 else np.repeat(target, others.size)
        a = np.repeat(negative[x], others.size) if of_items else negative[others]
        yield x, others, a.astype(np.float64), w.astype(np.float64), t.astype(np.float64)


def solve_rows(
    cut,
    ptr,
    other_ix,
    weight,
    target,
    negative,
    below,
    of_items,
    gram,
    linear,
    reg,
    fixed,
    rows,
    steps,
    tolerance,
    loss,
):
    """Take the conjugate-gradient steps of each row with its whole matrix written down."""
    total = 0.0
    for x, others, a, w, t in _rows(ptr, other_ix, weight, target, negative, below, of_items):
        z = float(negative[x]) if of_items else 1.0
        q = fixed[others].astype(np.float64)
        matrix = np.diag(z * gram.astype(np.float64) + reg[x]) + (q * (w - a)[:, None]).T @ q
        right = z * linear.astype(np.float64) + q.T @ (w * t - a * below)
        p = rows[x].astype(np.float64)
        total += p @ matrix @ p - 2.0 * right @ p
        scale = z * gram.astype(np.float64) + reg[x]
        residual = right - matrix @ p
        way = residual / scale
        for _ in range(steps):
            size = residual @ (residual / scale)
            if size <= tolerance**2 * (right @ (right / scale)):
                break
            length = size / (way @ matrix @ way)
            p = p + length * way
            residual = residual - length * matrix @ way
            way = residual / scale + residual @ (residual / scale) / size * way
        rows[x] = p
    loss[:] = 0.0
    loss[0] = total


def gradient(
    cut,
    ptr,
    other_ix,
    weight,
    target,
    negative,
    below,
    of_items,
    gram,
    linear,
    fixed,
    rows,
    out,
    loss,
):
    """Differentiate each row's quadratic with its whole matrix written down."""
    total = 0.0
    for x, others, a, w, t in _rows(ptr, other_ix, weight, target, negative, below, of_items):
        z = float(negative[x]) if of_items else 1.0
        q = fixed[others].astype(np.float64)
        matrix = z * gram.astype(np.float64) + (q * (w - a)[:, None]).T @ q
        right = z * linear.astype(np.float64) + q.T @ (w * t - a * below)
        p = rows[x].astype(np.float64)
        total += p @ matrix @ p - 2.0 * right @ p
        out[x] = 2.0 * (matrix @ p - right)
    loss[:] = 0.0
    loss[0] = total


def gram_parts(cut, factors, weight, out):
    """Multiply part by part."""
    a = np.broadcast_to(weight, factors.shape[0])
    for part in range(cut.size - 1):
        block = slice(cut[part], cut[part + 1])
        out[part] = (factors[block] * a[block, None]).T @ factors[block]


def rotate(cut, factors, basis):
    """Multiply all rows at once."""
    factors[:] = factors.astype(np.float64) @ basis


def fold_in(
    item_factors,
    gram,
    linear,
    negative,
    below,
    reg,
    item_ix,
    weight,
    target,
    logistic,
    steps,
    tolerance,
    out,
):
    """Write the system down and solve it; logistic: plain Newton steps until nothing moves."""
    q, a = item_factors[item_ix].astype(np.float64), negative[item_ix].astype(np.float64)
    held = np.diag(gram.astype(np.float64) + reg)
    if not logistic:
        right = linear + q.T @ (weight * target - a * below)
        out[:] = np.linalg.solve(held + (q * (weight - a)[:, None]).T @ q, right)
        return
    sign, p = np.where(target > 0, 1.0, -1.0), np.zeros(out.size)
    for _ in range(50):
        score = q @ p
        likely = 1.0 / (1.0 + np.exp(sign * score))
        slope = linear - held @ p + q.T @ (weight * sign * likely / 2 + a * (score - below))
        curve = weight * likely * (1.0 - likely) / 2 - a
        p = p + np.linalg.solve(held + (q * curve[:, None]).T @ q, slope)
    out[:] = p


def transpose(ptr, item_ix, weight, target, next_at, user_ix, w, t):
    """Sort the pairs by item, those of one item stay in order."""
    order = np.argsort(item_ix, kind="stable")
    user_ix[:] = np.repeat(np.arange(ptr.size - 1), np.diff(ptr))[order]
    w[:], t[:] = (values[order] if values.size else values for values in (weight, target))
