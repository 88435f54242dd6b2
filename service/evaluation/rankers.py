"""The rankers of an evaluation: models trained by their recipes, and lists counted from events.

They are those that serve, and are asked as in service.
"""

from collections.abc import Callable, Sequence
from time import perf_counter

import numpy as np

from core.batch.preferences import Preferences
from core.errors import DataError
from core.search.search import Budget
from core.steps import latest
from core.types import I32
from service.evaluation.questions import Questions
from service.ranking.asker import Asker
from service.ranking.families import FAMILIES
from service.ranking.pool import NOTHING, Pool
from service.ranking.ranker import Ranker
from service.ranking.strategies import NEXT, Strategy
from service.training.all_families.settled import COUNTED, Settled
from service.training.data.material import Material
from service.training.recipes import SERVED
from service.training.searching import FEWEST_TO_SEARCH, searchable

OnShare = Callable[[float], None]


def families_that_rank(*, ordered: bool = True, described: bool = False) -> list[Strategy]:
    """Return the families that an evaluation can fit to pairs, or to events in order.

    With ``described``, also those that read what is said of items alone.
    """
    counted = {name for name in COUNTED if ordered or name != NEXT}
    return [
        family.strategy
        for family in FAMILIES.values()
        if family.strategy in counted
        or (
            family.trained
            and not family.reads_context
            and not family.reads_user_features
            and (described or not family.reads_item_features)
            and (ordered or not family.reads_order)
        )
    ]


def settled(
    names: Sequence[Strategy], known: Material, budget_s: float, seed: int, on_share: OnShare
) -> list[Settled]:
    """Return the families with settings searched on this material; they share the budget."""
    families = [FAMILIES[name] for name in names]
    trained = [family for family in families if family.strategy not in COUNTED]
    if trained and budget_s > 0.0 and not searchable(known.pairs):
        raise DataError(
            f"fewer than {FEWEST_TO_SEARCH} users have two pairs, which is too little "
            "to choose settings: give more data, or do not search (--budget-s 0)"
        )
    found: dict[Strategy, Settled] = {}
    left = budget_s
    # the first families search as long as they may, the later ones end early: these begin
    for n, family in enumerate(reversed(trained)):
        started = perf_counter()
        recipe = SERVED[family.recipes[0].name]
        given = {"seed": seed} if "seed" in recipe.settings.names else {}
        budget = Budget(perf_counter, max(left, 0.0) / (len(trained) - n), on_share)
        config = recipe.search(known, given, budget).config
        found[family.strategy] = Settled(family, recipe, config)
        left -= perf_counter() - started
    return [found.get(family.strategy, Settled(family)) for family in families]


def askers(questions: Questions, *, repeats: bool) -> Callable[[int], Asker]:
    """Return a function from the number of a question to the person who asks it."""
    return lambda n: asker_of(questions.past(n), repeats=repeats)


def asker_of(past: I32, *, repeats: bool = False, ordered: bool = True) -> Asker:
    """Return a person with these items, oldest first; unless ``ordered``, nothing is the latest."""
    items = np.unique(past)
    ones = np.ones(items.size, np.float32)
    seen = NOTHING if repeats else items
    return Asker(Preferences(items, ones, ones, seen, latest(past) if ordered else NOTHING))


def listed(ranker: Ranker, popular: Ranker, asker: Asker, pool: Pool, n: int) -> I32:
    """Return the list of a ranker; popular items if it does not know the asker."""
    able = ranker if ranker.family.for_everybody or ranker.knows(asker) else popular
    return able.best(asker, pool, n).items
