"""The naive twin of core/kernels/window.py: lists of (id, age)."""


class Window:
    """A set of ``size`` ids in ``n_lists`` lists, the first of which is shared."""

    def __init__(self, size, n_lists):
        self.size = size
        self.lists = [[] for _ in range(n_lists)]
        self.tags = [0] * n_lists

    def forget_older(self, oldest):
        forgotten = [sum(age < oldest for _, age in one) for one in self.lists]
        self.lists = [[kept for kept in one if kept[1] >= oldest] for one in self.lists]
        return forgotten

    def add(self, identifier, tag, age):
        """Return (repeated, the list that took it, the list that forgot its oldest)."""
        if any(identifier == held for one in self.lists for held, _ in one):
            return 1, 255, 255
        number = self._list_of(tag)
        displaced = self._make_room(number)
        self.tags[number] = tag
        self.lists[number].append((identifier, age))
        return 0, number, displaced

    def restore(self, identifier, age, number):
        self._make_room(number)
        self.lists[number].append((identifier, age))

    def _make_room(self, number):
        lengths = [len(one) for one in self.lists]
        if sum(lengths) < self.size:
            return 255
        # as long as it will be, and preferred among equals
        lengths[number] += 1.5 if lengths[number] else 0
        longest = lengths.index(max(lengths))
        self.lists[longest].pop(0)
        return longest

    def _list_of(self, tag):
        used = [n for n, one in enumerate(self.lists) if n and one and self.tags[n] == tag]
        empty = [n for n, one in enumerate(self.lists) if n and not one]
        return [*used, *empty, 0][0] if tag else 0
