"""Small shops in one process: default lists beside popularity and beside who knows the tastes.

    python -m bench.small_shops [--worlds 20] [--json]

Random worlds of 40 to 120 users, 24 to 60 items and two or three tastes, with views, clicks and
purchases, views alone, or ratings; users keep to their taste in 75 to 98 % of cases. Each world is
trained and its lists are made by the code that serves, without a store; then each user's last item
is looked for. The same for the world of 80 users and 36 items with other seeds.

The ceiling is the list of somebody who knows each user's taste, each item's chance, and that nobody
takes an item twice. What can be learned is the list of somebody who knows the law of the world: the
taste of each item, and how loyal users are to theirs. Whose taste is which, and which items are
frequent, is learned from the events. Takes some seconds a world.
"""

import argparse
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import nullcontext
from dataclasses import replace
from datetime import datetime
from time import process_time
from types import SimpleNamespace
from typing import cast

import numpy as np

from bench.report import Figure, publish
from bench.small_worlds import Kinds, SmallWorld, Told
from core.batch.preferences import Preferences, preferences
from core.counters import Counters
from core.errors import CoreError
from core.meaning import EventMeanings
from core.mixture_weights import ndcg10
from core.popularity import popular
from core.scale import FIVE_STARS
from core.search.search import Budget
from core.types import F64, I64
from service import configs
from service.learning.following.learned_weights import LearnedWeights, TrainedModel
from service.ranking.asker import Asker
from service.ranking.families import FAMILIES
from service.ranking.lineup import Lineup
from service.ranking.pool import Pool
from service.ranking.ranker import Ranker
from service.ranking.slates.exploration import Exploration, NewItems
from service.ranking.slates.new_items import LookAlikes, Said, new_items
from service.ranking.slates.slate import slate
from service.ranking.slates.wanted import Wanted
from service.ranking.strategies import POPULAR, Strategy
from service.ranking.untrained.everybody import Orders, SharedList
from service.ranking.untrained.learned import LearnedState
from service.serving.copies.new_items import known_events
from service.settings import KINDS, Settings
from service.store.catalogue.documents import Body
from service.store.jobs.job import TrainingOrder, queued
from service.store.models.records import LEAD
from service.store.models.registry import Registry
from service.store.profiles.history_reader import Histories
from service.store.profiles.history_record import columns, records
from service.training.all_families.candidates import Tried
from service.training.all_families.foretelling import first_stack
from service.training.all_families.settled import COUNTED, ranker_of
from service.training.all_families.weighing import Fitted, Weighed, weigh
from service.training.data.dataset import Dataset
from service.training.data.reading import read
from service.training.model_training import ModelTraining
from service.training.orders import family_of, recipes_of
from service.training.reporter import Reporter

BUDGET_S = 0.3
"""Seconds of the processor for the search of all families, so that a busy machine finds as much."""
MEANINGS = EventMeanings(configs.kind_table(Settings()), FIVE_STARS)
JOB = "first"
_NOBODY = cast("Registry", SimpleNamespace(active=dict, pins=dict))
_SILENT = cast(
    "Reporter", SimpleNamespace(share=lambda share: None, stage=lambda *_, **__: nullcontext())
)


class Source:
    """The histories and documents of a world, as the store would give them to a training."""

    def __init__(self, world: SmallWorld, told: Told) -> None:
        self._users, self._bodies = world.users, world.documents()
        self.n_items, self.watermarks = world.n_items, [len(told.events)]
        self.kinds = (np.arange(world.n_items) % world.n_tastes).astype(np.int32)
        user = {name: at for at, name in enumerate(world.users)}
        item = {body["item"]: at for at, body in enumerate(self._bodies)}
        rows = [
            (
                user[event["user"]],
                item[event["item"]],
                event.get("rating", 0.0),
                1_000 * datetime.fromisoformat(event["timestamp"]).timestamp(),
                KINDS[event["kind"]].code if "kind" in event else 0,
            )
            for event in told.events
        ]
        table = np.array(rows)
        self.counters = Counters(3_600_000 * Settings().trending_half_life_h)
        weight = MEANINGS.evidence(table[:, 4].astype(np.uint8), table[:, 2].astype(np.float32))
        self.counters.add(table[:, 1].astype(np.int64), weight, table[:, 3].astype(np.int64))
        # the records of a user lie together, in the order of the events
        order = np.argsort(table[:, 0], kind="stable")
        of_user, items, value, time_ms, kind = table[order].T
        self._user_ix = of_user.astype(np.int64)
        integers = (items.astype(np.int64), value, time_ms.astype(np.int64), order + 1)
        self._records = records(*integers, kind.astype(np.uint8))

    def pages(self) -> Iterator[Histories]:
        none: I64 = np.empty(0, np.int64)
        yield Histories(self._users, self._user_ix, self._records, none, none)

    def documents(self, users: list[str]) -> list[Body]:
        return [{} for _ in users]

    def contexts(self, users: list[str]) -> list[bytes]:
        return [b"" for _ in users]

    def item_documents(self) -> Iterator[list[Body]]:
        yield cast("list[Body]", self._bodies)

    def takers(self) -> I64:
        """Return how many users had each item, (items,)."""
        pairs = np.unique(self._user_ix * self.n_items + self._records["item"])
        return np.bincount(pairs % self.n_items, minlength=self.n_items)

    def taken(self, user: int) -> I64:
        """Return the items that a user had."""
        return np.unique(self._records["item"][self._user_ix == user]).astype(np.int64)

    def preferences(self, user: int) -> Preferences:
        own = self._records[self._user_ix == user]
        return preferences(columns(own), MEANINGS)


def trained(data: Dataset, budget_s: float) -> Weighed:
    """Search, fit and weigh all families as an order of all of them does."""
    job = queued(TrainingOrder(None, {}, budget_s, "bench", "order"), 0)
    models = [
        model
        for model in reversed(recipes_of(None))
        if not (family_of(model).reads_user_features or family_of(model).predicts_stars)
    ]
    found: list[Fitted] = []
    for model in models:
        training = ModelTraining(_NOBODY, 0, replace(job, model=model), model, _SILENT)
        own = training.recipe.held_out(data.read_by(training.family))
        try:
            config = training.search(own, Budget(process_time, budget_s / len(models)))
            fitted = training.fit(own, config)
        except CoreError:
            continue
        tried = Tried(model, training.family.strategy, serves=False)
        found.append(Fitted(training, tried, own, config, fitted))
    return weigh(data, found, 0, serves=False, on_share=lambda share: None)


def lineup(data: Dataset, found: Weighed, counters: Counters | None = None) -> Lineup:
    """Return what serves once the follower has read what the training foretells.

    Without counters popularity is counted as in a training.
    """
    rankers: list[Ranker] = []
    models: dict[str, TrainedModel] = {}
    for one in found.wanted:
        judged = one.training.judge(one.data, one.model, one.config)
        model = one.training.recipe.fit(one.data.now, one.config, previous=one.model)
        ranker = ranker_of(one.training.family, one.training.recipe, model)
        trusted = one.training.family.trusted
        ranker.only_places = one.tried.only_places
        models[ranker.strategy] = TrainedModel(ranker.version, judged.metrics.get(LEAD), trusted)
        rankers.append(ranker)
    counted = {name: made(FAMILIES[name], data.now) for name, made in COUNTED.items()}
    if counters is not None:
        counted[POPULAR] = SharedList(FAMILIES[POPULAR], popular(counters.rows), {})
    learned = LearnedWeights(None)
    learned.follow(models, {name: one.version for name, one in counted.items()})
    learned.foretold(first_stack(JOB, found.stack, models))
    return Lineup([*rankers, *counted.values()], learned.weights, learned.arms)


def gains(
    line: Lineup, source: Source, held: Mapping[int, int], model: Strategy | None = None
) -> F64:
    """Return ndcg@10 of each user's list for the held-out item, (users,)."""
    allowed, found = np.ones(source.n_items, np.bool_), []
    new, share = _new_items(line, source), Settings().exploration_share
    for user, item in held.items():
        known = source.preferences(user)
        pool, wanted = Pool(allowed, known.seen), Wanted(10, model=model)
        explores = Exploration(new, share, seed=0, who=str(user)) if new.items.size else None
        made = slate(line, Asker(known), pool, wanted, _none, exploration=explores)
        found.append(_gain([pick.item for pick in made.picks], item))
    return np.array(found)


def _new_items(line: Lineup, source: Source) -> NewItems:
    """Return the items that count as new, as an api process finds them."""
    placing = next((one for one in line.models.values() if one.family.places_items), None)
    events = known_events(Orders(popular(source.counters.rows)), LearnedState(), placing)
    n = source.n_items
    said = Said(np.arange(n), source.kinds, int(source.kinds.max()) + 1, np.zeros(n, np.int64))
    allowed, never = np.ones(n, np.bool_), np.zeros(0)
    return LookAlikes().joined(new_items(said, allowed, events, never, placing), events)


def ceiling(world: SmallWorld, source: Source, held: Mapping[int, int]) -> F64:
    """Return ndcg@10 of who knows tastes, chances, and that nothing is taken twice, (users,)."""
    found = []
    for user, item in held.items():
        likely = world.chances(user % world.n_tastes)
        likely[source.taken(user)] = 0.0
        found.append(_gain(np.argsort(-likely, kind="stable")[:10].tolist(), item))
    return np.array(found)


def learnable(world: SmallWorld, source: Source, held: Mapping[int, int]) -> F64:
    """Return ndcg@10 of who knows the law of the world, and learns from its events, (users,).

    Equation   P(item) = sum over tastes t of P(t | items of the user) P(taste of the item | t) s,
               s = (1 + takers of the item) / (sum of the same over all items of its taste)
    """
    tastes, of_item = range(world.n_tastes), np.arange(source.n_items) % world.n_tastes
    loyal = np.array([[world.share_of(of, by) for of in tastes] for by in tastes])
    takers = 1.0 + source.takers()
    share = takers / np.bincount(of_item, takers)[of_item]
    found = []
    for user, item in held.items():
        own = source.taken(user)
        mine = np.exp(np.log(loyal)[:, of_item[own]].sum(axis=1))
        likely = (mine @ loyal / mine.sum())[of_item] * share
        likely[own] = 0.0
        found.append(_gain(np.argsort(-likely, kind="stable")[:10].tolist(), item))
    return np.array(found)


def _gain(items: list[int], item: int) -> float:
    return ndcg10(items.index(item) + 1 if item in items else 0)


def _none(items: Iterable[int]) -> list[list[str]]:
    return [[] for _ in items]


def random_world(seed: int) -> SmallWorld:
    """Return one of many shops."""
    rng = np.random.default_rng([seed, 91])
    kinds: list[Kinds] = ["mixed", "mixed", "views", "ratings"]
    return SmallWorld(
        n_users=int(rng.integers(40, 121)),
        n_items=int(rng.integers(24, 61)),
        n_tastes=int(rng.integers(2, 4)),
        kinds=kinds[int(rng.integers(len(kinds)))],
        each=float(rng.uniform(4.0, 6.5)),
        seed=seed,
        loyalty=float(rng.uniform(0.75, 0.98)),
    )


def measured(world: SmallWorld) -> list[float]:
    """Return the mean ndcg@10 of popularity, of default lists, of what can be learned, and best."""
    told = world.told()
    number = {name: at for at, name in enumerate(world.users)}
    held = {number[user]: int(item.removeprefix("item-")) for user, item in told.held.items()}
    source = Source(world, told)
    everything = {"with_documents": True, "with_items": True, "with_order": True}
    data = read(source, MEANINGS, **everything)
    line = lineup(data, trained(data, BUDGET_S), source.counters)
    served = (gains(line, source, held, POPULAR), gains(line, source, held))
    known = (learnable(world, source, held), ceiling(world, source, held))
    return [float(one.mean()) for one in (*served, *known)]


def figures(section: str, worlds: Iterable[SmallWorld]) -> Iterator[Figure]:
    of_popular, default, learned, best = np.array([measured(world) for world in worlds]).T
    lists = {"default lists": default, "what can be learned": learned, "ceiling": best}
    for name, found in lists.items():
        ratio = found / of_popular
        low, middle, high = np.quantile(ratio, [0.1, 0.5, 0.9])
        note = f"{found.mean():.3f} beside {of_popular.mean():.3f}; in single worlds {low:.2f} to "
        note += f"{high:.2f} (8 of 10), median {middle:.2f}; {ratio.size} worlds"
        times = found.mean() / of_popular.mean()
        yield Figure(section, f"{name} : popularity, mean ndcg@10", times, note=note)
    for name, found in (("what can be learned", learned), ("ceiling", best)):
        yield Figure(section, f"default lists : {name}", default.mean() / found.mean())


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--worlds", type=int, default=20)
    parser.add_argument("--json", action="store_true")
    asked = parser.parse_args()
    seeds = range(asked.worlds)
    usual = (SmallWorld(80, 36, 2, seed=seed) for seed in seeds)
    found = [
        *figures("Small shops: 80 users of two tastes, 36 items", usual),
        *figures("Small shops: random worlds", map(random_world, seeds)),
    ]
    return publish(found, as_json=asked.json, data="generated worlds")


if __name__ == "__main__":
    sys.exit(main())
