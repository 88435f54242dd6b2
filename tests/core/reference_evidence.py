"""The naive twin of core/kernels/evidence.py: the events of each pair are sorted."""

RATING = 0


def evidence(order, pair, kind, value, sequence, weight, sign, hides, low, high, pairs, out, seen):
    found = sorted(set(pair.tolist()))
    for at, one in enumerate(found):
        events = [e for e in order if pair[e] == one]
        ratings = sorted((sequence[e], value[e]) for e in events if kind[e] == RATING)
        others = sorted(
            (weight[kind[e]], sequence[e], kind[e]) for e in events if kind[e] != RATING
        )
        pairs[at], out[at] = one, 0.0
        if ratings:
            position = (float(ratings[-1][1]) - low) / (high - low)
            out[at] += int(position >= 0.6 - 1e-6) - int(position <= 0.25 + 1e-6)
        if others:
            out[at] += weight[others[-1][2]] * sign[others[-1][2]]
        seen[at] = bool(ratings) or any(hides[kind[e]] for e in events)
    return len(found)
