"""New items on ML-1M: what exploration gives them, and what it costs the others.

    python -m bench.new_items [--data ML-1M] [--users 600] [--budget-s 0] [--json]

Every twentieth film is put aside with all of its ratings and added again with its genres alone.
Lists are made by the code that serves: fBGD, neighbours, next and popular under a stack, with the
default settings of each. Today's lists, those without exploration, stand beside in the same run.
"To the top 100" are the pairs of a user and a new film that this user rates 4 or 5 later, and that
is among the hundred shown. Others: each user's last rating of another film is predicted.

Then each film gets its first five ratings. Its rank for later fans, among all films, by what is
learned at once (next and popular count, trained models fold the films in) is compared with that
after a new training of all models. The same on data without categories: --data.
"""

import argparse
import csv
import gzip
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from bench import data
from bench.report import Figure, publish
from core.batch.content.encoder import Described, DocumentEncoder
from core.batch.content.encoder_fit import encoder_of
from core.batch.takers import Takers
from core.gate import paired_interval
from core.mixture_weights import Weights
from core.stack.arms import STACK, Arms
from core.stack.logit import Logit
from core.steps import Steps, steps_of
from core.types import F64, I32, I64
from service.evaluation.questions import Part, Questions
from service.evaluation.rankers import asker_of, settled
from service.evaluation.stacking import learned
from service.ranking.lineup import Lineup
from service.ranking.pool import Pool
from service.ranking.ranker import Ranker
from service.ranking.slates.exploration import Exploration, NewItems
from service.ranking.slates.new_items import LookAlikes, Said, new_items
from service.ranking.slates.slate import slate
from service.ranking.slates.wanted import Wanted
from service.ranking.strategies import NEXT, POPULAR, Strategy
from service.settings import Settings
from service.training.data.material import Material

SECTION = "New items, ML-1M"
FILES = {
    "ML-1M": data.FILES["ML-1M"],
    "ML-100K": data.FILES["ML-100K"],
    "FilmTrust": data.FILES["FilmTrust"],
    "Last.fm": data.FOLDER / "lastfm-hetrec" / "user_artists.csv.gz",
}
"""Last.fm counts listens and has no times, and FilmTrust has none: their order is drawn."""
FAMILIES_USED = ("fbgd", "neighbours", NEXT, POPULAR)
EVERY, SHOWN, HOURS, FIRST = 20, 100, 8, 5
SHARES = (Settings.model_fields["exploration_share"].default, 0.05, 0.1)
FANS = 5
"""Most later fans of a film whose lists are made."""
CHOSEN_BY = 3_000
"""Questions by which the stack is learned."""
LIKED = {"ML-1M": 4.0, "ML-100K": 4.0, "FilmTrust": 2.9}
"""Lowest rating of a fan; what was listened to was liked."""


@dataclass(frozen=True)
class World:
    """All ratings in the order of time; films are numbered so that the new ones come last."""

    user: I64
    item: I64
    liked: "np.typing.NDArray[np.bool_]"
    n_items: int
    n_old: int
    genres: Said
    bodies: Sequence[Mapping[str, Any]] = ()
    """What is said of each film; empty for data without documents."""

    @property
    def old(self) -> "np.typing.NDArray[np.bool_]":
        """Return the ratings of films that are not put aside."""
        return self.item < self.n_old

    def last(self, known: I64) -> tuple[I64, I64]:
        """Return the last of these ratings of each user, and the others."""
        order = known[np.argsort(self.user[known], kind="stable")]
        ends = np.append(self.user[order][1:] != self.user[order][:-1], True)
        return np.sort(order[ends]), np.sort(order[~ends])

    def steps(self, rows: I64) -> Steps:
        """Return some ratings in order, with the films up to the last of them."""
        n_users, n_items = int(self.user.max()) + 1, max(self.n_old, int(self.item[rows].max()) + 1)
        return steps_of(self.user[rows], self.item[rows], rows, n_users=n_users, n_items=n_items)

    def material(self, rows: I64) -> Material:
        """Return what a training learns from some ratings."""
        steps = self.steps(rows)
        pairs = Part(steps, _last_of(steps)).pairs
        if not self.bodies:
            return Material(pairs, steps=steps)
        described = self._encoder.transform(self.bodies[: steps.n_items])
        return Material(pairs, steps=steps, described=Described(self._encoder, described))

    @cached_property
    def _encoder(self) -> DocumentEncoder:
        return encoder_of(self.bodies[: self.n_old])

    def new(self, rows: I64, placing: Ranker | None = None) -> NewItems:
        """Return the films that are new after some ratings, and what is said of all."""
        events = np.bincount(self.item[rows], self.liked[rows], self.n_items)
        allowed = np.ones(self.n_items, np.bool_)
        new = new_items(self.genres, allowed, events, np.zeros(0), placing)
        return LookAlikes().joined(new, events)

    def past(self, rows: I64) -> dict[int, I32]:
        """Return the items of each user in some ratings, oldest first."""
        steps = self.steps(rows)
        return dict(enumerate(np.split(steps.item_ix, steps.user_ptr[1:-1])))


def read(name: str = "ML-1M", seed: int = 0, n_new: int | None = None) -> World:
    """Return the world with some films put aside, every twentieth unless their number is given."""
    with gzip.open(FILES[name], "rt") as lines:
        columns = next(lines).strip().split(",")
        table = np.loadtxt(lines, delimiter=",")
    rng = np.random.default_rng(seed)
    films, item = np.unique(table[:, 1].astype(np.int64), return_inverse=True)
    shuffled = rng.permutation(films.size)
    has_times = "timestamp" in columns
    time = table[:, columns.index("timestamp")] if has_times else rng.permutation(len(table))
    order = np.argsort(time, kind="stable")
    n_new = films.size // EVERY if n_new is None else n_new
    is_new = np.zeros(films.size, np.bool_)
    is_new[shuffled[:n_new]] = True
    number = np.empty(films.size, np.int64)
    number[np.argsort(is_new, kind="stable")] = np.arange(films.size)
    liked = table[:, 2] >= LIKED.get(name, 0.0)
    said = documents() if name == "ML-1M" else {}
    numbers = dict(zip(films.tolist(), number.tolist(), strict=True))
    return World(
        user=np.unique(table[order, 0], return_inverse=True)[1].astype(np.int64),
        item=number[item[order]],
        liked=liked[order],
        n_items=films.size,
        n_old=films.size - n_new,
        genres=_genres(numbers, said)
        if said
        else Said(number[:0], number[:0].astype(np.int32), 0, number[:0]),
        bodies=[said[film] for film in sorted(numbers, key=numbers.__getitem__)] if said else (),
    )


def documents() -> dict[int, dict[str, Any]]:
    """Return what is said of all films, by id, as somebody would write it."""
    with gzip.open(data.FOLDER / "ml-1m" / "movies.csv.gz", "rt") as lines:
        return {
            int(row["item"]): {
                "categories": row["genres"].split("|"),
                "features": {
                    "title": row["title"].rpartition(" (")[0],
                    "year": int(row["title"].rstrip()[-5:-1]),
                },
            }
            for row in csv.DictReader(lines)
        }


def _genres(number: dict[int, int], said: Mapping[int, Mapping[str, Any]]) -> Said:
    names: dict[str, int] = {}
    pairs = [
        (number[film], names.setdefault(genre, len(names)))
        for film in said
        if film in number
        for genre in said[film]["categories"]
    ]
    item, column = np.array(sorted(pairs)).T
    opens = np.full(len(number), np.iinfo(np.int64).min)
    return Said(item, column.astype(np.int32), len(names), opens)


class Service:
    """The rankers as they serve after learning some ratings, under a stack."""

    def __init__(self, world: World, rankers: Sequence[Ranker], logit: Logit) -> None:
        self._allowed = np.ones(world.n_items, np.bool_)
        self._lineup = Lineup(rankers, Weights(), Arms(logit, Weights({STACK: 1.0})))

    def shown(self, past: I32, k: int, exploration: Exploration | None = None) -> I64:
        """Return the items of the slate of somebody with these past items."""
        asker = asker_of(past)
        pool = Pool(self._allowed, asker.preferences.seen)
        made = slate(self._lineup, asker, pool, Wanted(k), _none, exploration=exploration)
        return np.array([pick.item for pick in made.picks], np.int64)


def _none(items: Iterable[int]) -> list[list[str]]:
    return [[] for _ in items]


def _last_of(steps: Steps) -> Questions:
    ends = steps.user_ptr[1:]
    asked = np.diff(steps.user_ptr) > 1
    return Questions(steps.item_ix, steps.user_ptr[:-1][asked], ends[asked] - 1)


class Trial:
    """The world with its trained models, and what is asked of them."""

    def __init__(
        self,
        world: World,
        n_users: int,
        budget_s: float = 0.0,
        families: Sequence[Strategy] = FAMILIES_USED,
    ) -> None:
        self.world = world
        rng = np.random.default_rng(1)
        self.test, self.known = world.last(np.flatnonzero(world.old))
        _, before = world.last(self.known)
        material = world.material(before)
        self._settled = settled(families, material, budget_s, 0, lambda share: None)
        questions = _last_of(world.steps(self.known))
        some = np.sort(rng.permutation(len(questions))[:CHOSEN_BY])
        self._asked = self.rankers(before), questions.keep(some)
        self.logit = self.learned(families)
        self.trained = self.rankers(self.known)
        self.past = world.past(self.known)
        users = np.unique(world.user[self.test])
        self.users = np.sort(rng.permutation(users)[:n_users])

    def learned(self, families: Sequence[Strategy]) -> Logit:
        """Return the stack of some families, fitted to each user's last rating but one."""
        rankers, questions = self._asked
        some = [one for one in rankers if one.strategy in families]
        return learned(some, questions, self.world.n_old, repeats=False, seed=0).logit

    def rankers(self, rows: I64) -> list[Ranker]:
        """Return all rankers after a training by some ratings."""
        material = self.world.material(rows)
        return [one.ranker(material) for one in self._settled]

    def counted(self, rows: I64) -> list[Ranker]:
        """Return the trained rankers as they are, and the counted ones after some ratings."""
        material = self.world.material(rows)
        return [
            old if one.family.trained else one.ranker(material)
            for one, old in zip(self._settled, self.trained, strict=True)
        ]

    def placing(self) -> Ranker:
        """Return content, which has read the documents of the films put aside; it is not mixed."""
        world = self.world
        [content] = settled(("content",), world.material(self.known), 0.0, 0, lambda share: None)
        later = dict(enumerate(world.bodies[world.n_old :], world.n_old))
        return content.ranker(world.material(self.known)).with_later(later)

    def folded(self, rows: I64, placing: Ranker | None = None) -> list[Ranker]:
        """Return the rankers after some ratings as they serve before the next training."""
        past, old = self.world.past(rows), self.world.n_old
        takers = Takers.of_rows(
            [asker_of(own).preferences for own in past.values() if (own >= old).any()]
        )
        return [one.folding_in(takers, placing) for one in self.counted(rows)]


def exploring(trial: Trial) -> Iterator[Figure]:
    """Yield what several shares of exploration give new films and cost the others."""
    world = trial.world
    new = world.new(trial.known)
    service = Service(world, trial.trained, trial.logit)
    later = world.liked & ~world.old & np.isin(world.user, trial.users)
    fans = {user: world.item[later & (world.user == user)] for user in trial.users.tolist()}
    test = dict(zip(world.user[trial.test].tolist(), world.item[trial.test].tolist(), strict=True))
    n_pairs = sum(own.size for own in fans.values())
    today = _gains(service, trial, fans, test, None)
    yield Figure(
        SECTION,
        f"today: pairs of a user and a liked new film to the top {SHOWN}",
        today[1].sum() / n_pairs,
        note=f"{today[1].sum():.0f} of {n_pairs}; {new.items.size} films are new, "
        f"{world.n_items - world.n_old} of them without a rating; ndcg@10 {today[0].mean():.4f}",
    )
    for share in SHARES:
        rounds = [_gains(service, trial, fans, test, (new, share, hour)) for hour in range(HOURS)]
        ndcg, hits, shown = (np.mean([one[at] for one in rounds], axis=0) for at in range(3))
        cost = paired_interval(ndcg, today[0], np.random.default_rng(0))
        yield Figure(
            SECTION,
            f"share {share:.2f}: pairs to the top {SHOWN}, times as often as today",
            hits.sum() / max(today[1].sum(), 1.0),
            bar=5.0 if share == SHARES[0] else None,
            better="higher",
            note=f"{hits.sum():.1f} of {n_pairs} in each hour, {hits.sum() / n_pairs:.4f}; "
            "today counted as 1 if it is 0",
        )
        by_chance = n_pairs / trial.users.size / (world.n_items - world.n_old)
        yield Figure(
            SECTION,
            f"share {share:.2f}: showings of a film put aside that meet a later fan, times as many "
            "as by chance",
            hits.sum() / shown.sum() / by_chance,
            note=f"{hits.sum() / shown.sum():.4f}, by chance {by_chance:.4f}",
        )
        lost = 1.0 - ndcg.mean() / today[0].mean()
        yield Figure(
            SECTION,
            f"share {share:.2f}: loss of ndcg@10 of the others",
            100 * lost,
            "%",
            bar=1.0 if share == SHARES[0] else None,
            note=f"{ndcg.mean():.4f}; difference {cost.low:+.4f} to {cost.high:+.4f}",
        )


def _gains(
    service: Service,
    trial: Trial,
    fans: Mapping[int, I64],
    test: Mapping[int, int],
    draw: tuple[NewItems, float, int] | None,
) -> tuple[F64, F64, F64]:
    """Return each user's ndcg@10 of the test, and how many films the list shows.

    The first count is of those put aside that the user likes later, the second of all put aside.
    """
    ndcg, hits, new = (np.zeros(trial.users.size) for _ in range(3))
    for at, user in enumerate(trial.users.tolist()):
        exploration = None if draw is None else Exploration(draw[0], draw[1], 0, str(user), draw[2])
        shown = service.shown(trial.past[user], SHOWN, exploration)
        ndcg[at] = _gain(shown, test[user])
        hits[at] = np.isin(shown, fans[user]).sum()
        new[at] = np.count_nonzero(shown >= trial.world.n_old)
    return ndcg, hits, new


def after_first_events(trial: Trial, name: str) -> Iterator[Figure]:
    """Yield the ranks of new films after their first ratings, untrained and trained."""
    world, section = trial.world, f"New items, {name}"
    first, fans = _first_and_fans(trial)
    rows = np.sort(np.concatenate([trial.known, first]))
    past = world.past(rows)
    services = {
        "before": Service(world, trial.trained, trial.logit),
        "counted alone": Service(world, trial.counted(rows), trial.logit),
        "at once": Service(world, trial.folded(rows), trial.logit),
        **_with_documents(trial, rows),
        "after a training": Service(world, trial.rankers(rows), trial.logit),
    }
    ranks = {
        name: np.array(
            [_rank(service.shown(past[user], world.n_items), item) for user, item in fans]
        )
        for name, service in services.items()
    }
    trained = ranks["after a training"]
    for state, found in ranks.items():
        yield Figure(
            section,
            f"after {FIRST} ratings, {state}: mean rank of a new film for a later fan",
            float(found.mean()),
            note=f"median {np.median(found):.0f}, to the top {SHOWN}: "
            f"{np.mean(found <= SHOWN):.3f}; {len(fans)} pairs; correlation with the ranks after a "
            f"training {np.corrcoef(found, trained)[0, 1]:.2f}",
        )
    yield Figure(
        section,
        f"after {FIRST} ratings: mean rank at once, of that after a training",
        float(ranks["at once"].mean() / trained.mean()),
        bar=1.1,
    )
    at_once = [name for name in services if name.startswith("at once")]
    yield _cost_to_others(trial, past, services["counted alone"], services[at_once[-1]], section)


def _with_documents(trial: Trial, rows: I64) -> dict[str, Service]:
    """Return the service where what is said of a new film is where it begins, if anything is."""
    if not trial.world.bodies:
        return {}
    folded = trial.folded(rows, trial.placing())
    return {"at once, with its document": Service(trial.world, folded, trial.logit)}


def _cost_to_others(
    trial: Trial, past: Mapping[int, I32], alone: Service, folded: Service, section: str
) -> Figure:
    """Return what ndcg@10 of other films loses by new films that are ranked at once."""
    test = zip(trial.world.user[trial.test].tolist(), trial.world.item[trial.test], strict=True)
    chosen = {*trial.users.tolist()}
    asked = [(past[user], item) for user, item in test if user in chosen]
    before, after = (
        np.array([_gain(service.shown(own, 10), item) for own, item in asked])
        for service in (alone, folded)
    )
    cost = paired_interval(after, before, np.random.default_rng(0))
    return Figure(
        section,
        f"after {FIRST} ratings: loss of ndcg@10 of the others by new films that rank at once",
        100 * (1.0 - after.mean() / before.mean()),
        "%",
        bar=1.0,
        note=f"{after.mean():.4f}; difference {cost.low:+.4f} to {cost.high:+.4f}",
    )


def _gain(shown: I64, item: int) -> float:
    rank = np.flatnonzero(shown[:10] == item)
    return float(1.0 / np.log2(rank[0] + 2.0)) if rank.size else 0.0


def _first_and_fans(trial: Trial) -> tuple[I64, list[tuple[int, int]]]:
    """Return the first ratings of each new film that has more, and pairs of its later fans."""
    world, rng = trial.world, np.random.default_rng(2)
    first: list[I64] = []
    fans: list[tuple[int, int]] = []
    for item in range(world.n_old, world.n_items):
        own = np.flatnonzero(world.item == item)
        later = own[FIRST:][world.liked[own[FIRST:]]]
        if later.size:
            first.append(own[:FIRST])
            some = rng.permutation(world.user[later])[:FANS]
            fans += [(user, item) for user in some.tolist()]
    return np.concatenate(first), fans


def _rank(shown: I64, item: int) -> int:
    """Return the place of an item from 1, in a list of all items that somebody has not seen."""
    return int(np.flatnonzero(shown == item)[0]) + 1


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--users", type=int, default=600, help="users whose lists are made")
    parser.add_argument("--budget-s", type=float, default=0.0, help="seconds to search settings")
    parser.add_argument("--data", choices=FILES, default="ML-1M")
    parser.add_argument("--json", action="store_true")
    asked = parser.parse_args()
    trial = Trial(read(asked.data), asked.users, asked.budget_s)
    # only these films have categories here, by which new items are found
    found = [*exploring(trial)] if asked.data == "ML-1M" else []
    found += after_first_events(trial, asked.data)
    sys.exit(publish(found, as_json=asked.json, data=asked.data))


if __name__ == "__main__":
    main()
