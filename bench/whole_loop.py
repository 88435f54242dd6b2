"""The whole loop on ML-1M in order of time: 80 % imported, the rest streamed, retraining every 5 %.

    python -m bench.whole_loop [--every 10] [--json]

Every tenth arriving positive is ranked among all items its user has not rated, by each ranker with
the state just before the event: histories folded into the last trained models, the online rows, the
counters. "retrain only" serves the unchanged vectors of the last training. The mixture learns its
weights along the way, as the follower of a learner does.
"""

import argparse
import gzip
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from time import perf_counter

import numpy as np

from bench.data import FILES
from bench.report import Figure, publish
from core import popularity
from core.batch.fbgd import search as fbgd_search
from core.batch.fbgd.config import FbgdConfig
from core.batch.fbgd.model import Fbgd
from core.batch.ocmf import search as ocmf_search
from core.batch.ocmf.config import OcmfConfig
from core.batch.ocmf.model import Ocmf
from core.batch.preferences import Preferences, preference_rows, preferences
from core.batch.row_objective import RowObjective
from core.batch.shrinkage import choose_shrinkage
from core.counters import Counters
from core.gate import paired_interval
from core.interactions import Interactions
from core.kernels import scan
from core.meaning import EventMeanings, rating_sign
from core.mixture import List, combine
from core.mixture_weights import DEPTH, LENGTHS, Weights, length, ndcg10, reciprocal_rank
from core.online.config import OnlineConfig
from core.online.experts import DEFAULT
from core.online.model import OnlineModel
from core.online.tables import COUNT, Side
from core.rng import id_hashes, mix
from core.scale import FIVE_STARS, Scale
from core.search.search import Budget
from core.types import F32, F64, I32, I64

IMPORTED, RETRAINED = 0.8, 0.05
SEARCH_S = 15.0
TOGETHER = 16
"""Events learned between two evaluations of the online rows."""
HALF_LIFE_MS = 7 * 86_400_000.0
MIXED = ("fbgd", "ocmf", "online", "popular", "trending")
SECTION = "Whole loop, ML-1M"
READING = EventMeanings()


@dataclass(frozen=True)
class Stream:
    """All ratings in order of time; users are numbered from 0, items by first appearance."""

    user: I64
    item: I64
    rating: F64
    time_ms: I64
    positive: "np.ndarray"

    def __len__(self) -> int:
        return len(self.user)

    def part(self, first: int, end: int) -> "Stream":
        columns = (self.user, self.item, self.rating, self.time_ms, self.positive)
        return Stream(*(column[first:end] for column in columns))


def read() -> Stream:
    with gzip.open(FILES["ML-1M"], "rt") as lines:
        table = np.loadtxt(lines, delimiter=",", skiprows=1, usecols=(0, 1, 2, 3))
    table = table[np.argsort(table[:, 3], kind="stable")]
    _, first, item = np.unique(table[:, 1], return_index=True, return_inverse=True)
    return Stream(
        np.unique(table[:, 0], return_inverse=True)[1].astype(np.int64),
        np.argsort(np.argsort(first))[item].astype(np.int64),
        table[:, 2].copy(),
        (table[:, 3] * 1000).astype(np.int64),
        rating_sign(table[:, 2].astype(np.float32), FIVE_STARS) > 0,
    )


class Trained:
    """Result of one training: two models, and the users' vectors at that time."""

    def __init__(self, pairs: Interactions, settings: tuple[FbgdConfig, OcmfConfig]) -> None:
        known = np.flatnonzero(pairs.user_counts)
        rows = pairs.rows(known)
        self.fbgd: RowObjective = Fbgd(settings[0]).fit(rows).fitted
        self.ocmf: RowObjective = Ocmf(settings[1]).fit(rows).objective
        vectors = self.fbgd.vectors(rows)
        self.vectors: dict[int, F32] = dict(zip(known.tolist(), vectors, strict=True))


def settings_for(pairs: Interactions) -> tuple[FbgdConfig, OcmfConfig]:
    """Search the settings of both models on the positives."""
    liked = pairs if pairs.target is None else pairs.keep(pairs.target > 0)
    rows = liked.rows(np.flatnonzero(liked.user_counts))
    budget = Budget(perf_counter, SEARCH_S)
    fbgd = fbgd_search.search(rows, FbgdConfig(), budget)
    ocmf = ocmf_search.search(rows, OcmfConfig(loss="logistic"), budget)
    return with_shrinkage(pairs, fbgd, ocmf)


def with_shrinkage(
    pairs: Interactions, fbgd: FbgdConfig, ocmf: OcmfConfig
) -> tuple[FbgdConfig, OcmfConfig]:
    """Choose the shrinkage of short histories for both models."""
    known = pairs.rows(np.flatnonzero(pairs.user_counts))
    return (
        replace(fbgd, shrinkage=choose_shrinkage(known, lambda part: Fbgd(fbgd).fit(part).fitted)),
        replace(
            ocmf, shrinkage=choose_shrinkage(known, lambda part: Ocmf(ocmf).fit(part).row_objective)
        ),
    )


SettingsOf = Callable[[Interactions], tuple[FbgdConfig, OcmfConfig]]


class Online:
    """The online model and the counters, as the learner keeps them."""

    def __init__(self, n_users: int, n_items: int) -> None:
        self.model = OnlineModel(OnlineConfig(experts=DEFAULT, scale=Scale(1, 5)))
        self.users, self.items = self.model.user_table(n_users), self.model.item_table(n_items)
        for side, table in ((Side.USER, self.users), (Side.ITEM, self.items)):
            names = map(str, range(len(table.rows)))
            table.rows[:] = self.model.start(side, id_hashes(names))
        self.counts = Counters(HALF_LIFE_MS)

    def learn(self, part: Stream, first: int) -> None:
        sequence = np.arange(first + 1, first + 1 + len(part))
        self.model.learn(self.users, self.items, part.user, part.item, part.rating, sequence)
        weight = part.positive.astype(np.float64)
        self.counts.add(
            part.item[part.positive], weight[part.positive], part.time_ms[part.positive]
        )

    def scores(self, user: int) -> F32:
        items = self.model.parameters(self.items.rows)
        scores = self.model.scores(self.users.rows[user], items)
        return np.where(items[:, COUNT] > 0.0, scores, -np.inf).astype(np.float32)


class Loop:
    """Walks through the stream and collects ranks.

    ``ranks`` holds each ranker's ranks of the judged items, 0 beyond DEPTH.
    """

    def __init__(self, stream: Stream, every: int) -> None:
        self.stream, self.every = stream, every
        self.n_users, self.n_items = int(stream.user.max()) + 1, int(stream.item.max()) + 1
        self.online = Online(self.n_users, self.n_items)
        order = np.lexsort((np.arange(len(stream)), stream.user))
        ends = np.searchsorted(stream.user[order], np.arange(1, self.n_users + 1))
        self.events = np.split(order, ends[:-1])
        self.weights = Weights(dict.fromkeys(MIXED, 1.0 / len(MIXED)))
        self.ranks: dict[str, list[int]] = {
            name: [] for name in (*MIXED, "mixture", "retrain only")
        }
        self.users: list[int] = []
        self.history_sizes: list[int] = []

    def run(self, imported: float = IMPORTED, settings_of: SettingsOf | None = None) -> None:
        start, step = int(imported * len(self.stream)), int(RETRAINED * len(self.stream))
        self.online.learn(self.stream.part(0, start), 0)
        settings = (settings_of or settings_for)(self._pairs(start))
        for cut in range(start, len(self.stream), step):
            trained = Trained(self._pairs(cut), settings)
            for first in range(cut, min(cut + step, len(self.stream)), TOGETHER):
                end = min(first + TOGETHER, cut + step, len(self.stream))
                self._evaluate(first, end, trained)
                self.online.learn(self.stream.part(first, end), first)

    def _evaluate(self, first: int, end: int, trained: Trained) -> None:
        """Evaluate events that nothing has learned yet."""
        for event in self._sampled(first, end):
            self._judge(event, first, trained)

    def _pairs(self, cut: int) -> Interactions:
        past = self.stream.part(0, cut)
        pairs, _ = preference_rows(
            past.user,
            past.item,
            np.zeros(cut, np.uint8),
            past.rating.astype(np.float32),
            np.arange(cut),
            READING,
            n_users=self.n_users,
            n_items=self.n_items,
        )
        return pairs

    def _sampled(self, first: int, end: int) -> Iterator[int]:
        at = np.arange(first, end)
        drawn = mix(at.astype(np.uint64)) % np.uint64(self.every) == 0
        yield from at[drawn & self.stream.positive[first:end]].tolist()

    def _judge(self, event: int, before: int, trained: Trained) -> None:
        user, item = int(self.stream.user[event]), int(self.stream.item[event])
        known = self._preferences(user, before)
        lists = self._lists(user, known, trained)
        n_known = known.item_ix.size
        weight = self.weights.of(n_known)
        lists["mixture"] = combine([lists[n] for n in MIXED], [weight[n] for n in MIXED])
        vector = trained.vectors.get(user)
        lists["retrain only"] = (
            lists["popular"] if vector is None else _scanned(vector, trained.fbgd, known.seen)
        )
        for name, (ids, _) in lists.items():
            found = np.flatnonzero(ids[:DEPTH] == item)
            self.ranks[name].append(int(found[0]) + 1 if found.size else 0)
        self.users.append(user)
        self.history_sizes.append(n_known)
        gains = {name: reciprocal_rank(self.ranks[name][-1]) for name in MIXED}
        self.weights = self.weights.after(n_known, gains)

    def _preferences(self, user: int, before: int) -> Preferences:
        mine = self.events[user]
        mine = mine[: np.searchsorted(mine, before)]
        rating = self.stream.rating[mine].astype(np.float32)
        kind = np.zeros(mine.size, np.uint8)
        return preferences(self.stream.item[mine], kind, rating, mine, READING)

    def _lists(self, user: int, known: Preferences, trained: Trained) -> dict[str, List]:
        rows = self.online.counts.rows
        orders = (popularity.popular(rows), popularity.trending(rows, HALF_LIFE_MS))
        popular, trending = (_unseen(order, known.seen) for order in orders)
        folded = {
            name: _scanned(
                model.vector(known.item_ix, known.weight, known.target), model, known.seen
            )
            if known.item_ix.size
            else popular
            for name, model in (("fbgd", trained.fbgd), ("ocmf", trained.ocmf))
        }
        online = _best(self.online.scores(user), known.seen)
        return {**folded, "online": online, "popular": popular, "trending": trending}


def _scanned(vector: F32, model: RowObjective, seen: I32) -> List:
    ids, scores = np.empty(DEPTH, np.int32), np.empty(DEPTH, np.float32)
    scan.scan(vector, model.item_factors, seen, np.empty(0, np.bool_), ids, scores)
    return ids, scores


def _best(scores: F32, seen: I32) -> List:
    ids, best = np.empty(DEPTH, np.int32), np.empty(DEPTH, np.float32)
    scan.select(scores, seen, np.empty(0, np.bool_), ids, best)
    return ids, best


def _unseen(order: List, seen: I32) -> List:
    ids = order[0][: DEPTH + seen.size]
    kept = np.flatnonzero(~np.isin(ids, seen))[:DEPTH]
    return ids[kept], order[1][kept]


def figures(loop: Loop) -> list[Figure]:
    """Return each ranker's metrics, the mixture over the best, and fold-in over "retrain only"."""
    gain = {name: np.array([ndcg10(rank) for rank in ranks]) for name, ranks in loop.ranks.items()}
    note, shared = f"{len(loop.users)} positives", loop.weights.shared
    found = []
    for name, ranks in loop.ranks.items():
        mrr = float(np.mean([reciprocal_rank(rank) for rank in ranks]))
        weight = f", weight {shared[name]:.2f} at the end" if name in shared else ""
        found += [
            Figure(SECTION, f"{name}: ndcg@10", float(gain[name].mean()), note=note + weight),
            Figure(SECTION, f"{name}: MRR (0 beyond {DEPTH})", mrr),
        ]
    of = np.array([length(n) for n in loop.history_sizes])
    for least in LENGTHS:
        mine = {name: gains[of == least] for name, gains in gain.items()}
        weights = " ".join(f"{n} {w:.2f}" for n, w in loop.weights.of(least).items())
        what = f"from {least} preferences on, {_against_best(mine)[1]}"
        said = f"{np.count_nonzero(of == least)} positives; {weights}"
        found.append(Figure(SECTION, what, _against_best(mine)[0], note=said))
    rng = np.random.default_rng(0)
    ahead = paired_interval(*(_by_user(gain[n], loop.users) for n in ("fbgd", "retrain only")), rng)
    interval = f"{ahead.low:.4f} to {ahead.high:.4f}"
    return [
        *found,
        Figure(SECTION, _against_best(gain)[1], _against_best(gain)[0], bar=0.98, better="higher"),
        Figure(
            SECTION,
            "fold-in less retrain only, ndcg@10, low end of the paired 95 % interval over users",
            ahead.low,
            bar=0.0,
            better="higher",
            note=interval,
        ),
    ]


def _against_best(gain: Mapping[str, F64]) -> tuple[float, str]:
    """Return the mixture's gain over the best single ranker's, and a name for the ratio."""
    best = max(MIXED, key=lambda name: float(gain[name].mean()))
    what = f"mixture : best single ({best}), ndcg@10"
    return float(gain["mixture"].mean() / gain[best].mean()), what


def _by_user(gain: F64, user: list[int]) -> F64:
    """Return the mean gain of each user."""
    users, row = np.unique(user, return_inverse=True)
    mean: F64 = np.bincount(row, gain, users.size) / np.bincount(row)
    return mean


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--every", type=int, default=10, help="evaluate one positive in this many")
    parser.add_argument("--json", action="store_true")
    asked = parser.parse_args()
    loop = Loop(read(), asked.every)
    loop.run()
    return publish(figures(loop), as_json=asked.json, data="ML-1M")


if __name__ == "__main__":
    sys.exit(main())
