"""The naive twins of core/kernels/window.py: lists of (id, age)."""


class Held:
    """A set of ``size`` ids in ``n_lists`` lists, the first of which is shared."""

    def __init__(self, size, n_lists):
        self.size = size
        self.lists = [[] for _ in range(n_lists)]
        self.tags = [0] * n_lists


def forget_older(oldest, held):
    """Return how many ids each list has forgotten."""
    forgotten = [sum(age < oldest for _, age in one) for one in held.lists]
    held.lists = [[kept for kept in one if kept[1] >= oldest] for one in held.lists]
    return forgotten


def window(rows, age, held):
    """Return for each (id, tag): (repeated, the list that took it, the list that forgot one)."""
    return [_added(identifier, tag, age, held) for identifier, tag in rows]


def restore(identifiers, age, number, held):
    for identifier in identifiers:
        _make_room(number, held)
        held.lists[number].append((identifier, age))


def _added(identifier, tag, age, held):
    if any(identifier == other for one in held.lists for other, _ in one):
        return [1, 255, 255]
    number = _list_of(tag, held)
    displaced = _make_room(number, held)
    held.tags[number] = tag
    held.lists[number].append((identifier, age))
    return [0, number, displaced]


def _make_room(number, held):
    lengths = [len(one) for one in held.lists]
    if sum(lengths) < held.size:
        return 255
    # as long as it will be, and preferred among equals
    lengths[number] += 1.5 if lengths[number] else 0
    longest = lengths.index(max(lengths))
    held.lists[longest].pop(0)
    return longest


def _list_of(tag, held):
    used = [n for n, one in enumerate(held.lists) if n and one and held.tags[n] == tag]
    empty = [n for n, one in enumerate(held.lists) if n and not one]
    return [*used, *empty, 0][0] if tag else 0
