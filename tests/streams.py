"""Files of events for tests of ``hedgerow eval stream``."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

START_S = 1_000_000_000
RATED, OF_KINDS = "user,item,rating,timestamp", "user,item,kind,timestamp"
Row = tuple[str, str, Any]


def write(path: Path, events: Iterable[Row], header: str = RATED, *, seconds: int = 60) -> Path:
    """Write events as a CSV, each some seconds after the one before it."""
    lines = [
        f"{user},{item},{value},{START_S + n * seconds}"
        for n, (user, item, value) in enumerate(events)
    ]
    path.write_text("\n".join([header, *lines]) + "\n")
    return path


def rounds(users: int = 150, *, items: int = 40, length: int = 12, seed: int = 0) -> list[Row]:
    """Return what users take who walk round a ring of items, one or two items at a time.

    All items are equally popular and everybody likes all of them: the order alone says what comes
    next. A user begins after every third event.
    """
    rng = np.random.default_rng(seed)
    steps = rng.integers(1, 3, size=(users, length)).cumsum(axis=1)
    item = (rng.integers(items, size=(users, 1)) + steps) % items
    when = 3.0 * np.arange(users)[:, None] + 10.0 * np.arange(length) + rng.random(item.shape)
    rating = rng.integers(4, 6, size=item.shape)
    order = np.argsort(when.ravel())
    user = np.repeat(np.arange(users), length)[order].tolist()
    taken = zip(user, item.ravel()[order].tolist(), rating.ravel()[order].tolist(), strict=True)
    return [(f"u{user}", f"i{number}", value) for user, number, value in taken]
