"""The lists of a stack for held-out pairs; its weights are learned from the training part alone."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from time import perf_counter

import numpy as np

from core.interactions import Interactions
from core.splits import split_within_users
from core.stack.balance import balanced
from core.stack.guard import Guarded
from core.stack.lists import Candidates, Lists, lists_of
from core.types import I32, I64
from service.evaluation.rankers import asker_of, families_that_rank, settled
from service.evaluation.stacking import weights_of
from service.evaluation.together import prepared
from service.ranking.asker import Asker
from service.ranking.pool import Pool
from service.ranking.ranker import Ranker
from service.ranking.stack import Stack, candidates, score_columns, signal_names
from service.ranking.strategies import POPULAR, Strategy
from service.training.all_families.settled import Settled
from service.training.data.material import Material

OnProgress = Callable[[str, float], None]
HELD_OUT, TILT = 0.2, 0.3
"""Share of the training pairs by which weights are chosen, and the exponent of an item's count in
its chance to be held out for the second sample."""
USERS, EVENTS = 8_000, 6_000
"""Most lists that are measured, and most pairs that are learned from, in each of the two ways."""
REPEATS = 4
"""Most samples that are taken in each way."""


@dataclass(frozen=True)
class FittedStack:
    """A fitted stack, and how long it took."""

    stack: Stack
    weights: Mapping[str, float]
    search_seconds: float
    fit_seconds: float

    def ranked(self, train: Interactions, users: I64, k: int) -> I32:
        """Return the lists (users, k) of some users; -1 at the end."""
        ids, allowed = np.full((users.size, k), -1, np.int32), np.ones(train.n_items, np.bool_)
        askers = prepared(self.stack.rankers, train, users, partial(_asker, train))
        popular = next(one for one in self.stack.rankers if one.strategy == POPULAR)
        for at, asker in enumerate(askers):
            pool = Pool(allowed, asker.preferences.seen)
            # as in service: people whom no ranker knows get the popular items
            able = self.stack if any(one.knows(asker) for one in self.stack.rankers) else popular
            items = able.best(asker, pool, k)[0]
            ids[at, : items.size] = items
        return ids


def fit_stack(data: Material, budget_s: float, seed: int, on_progress: OnProgress) -> FittedStack:
    """Search settings on all pairs, learn weights from some of them, and fit to all."""
    names = families_that_rank(ordered=data.order is not None, described=data.described is not None)
    begun = perf_counter()
    found = settled(names, data, budget_s, seed, lambda share: on_progress("searching", share))
    searched = perf_counter()
    stack, weights = stacked(found, data, seed, on_progress)
    return FittedStack(stack, weights, searched - begun, perf_counter() - searched)


def stacked(
    found: Sequence[Settled], data: Material, seed: int, on_progress: OnProgress
) -> tuple[Stack, Mapping[str, float]]:
    """Learn weights from some pairs and fit to all; return the stack and its weights by signal."""
    judged = _judged(found, data, seed, on_progress)
    rankers = [one.ranker(data) for one in found]
    return Stack(rankers, judged.logit, judged.alone), weights_of(judged)


def _judged(
    found: Sequence[Settled], data: Material, seed: int, on_progress: OnProgress
) -> Guarded:
    """Learn the weights from held-out pairs, by models that have not learned these."""
    rng = np.random.default_rng([seed, 3])
    plain, names, scores = _lists(found, data, 0.0, rng, on_progress)
    tilted, _, _ = _lists(found, data, TILT, rng, on_progress)
    return balanced((plain, tilted), names, scores, EVENTS, rng)


def _lists(
    found: Sequence[Settled],
    data: Material,
    tilt: float,
    rng: np.random.Generator,
    on_progress: OnProgress,
) -> tuple[Lists, Sequence[str], Mapping[Strategy, int]]:
    """Hold pairs out; return the lists of some users, the names of all signals, and the scores'.

    Of few users several samples are taken.
    """
    several = int((data.pairs.user_counts > 1).sum())
    times = min(max(-(-USERS // max(several, 1)), 1), REPEATS)
    parts: list[Candidates] = []
    rankers: list[Ranker] = []
    for _ in range(times):
        known, held = split_within_users(data.pairs, HELD_OUT, rng, tilt)
        learned = Material(known, described=data.described)
        rankers = [one.ranker(learned) for one in found]
        users = np.flatnonzero(held.user_counts)
        if users.size > USERS // times:
            users = np.sort(rng.choice(users, USERS // times, replace=False))
        parts += _candidates(rankers, known, held, users, on_progress)
    return lists_of(parts), signal_names(rankers), score_columns(rankers)


def _candidates(
    rankers: Sequence[Ranker],
    known: Interactions,
    held: Interactions,
    users: I64,
    on_progress: OnProgress,
) -> Iterator[Candidates]:
    """Yield the candidates of each user, and which of them were held out."""
    allowed = np.ones(known.n_items, np.bool_)
    askers = prepared(rankers, known, users, partial(_asker, known))
    for at, (user, asker) in enumerate(zip(users.tolist(), askers, strict=True)):
        found = candidates(rankers, asker, Pool(allowed, asker.preferences.seen))
        own = held.item_ix[held.ptr[user] : held.ptr[user + 1]]
        wanted, length = np.isin(found.items, own), asker.preferences.item_ix.size
        yield Candidates(user, found.signals, wanted, own.size, length)
        if at % 1000 == 0:
            on_progress("weighing", at / users.size)


def _asker(pairs: Interactions, user: int) -> Asker:
    """Return a user with the pairs of a row, in the order of their times if these are known."""
    row = slice(pairs.ptr[user], pairs.ptr[user + 1])
    items, times = pairs.item_ix[row], pairs.time
    order = None if times is None else np.argsort(times[row], kind="stable")
    return asker_of(items if order is None else items[order], ordered=order is not None)
