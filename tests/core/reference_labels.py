"""Naive twins of the kernels of label embeddings: dense matrices, pair by pair, float64."""

import numpy as np

MASK = (1 << 64) - 1


def sppmi(total, shift=1.0):
    """Equation 5 for a dense symmetric matrix of common occurrences."""
    with np.errstate(divide="ignore", invalid="ignore"):
        found = np.log(total * total.sum() / np.outer(total.sum(1), total.sum(0))) - np.log(shift)
    return np.where(total > 0, np.maximum(found, 0.0), 0.0)


def dense(ptr, ix, width, value=None):
    """Return a CSR matrix with all its zeros."""
    out = np.zeros((ptr.size - 1, width))
    for row in range(ptr.size - 1):
        for at in range(ptr[row], ptr[row + 1]):
            out[row, ix[at]] += 1.0 if value is None else value[at]
    return out


def _joint(ptr, label, owner_ptr, scale, extra_ptr, extra_ix, extra, n):
    member = dense(ptr, label, owner_ptr.size - 1)
    return scale * member @ member.T + dense(extra_ptr, extra_ix, n, extra)


def sppmi_counts(ptr, label, owner_ptr, owner, scale, extra_ptr, extra_ix, extra, share, counts):
    """Form the whole matrix."""
    total = _joint(ptr, label, owner_ptr, scale, extra_ptr, extra_ix, extra, share.size)
    counts[:] = (total * np.outer(share, share) > 1.0).sum(1)


def sppmi_values(
    ptr,
    label,
    owner_ptr,
    owner,
    scale,
    extra_ptr,
    extra_ix,
    extra,
    share,
    out_ptr,
    out_ix,
    out,
):
    """Form the whole matrix; columns rise."""
    total = _joint(ptr, label, owner_ptr, scale, extra_ptr, extra_ix, extra, share.size)
    ratio = total * np.outer(share, share)
    for row in range(share.size):
        kept = np.flatnonzero(ratio[row] > 1.0)
        out_ix[out_ptr[row] : out_ptr[row + 1]] = kept
        out[out_ptr[row] : out_ptr[row + 1]] = np.log(ratio[row, kept])


def sparse_product(ptr, ix, value, block, out):
    """Multiply with the zeros too."""
    out[:] = dense(ptr, ix, block.shape[0], value) @ block


def _mixed(value):
    """splitmix64 with Python's whole numbers."""
    z = (value + 0x9E3779B97F4A7C15) & MASK
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & MASK
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK
    return z ^ (z >> 31)


def _drawn(seed, number, n):
    return _mixed((seed + number * 0x9E3779B97F4A7C15) & MASK) % n


def label_neighbours(ptr, label, owner_ptr, owner, length, seed, out):
    """Compare every pair."""
    member = dense(ptr, label, owner_ptr.size - 1)
    n, k = out.shape
    alike = member @ member.T / np.outer(length, length).astype(np.float64)
    out[:] = -1
    for i in range(n):
        chance = [(_mixed(int(seed) ^ (i * n + j)) >> 11) * 2.0**-53 for j in range(n)]
        order = np.argsort(-(alike[i] + 1e-7 * np.array(chance)))
        near = [j for j in order if j != i and alike[i, j] > 0][:k]
        out[i, : len(near)] = near


def sigmoid(x):
    return 1.0 / (1.0 + np.exp(-x))


def skip_gram_value(place, context, others, negative_weight):
    """The objective of one positive and its negatives."""
    negative = sum(np.log(sigmoid(-place @ other)) for other in others) / max(len(others), 1)
    return np.log(sigmoid(place @ context)) + negative_weight * negative


def skip_gram(
    places,
    contexts,
    neighbours,
    order,
    negatives,
    negative_weight,
    first_rate,
    last_rate,
    seed,
):
    """Step positive by positive; within one, each vector moves by the slope at its last value."""
    drawn = 0
    for visit, i in enumerate(order):
        rate = first_rate + (last_rate - first_rate) * visit / order.size
        for j in neighbours[i][neighbours[i] >= 0]:
            place, change = places[i].copy(), 0.0
            pairs = [(j, 1.0, 1.0)]
            for _ in range(negatives):
                pairs.append(
                    (_drawn(int(seed), drawn, len(places)), 0.0, negative_weight / negatives)
                )
                drawn += 1
            for other, wanted, weight in pairs:
                step = rate * weight * (wanted - sigmoid(place @ contexts[other]))
                change = change + step * contexts[other]
                contexts[other] = contexts[other] + step * place
            places[i] = place + change


def cosine(weights, x, other):
    """K of two points."""
    a, b = weights.T @ x, weights.T @ other
    return a @ b / (np.linalg.norm(a) * np.linalg.norm(b))


def joint_value(weights, X, i, positives, others, negative_weight, scale):
    """Equation 10 of one point."""
    negative = sum(np.log(sigmoid(-scale * cosine(weights, X[i], X[j]))) for j in others)
    positive = sum(np.log(sigmoid(scale * cosine(weights, X[i], X[j]))) for j in positives)
    return positive + negative_weight * len(positives) / len(others) * negative


def joint_slope(weights, X, i, positives, others, negative_weight, scale):
    """Equation 11: its slope by V, by the formula of equation 12 with its factors spelt out."""
    slope = np.zeros_like(weights)
    share = negative_weight * len(positives) / len(others)
    for j, sign, weight in [(j, 1.0, 1.0) for j in positives] + [(j, -1.0, share) for j in others]:
        a, b = weights.T @ X[i], weights.T @ X[j]
        p, q, dot = np.linalg.norm(a), np.linalg.norm(b), a @ b
        by_cosine = sign * weight * scale * sigmoid(-sign * scale * dot / (p * q))
        slope += by_cosine * (np.outer(X[j], a) + np.outer(X[i], b)) / (p * q)
        slope -= by_cosine * dot * (np.outer(X[i], a) / (p**3 * q) + np.outer(X[j], b) / (p * q**3))
    return slope


def joint_embedding(
    ptr,
    ix,
    value,
    neighbours,
    order,
    negatives,
    negative_weight,
    scale,
    rate,
    adam,
    seed,
    weights,
    means,
    squares,
    steps,
):
    """Step point by point with the whole slope; features that the point lacks do not move."""
    X = dense(ptr, ix, weights.shape[0], value)
    drawn = 0
    for i in order:
        positives = neighbours[i][neighbours[i] >= 0].tolist()
        others = [_drawn(int(seed), drawn + a, len(X)) for a in range(negatives)]
        drawn += negatives
        if not positives:
            continue
        slope = joint_slope(weights, X, i, positives, others, negative_weight, scale)
        moved = np.flatnonzero((X[[i, *positives, *others]] != 0).any(0))
        for row in moved:
            if adam:
                steps[row] += 1
                means[row] = 0.9 * means[row] + 0.1 * slope[row]
                squares[row] = 0.999 * squares[row] + 0.001 * slope[row] ** 2
                size = np.sqrt(squares[row] / (1 - 0.999 ** steps[row])) + 1e-8
                weights[row] += rate * means[row] / (1 - 0.9 ** steps[row]) / size
            else:
                squares[row] += slope[row] ** 2
                weights[row] += rate * slope[row] / np.sqrt(squares[row])
