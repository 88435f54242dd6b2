"""Weighing: choose the fitted recipes that a job without a recipe goes on to train, and say why."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from core.errors import DataError
from core.gate import FEWEST_USERS, LEVEL, Interval, paired_interval
from core.stack.fitting import PRIOR
from core.stack.guard import PULLS_OF_FEW, Guarded
from core.stack.learning import FEWEST
from core.types import F64
from service.ranking.ranker import Ranker
from service.training.all_families.candidates import Tried
from service.training.all_families.contest import Contest, contest_of, pooled
from service.training.all_families.placing import foreseen
from service.training.all_families.settled import COUNTED, ranker_of
from service.training.all_families.worth import Worth, worth
from service.training.data.dataset import Dataset
from service.training.data.next_events import NextEvents, next_events
from service.training.model_training import ModelTraining
from service.training.splits import popular_splits, validated_splits

OnShare = Callable[[float], None]
LEVEL_OF_FEW = 0.68
"""Level of the interval that must lie above 0 where few can judge: one standard error.

At 95 % next to nothing would ever be sure, and a family too many costs a small community little."""


@dataclass(frozen=True)
class Fitted:
    """A recipe that was fitted to the events before the cut."""

    training: ModelTraining
    tried: Tried
    data: Dataset
    """The data of the recipe, with the held-out users that it is meant for."""
    config: Any
    model: Any


@dataclass(frozen=True)
class Weighed:
    """The outcome of a weighing; ``Tried`` has that of each recipe."""

    wanted: list[Fitted]
    """The recipes to go on with: those that were chosen, then other families that serve already."""
    stopped: str
    """Why no more recipes were chosen."""
    metrics: dict[str, Any]
    stack: Guarded | None = None
    """The stack of everything that will serve; None: nothing could be weighed."""


def weigh(
    data: Dataset,
    fitted: Sequence[Fitted],
    seed: int,
    *,
    serves: bool,
    is_named: bool = False,
    on_share: OnShare,
) -> Weighed:
    """Choose what adds to the rest.

    ``serves`` tells whether any trained model serves yet, ``is_named`` whether the order names the
    family: then its best recipe is chosen in any case.
    """
    judges = int(data.held_out.user_ix.size)
    metrics: dict[str, Any] = {"judges": judges, "held_out": data.cut.says}
    if not judges:
        return _nobody(fitted, metrics)
    metrics["splits"] = len(data.splits)
    level = LEVEL if judges >= FEWEST_USERS else LEVEL_OF_FEW
    for one in fitted:
        if one.training.family.only_reads_features:
            _weigh_by_features(one, seed, level)
    by_history = {
        one.tried.model: one for one in fitted if not one.training.family.only_reads_features
    }
    table = _contest(data, by_history, seed, on_share)
    families = {name: one.tried.strategy for name, one in by_history.items()}
    found = worth(table, [*COUNTED], families, seed, level=level)
    for name, what in found.items():
        one = by_history[name]
        _note(one.tried, what, float(table.alone(name).mean()))
        one.tried.only_places = one.training.family.only_places and not what.chosen
    events = next_events(data)
    for name, one in by_history.items():
        if one.training.family.places_items and not one.tried.chosen:
            _weigh_by_documents(one, table.rankers[name], events, seed)
    # one that knows contexts alone says nothing where no context is known
    usual = {name: one for name, one in by_history.items() if one.training.family.reads_history}
    if is_named and not any(one.tried.chosen for one in fitted):
        _choose_the_best(by_history, "it is the best of its family")
    elif not any(one.tried.chosen and not one.training.family.reads_context for one in fitted):
        if not serves and judges < FEWEST_USERS:
            _choose_the_best(usual, "it is the best alone, and nothing else was trained yet")
        elif not serves:
            _choose_the_first(found, usual)
    wanted = _wanted(fitted)
    mixed = [one.tried.model for one in wanted if not one.tried.only_places]
    names = [*COUNTED, *(name for name in mixed if name in by_history)]
    few = judges < FEWEST_USERS
    stack = table.stack(names, PULLS_OF_FEW if few else (PRIOR,))
    mine = table.gains(names, PRIOR if stack is None else stack.pull)
    if stack is not None and few:
        stack = _of_few(table, mine, stack, seed)
    metrics |= {
        "events": table.user_of.size,
        "ndcg@10": float(mine.mean()),
        "counted": {"ndcg@10": float(table.gains([*COUNTED]).mean())},
        "weights": _weights(stack),
    }
    return Weighed(wanted, _stopped(fitted), metrics, stack)


def _nobody(fitted: Sequence[Fitted], metrics: dict[str, Any]) -> Weighed:
    """Go on with everything: it is the usual recipe, and what serves."""
    why = "nobody likes two items, so nobody can tell what adds"
    for one in fitted:
        one.tried.chosen, one.tried.why = not one.tried.serves, why
    trained = ", ".join(one.tried.model for one in fitted)
    return Weighed(_wanted(fitted), f"{trained} alone: {why}", metrics)


def _contest(data: Dataset, fitted: Mapping[str, Fitted], seed: int, on_share: OnShare) -> Contest:
    """Let all rankers compete in each split, each time made of what was known at its cut."""
    n, found = len(data.splits), list[Contest]()
    for at, split in enumerate(data.splits):
        try:
            trained = {name: _ranker(one, at) for name, one in fitted.items()}
        except DataError:
            # too little was known at that time to make all of them
            break
        found.append(contest_of(trained, split, seed, partial(_share_of_split, on_share, at, n)))
    return pooled(found)


def _of_few(table: Contest, mine: F64, stack: Guarded, seed: int) -> Guarded | None:
    """Return the stack unless it has too few events, as a follower would say (None).

    ``mine`` are its gains, (users,). Its best ranker must be better alone by a standard error:
    fitted to three quarters of a few events, the stack is judged worse than the whole one is.
    """
    if np.count_nonzero(table.choices.taken >= 0) < FEWEST:
        return None
    if stack.alone is None:
        return stack
    rng = np.random.default_rng(seed)
    better = paired_interval(table.alone(stack.alone), mine, rng, level=LEVEL_OF_FEW).low > 0.0
    return stack if better else replace(stack, alone=None)


def _share_of_split(on_share: OnShare, at: int, n: int, share: float) -> None:
    on_share(0.5 * (at + share) / n)


def _ranker(one: Fitted, at: int) -> Ranker:
    """Return the ranker of split ``at``; that of the first one is fitted already."""
    training, own = one.training, one.data.splits[at]
    model = one.model if at == 0 else training.fit(training.recipe.held_out(own), one.config)
    return ranker_of(training.family, training.recipe, model, own.encoded)


def _weigh_by_features(one: Fitted, seed: int, level: float) -> None:
    """Choose a family without histories if it beats popularity for users whom it knows so alone."""
    recipe, data = one.training.recipe, one.data
    own = validated_splits(recipe, data, one.model, one.config)
    n = own.scores.size
    if not n:
        one.tried.why = "nobody with features can judge it"
        return
    popular = popular_splits(recipe, data)
    added = paired_interval(own.scores, popular.scores, np.random.default_rng(seed))
    low = paired_interval(own.scores, popular.scores, np.random.default_rng(seed), level=level).low
    enough = n >= FEWEST_USERS or level < LEVEL
    found = Worth(added, chosen=enough and low > 0.0, beside=("popular",))
    _note(one.tried, found, float(own.scores.mean()))
    if not enough:
        one.tried.why = f"only {n} held-out users with features, {FEWEST_USERS} are needed"


def _weigh_by_documents(one: Fitted, ranker: Ranker, events: NextEvents, seed: int) -> None:
    """Choose a family that places new items if it ranks by documents better than by chance.

    It need not add to what others know of old items: of new ones it alone knows anything.
    """
    found = foreseen(ranker, events)
    if found.size:
        lead = paired_interval(found, np.full(found.size, 0.5), np.random.default_rng(seed))
        says = f"places items by documents alone: AUC {0.5 + lead.mean:.3f}"
        one.tried.chosen = lead.low > 0.0
        one.tried.why += f"; {says}, from {0.5 + lead.low:.3f} to {0.5 + lead.high:.3f}"


def _note(tried: Tried, found: Worth, alone: float) -> None:
    tried.ndcg10, tried.added = alone, asdict(found.added)
    tried.chosen, tried.why = found.chosen, found.says


def _choose_the_best(fitted: Mapping[str, Fitted], why: str) -> None:
    """Choose the recipe that ranks best alone: with a few events that says more than what adds."""
    best = max(fitted, key=lambda name: fitted[name].tried.ndcg10 or 0.0, default=None)
    if best is not None:
        fitted[best].tried.chosen, fitted[best].tried.only_places = True, False
        fitted[best].tried.why += f"; {why}"


def _choose_the_first(found: Mapping[str, Worth], fitted: Mapping[str, Fitted]) -> None:
    """Choose the recipe that adds most, if anything: the first model needs no proof."""
    best = max(found, key=lambda name: found[name].added.mean, default=None)
    if best is not None and found[best].added.mean > 0.0:
        fitted[best].tried.chosen, fitted[best].tried.only_places = True, False
        fitted[best].tried.why += "; no trained model serves yet"


def _wanted(fitted: Sequence[Fitted]) -> list[Fitted]:
    chosen = [one for one in fitted if one.tried.chosen]
    families = {one.tried.strategy for one in chosen}
    serve = [one for one in fitted if one.tried.serves and one.tried.strategy not in families]
    for one in serve:
        one.tried.why += "; it is kept up to date, as it serves already"
    return [*chosen, *serve]


def _stopped(fitted: Sequence[Fitted]) -> str:
    chosen = [one.tried.model for one in fitted if one.tried.chosen]
    taken = f"{', '.join(chosen)} chosen" if chosen else "nothing new chosen"
    left = {
        one.tried.model: Interval(**one.tried.added)
        for one in fitted
        if one.tried.added is not None and not one.tried.chosen
    }
    if not left:
        return f"{taken}: nothing is left"
    best = max(left, key=lambda name: left[name].mean)
    added = left[best]
    return (
        f"{taken}: the next best, {best}, adds {added.mean:+.4f} to ndcg@10 "
        f"(95 % interval {added.low:+.4f} to {added.high:+.4f})"
    )


def _weights(found: Guarded | None) -> dict[str, float]:
    """Return the weights of the stack at the mean length of a history, or 1 for one ranker."""
    if found is None:
        return {}
    if found.alone is not None:
        return {found.alone: 1.0}
    named = zip(found.logit.names, found.logit.weights[:, 0].tolist(), strict=True)
    return {name: round(weight, 6) for name, weight in named if weight}
