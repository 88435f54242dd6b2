"""Ranking quality for new users after their first events, on MovieLens 1M in order of time.

    python -m bench.first_events [--json]

The stream is that of ``bench.whole_loop`` from 60 % on, with default settings: models are retrained
every 5 %, and every tenth positive of all users updates the weights of the mixture. Users whose
first event comes after 70 % are new. After n of a user's events, each ranker lists ten items from
what it knows by then. The lists are compared with the next item the user likes, and with all items
the user likes later. Users without an event that a model can use get the most popular items.
"""

import argparse
import sys
from collections import defaultdict
from collections.abc import Iterator

import numpy as np

from bench import data
from bench.report import Figure, publish
from bench.whole_loop import MIXED, Loop, Stream, Trained, read, with_shrinkage
from core.batch.fbgd.config import FbgdConfig
from core.batch.ocmf.config import OcmfConfig
from core.gate import paired_interval
from core.interactions import from_pairs
from core.mixture import combine
from core.ranking_metrics import hits, ndcg
from core.types import F64, I32, I64

SECTION = "First events, ML-1M"
IMPORTED, KNOWN = 0.6, 0.7
EVERY = 10
EVENTS = (1, 2, 3, 5, 10, 20, 50)
DEPTH = 10
COMPARED = ("mixture", "one set", "fbgd", "popular", "trending")
"""Rankers to compare.

"mixture" is the mixture as served; "one set" uses the weights shared by all history lengths.
"""


class FirstEvents(Loop):
    """Collects the lists that new users would get after given numbers of events."""

    def __init__(self, stream: Stream) -> None:
        super().__init__(stream, EVERY)
        self._moments: dict[int, int] = {
            int(mine[n]): n
            for mine in self.events
            for n in EVENTS
            if mine[0] >= KNOWN * len(stream) and mine.size > n
        }
        self._users: dict[int, list[int]] = defaultdict(list)
        self._lists_of: dict[tuple[int, str], list[I32]] = defaultdict(list)

    def _evaluate(self, first: int, end: int, trained: Trained) -> None:
        super()._evaluate(first, end, trained)
        for event in range(first, end):
            if event in self._moments:
                self._show(event, self._moments[event], trained)

    def _show(self, event: int, n: int, trained: Trained) -> None:
        user = int(self.stream.user[event])
        if not self._likes(user, n).size:
            return
        known = self._preferences(user, event)
        lists = self._lists(user, known, trained)
        rankers = [lists[name] for name in MIXED]
        by_length, of_all = self.weights.of(known.item_ix.size), self.weights.shared
        for name, weight in (("mixture", by_length), ("one set", of_all)):
            mixed = combine(rankers, [weight[ranker] for ranker in MIXED])
            lists[name] = mixed if known.item_ix.size else lists["popular"]
        self._users[n].append(user)
        for name in COMPARED:
            self._lists_of[n, name].append(lists[name][0][:DEPTH])

    def _likes(self, user: int, n: int) -> I64:
        later = self.events[user][n:]
        return later[self.stream.positive[later]]

    def figures(self, n: int) -> Iterator[Figure]:
        """Yield the gain of the mixture over popularity after n events.

        One figure is for the next liked item, one for all items liked later.
        """
        users = self._users[n]
        for what, most in (("the next liked item", 1), ("all liked later", None)):
            wanted = [self._likes(user, n)[:most] for user in users]
            of = np.repeat(np.arange(len(users)), [one.size for one in wanted])
            held = from_pairs(
                of,
                self.stream.item[np.concatenate(wanted)],
                n_users=len(users),
                n_items=self.n_items,
            )
            gain: dict[str, F64] = {
                name: ndcg(hits(np.array(self._lists_of[n, name]), held), DEPTH)
                for name in COMPARED
            }
            ahead = {
                name: paired_interval(gain["mixture"], gain[name], np.random.default_rng(0))
                for name in COMPARED[1:]
            }
            means = ", ".join(f"{name} {gain[name].mean():.4f}" for name in COMPARED)
            less = ", ".join(
                f"{name} {one.low:+.4f} to {one.high:+.4f}" for name, one in ahead.items()
            )
            yield Figure(
                SECTION,
                f"after {n}, {what}: mixture less popular, ndcg@10, low end of the 95 % interval",
                ahead["popular"].low,
                bar=0.0,
                better="higher",
                note=f"{means}; mixture less {less}; {len(users)} users",
            )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    data.require("ML-1M")
    loop = FirstEvents(read())
    loop.run(
        IMPORTED, lambda pairs: with_shrinkage(pairs, FbgdConfig(), OcmfConfig(loss="logistic"))
    )
    found = [figure for n in EVENTS for figure in loop.figures(n)]
    sys.exit(publish(found, as_json=given.json, data="ML-1M"))


if __name__ == "__main__":
    main()
