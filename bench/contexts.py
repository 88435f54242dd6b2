"""Lists that are made for a context beside lists that are not, in worlds with and without one.

    python -m bench.contexts [--worlds 3] [--users 800] [--json]

Users of ten tastes take items on a phone, a television and a desktop computer. Each world is read,
trained, weighed and served by the code of the service, without a store; then the next item of each
user is looked for in default lists of ten:

- taste depends on the device: 30 % of the items are taken mostly on one device;
- noise: devices are drawn after the items were taken, and a second name has random texts;
- device follows taste: each user has a device, which the users of a taste share more often than
  others. It says nothing that the history does not say, and so should cost nothing.

"beside none" compares with a training of the same events without contexts, whose lists are made
without one. Takes about a minute a world.
"""

import argparse
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from bench.report import Figure, publish
from bench.small_shops import MEANINGS, lineup, trained
from core.batch.preferences import Preferences, preferences
from core.gate import paired_interval
from core.mixture_weights import ndcg10
from core.types import F64, I64
from service.ranking.asker import Asker
from service.ranking.lineup import Lineup
from service.ranking.pool import Pool
from service.ranking.slates.slate import slate
from service.ranking.slates.wanted import Wanted
from service.settings import KINDS
from service.store.catalogue.documents import Body
from service.store.log.codec import packed_context
from service.store.profiles.contexts import packed_entry
from service.store.profiles.history_reader import Histories
from service.store.profiles.history_record import columns, records
from service.training.data.reading import read

Kind = Literal["taste depends on the device", "noise", "device follows taste"]
WORLDS: tuple[Kind, ...] = ("taste depends on the device", "noise", "device follows taste")
DEVICES = ("phone", "tv", "desktop")
TASTES, ITEMS, EACH = 10, 600, 30
"""Tastes, items, and events of each user."""
BOUND, FACTOR = 0.3, 8.0
"""Share of the items that depend on a device, and how much likelier they are there."""
LEARNED = 0.9
"""Share of the time after which nothing is learned any longer."""
LEAST = -0.005
"""Least gain where contexts say nothing, as a share of the lists without one."""
BUDGET_S = 2.0
_SPAN_MS = 60 * 86_400_000


@dataclass(frozen=True)
class World:
    """Events in the order of time; arrays (n,)."""

    user: I64
    item: I64
    device: I64
    page: I64
    time_ms: I64
    n_users: int

    def context(self, event: int) -> dict[str, str]:
        return {"device": DEVICES[self.device[event]], "page": f"page{self.page[event]}"}

    @property
    def learned(self) -> int:
        """Return the number of events that are learned."""
        return int(np.searchsorted(self.time_ms, LEARNED * _SPAN_MS))

    def tests(self) -> Iterator[int]:
        """Yield the first event of each user after those, if it is on a new item."""
        taken = {*zip(self.user[: self.learned], self.item[: self.learned], strict=True)}
        met = set[int]()
        for at in range(self.learned, self.user.size):
            user = int(self.user[at])
            if user not in met and (user, int(self.item[at])) not in taken:
                yield at
            met.add(user)


def world(kind: Kind, n_users: int, seed: int) -> World:
    """Return a world that the seed determines."""
    rng = np.random.default_rng([seed, WORLDS.index(kind)])
    popular = 1.0 / np.arange(1, ITEMS + 1) ** 0.7
    of_taste = rng.integers(0, TASTES, ITEMS)
    bound = rng.random(ITEMS) < BOUND
    own = rng.integers(0, len(DEVICES), ITEMS)
    rows: list[Sequence[float]] = []
    for user in range(n_users):
        taste = int(rng.integers(TASTES))
        mostly = taste % len(DEVICES) if rng.random() < 0.7 else int(rng.integers(len(DEVICES)))
        uses = rng.dirichlet(np.ones(len(DEVICES)))
        left = popular * np.where(of_taste == taste, 20.0, 1.0)
        for time in np.sort(rng.random(EACH)) * _SPAN_MS:
            device = int(rng.choice(len(DEVICES), p=uses))
            likely = left
            if kind == "taste depends on the device":
                likely = left * np.where(bound, np.where(own == device, FACTOR, 1 / FACTOR), 1.0)
            elif kind == "device follows taste":
                device = mostly
            item = int(rng.choice(ITEMS, p=likely / likely.sum()))
            left[item] = 0.0
            rows.append((time, user, item, device, int(rng.integers(5))))
    time, of_user, item_ix, device_ix, page = np.array(sorted(rows)).T
    whole = (column.astype(np.int64) for column in (of_user, item_ix, device_ix, page, time))
    return World(*whole, n_users)


class Source:
    """The events that are learned, as the store would give them to a training."""

    def __init__(self, told: World) -> None:
        n = told.learned
        self.n_items, self.watermarks = ITEMS, [n]
        self._users = [str(user) for user in range(told.n_users)]
        order = np.argsort(told.user[:n], kind="stable")
        self._user_ix = told.user[order]
        kind = np.full(n, KINDS["purchase"].code, np.uint8)
        value = np.zeros(n, np.float32)
        self._records = records(told.item[order], value, told.time_ms[order], order + 1, kind)
        self._contexts = dict.fromkeys(self._users, b"")
        for at in range(n):
            entry = packed_entry(at + 1, packed_context(told.context(at)))
            self._contexts[str(told.user[at])] += entry

    def pages(self) -> Iterator[Histories]:
        none: I64 = np.empty(0, np.int64)
        yield Histories(self._users, self._user_ix, self._records, none, none)

    def documents(self, users: list[str]) -> list[Body]:
        return [{} for _ in users]

    def contexts(self, users: list[str]) -> list[bytes]:
        return [self._contexts[user] for user in users]

    def item_documents(self) -> Iterator[list[Body]]:
        yield [{} for _ in range(ITEMS)]

    def preferences(self, user: int) -> Preferences:
        return preferences(columns(self._records[self._user_ix == user]), MEANINGS)


@dataclass(frozen=True)
class Gains:
    """ndcg@10 of each tested user, (users,)."""

    without: F64
    """Trained without contexts."""
    asked_without: F64
    """Trained with contexts, of which the request says nothing."""
    here: F64
    """Trained with contexts, and asked with one."""
    chosen: bool
    """Whether the training found that contexts add."""


def gains(told: World) -> Gains:
    """Train on a world with and without its contexts, and measure the default lists."""
    source, tests = Source(told), list(told.tests())
    plain, aware = (_served(source, with_contexts=with_contexts) for with_contexts in (False, True))
    nowhere = [{}] * len(tests)
    where = [told.context(at) for at in tests]
    return Gains(
        without=_gains(plain, source, told, tests, nowhere),
        asked_without=_gains(aware, source, told, tests, nowhere),
        here=_gains(aware, source, told, tests, where),
        chosen=any(ranker.family.reads_context for ranker in aware.rankers),
    )


def _served(source: Source, *, with_contexts: bool) -> Lineup:
    data = read(
        source, MEANINGS, with_documents=False, with_order=True, with_contexts=with_contexts
    )
    return lineup(data, trained(data, BUDGET_S))


def _gains(
    line: Lineup,
    source: Source,
    told: World,
    tests: Sequence[int],
    where: Sequence[Mapping[str, str]],
) -> F64:
    allowed, found = np.ones(ITEMS, np.bool_), []
    for at, context in zip(tests, where, strict=True):
        known, item = source.preferences(int(told.user[at])), int(told.item[at])
        asker, pool = Asker(known, context=context), Pool(allowed, known.seen)
        picks = slate(line, asker, pool, Wanted(10), lambda items: [[] for _ in items]).picks
        items = [pick.item for pick in picks]
        found.append(ndcg10(items.index(item) + 1 if item in items else 0))
    return np.array(found)


def figures(kind: Kind, n_users: int, n_worlds: int) -> list[Figure]:
    """Measure some worlds of a kind, all their users together."""
    found = [gains(world(kind, n_users, seed)) for seed in range(n_worlds)]
    without, asked_without, here = (
        np.concatenate([getattr(one, name) for one in found])
        for name in ("without", "asked_without", "here")
    )
    depends = kind == WORLDS[0]
    chosen = f"chosen in {sum(one.chosen for one in found)} of {n_worlds}"
    return [
        Figure(kind, "ndcg@10 without contexts", float(without.mean())),
        Figure(kind, "ndcg@10 with the context", float(here.mean()), note=chosen),
        *_compared(kind, "beside none", here, without, bar=0.0 if depends else LEAST),
        *_compared(kind, "asked without one, beside none", asked_without, without, bar=LEAST),
    ]


def _compared(kind: str, what: str, ours: F64, others: F64, *, bar: float) -> list[Figure]:
    """Return the gain and the paired 95 % interval over users, as shares of the other figure."""
    gain, mean = paired_interval(ours, others, np.random.default_rng(0)), float(others.mean())
    note = f"95 % interval {gain.low / mean:+.4f} to {gain.high / mean:+.4f}"
    # where contexts matter, the whole interval must lie above 0
    value = gain.low if bar == 0.0 else gain.mean
    says = "gain, lower end" if bar == 0.0 else "gain"
    return [
        Figure(kind, f"{says}, {what}", value / mean, bar=bar, better="higher", note=note),
    ]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--worlds", type=int, default=3)
    parser.add_argument("--users", type=int, default=800)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    rows = [row for kind in WORLDS for row in figures(kind, options.users, options.worlds)]
    sys.exit(publish(rows, as_json=options.json, data="generated worlds"))


if __name__ == "__main__":
    main()
