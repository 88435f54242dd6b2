"""Which tests each worker process begins with."""

from collections.abc import Callable, Hashable, Sequence
from itertools import chain
from typing import TypeVar

T = TypeVar("T")


def in_shares(tests: Sequence[T], workers: int, block: Callable[[T], Hashable | None]) -> list[T]:
    """Order tests so that each worker begins with long ones; short ones have no block.

    xdist gives each worker an equal part of this order; who has none left takes over from the end
    of another's part. A long test that begins last would leave the other workers idle. The tests
    of a block stay together, because they share what they start.

    >>> "".join(in_shares("aAbBcCAd", 2, lambda one: one if one.isupper() else None))
    'AACaBbcd'
    """
    blocks: dict[Hashable, list[T]] = {}
    short = []
    for test in tests:
        of = block(test)
        (short if of is None else blocks.setdefault(of, [])).append(test)
    ordered: list[T] = []
    for worker in range(workers):
        long = list(chain(*list(blocks.values())[worker::workers]))
        size = (len(tests) - len(ordered)) // (workers - worker)
        room = max(0, size - len(long))
        ordered += long + short[:room]
        del short[:room]
    return ordered
