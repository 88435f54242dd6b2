"""The lists of a stack for held-out pairs; its weights are learned from the training part alone."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from time import perf_counter

import numpy as np

from core.interactions import Interactions
from core.splits import split_within_users
from core.stack.choices import Choice, choices_of
from core.stack.guard import Guarded, guarded
from core.types import I32, I64
from service.evaluation.rankers import asker_of, families_that_rank, settled
from service.evaluation.stacking import weights_of
from service.evaluation.together import prepared
from service.ranking.asker import Asker
from service.ranking.pool import Pool
from service.ranking.ranker import Ranker
from service.ranking.stack import Stack, candidates, score_columns, signal_names
from service.training.all_families.settled import Settled
from service.training.data.material import Material

OnProgress = Callable[[str, float], None]
HELD_OUT, TILT, MOST = 0.1, 0.3, 8_000
"""Share of the training pairs by which weights are chosen, and the most pairs that are judged.

TILT is the exponent of an item's count in its chance to be held out, for a random half of the
users: future pairs are not a random sample of past ones, for weights as for the families' settings.
"""


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
        for at, asker in enumerate(askers):
            items, _ = self.stack.best(asker, Pool(allowed, asker.preferences.seen), k)
            ids[at, : items.size] = items
        return ids


def fit_stack(data: Material, budget_s: float, seed: int, on_progress: OnProgress) -> FittedStack:
    """Search settings on all pairs, learn weights from some of them, and fit to all."""
    names = families_that_rank(ordered=data.order is not None)
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
    tilt = np.where(rng.random(data.pairs.n_users) < 0.5, TILT, 0.0)
    known, held = split_within_users(data.pairs, HELD_OUT, rng, tilt)
    rankers = [one.ranker(Material(known)) for one in found]
    events = _events(rankers, known, _sample(held, rng), on_progress)
    return guarded(choices_of(events), signal_names(rankers), score_columns(rankers), rng)


def _sample(held: Interactions, rng: np.random.Generator) -> Interactions:
    """Return at most MOST pairs, the same number of each user as far as they have so many."""
    order = np.lexsort((rng.random(len(held)), held.user_ix))
    turn = np.empty(len(held), np.int64)
    turn[order] = np.arange(len(held)) - np.repeat(held.ptr[:-1], held.user_counts)
    first = np.lexsort((rng.random(len(held)), turn))[:MOST]
    return held.keep(np.isin(np.arange(len(held)), first))


def _events(
    rankers: Sequence[Ranker], known: Interactions, held: Interactions, on_progress: OnProgress
) -> Iterator[Choice]:
    """Yield an event for each held-out pair; the user's others are not to choose from."""
    allowed = np.ones(known.n_items, np.bool_)
    users = np.flatnonzero(held.user_counts)
    askers = prepared(rankers, known, users, partial(_asker, known))
    for at, (user, asker) in enumerate(zip(users.tolist(), askers, strict=True)):
        found = candidates(rankers, asker, Pool(allowed, asker.preferences.seen))
        own = held.item_ix[held.ptr[user] : held.ptr[user + 1]]
        for item in own.tolist():
            kept = (found.items == item) | ~np.isin(found.items, own)
            yield found.only(kept).taken(item, asker.preferences.item_ix.size)
        if at % 1000 == 0:
            on_progress("weighing", at / users.size)


def _asker(pairs: Interactions, user: int) -> Asker:
    """Return a user with the pairs of a row, in the order of their times if these are known."""
    row = slice(pairs.ptr[user], pairs.ptr[user + 1])
    items, times = pairs.item_ix[row], pairs.time
    order = None if times is None else np.argsort(times[row], kind="stable")
    return asker_of(items if order is None else items[order], ordered=order is not None)
