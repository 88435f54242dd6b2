"""Our attempt at a split, with the settings that our search finds on its training part."""

from dataclasses import asdict, replace
from functools import partial

from bench.attempts import Attempt, Attempts
from bench.ranking_contest import Contest
from core.batch.fbgd import search as fbgd_search
from core.batch.fbgd.config import FbgdConfig
from core.batch.fbgd.model import Fbgd
from core.batch.row_objective import RowObjective
from core.batch.shrinkage import choose_shrinkage
from core.interactions import Interactions
from core.search.search import Budget

OWN = "fBGD"


def searches_of(name: str, splits: int) -> list[tuple[int, int]]:
    """Return the split number and the search seed of each search.

    Gowalla has a single split; it is searched as often as the others have splits.
    """
    return [(0 if name == "Gowalla" else seed, seed) for seed in range(splits)]


def fitted(config: FbgdConfig, over: Contest) -> tuple[Fbgd, float]:
    begun = over.clock()
    model = Fbgd(config).fit(over.train)
    return model, over.clock() - begun


def judged(config: FbgdConfig, over: Contest, name: str = OWN) -> Attempt:
    """Fit; score the users by folding them in, as the service does."""
    model, seconds = fitted(config, over)
    users = model.user_vectors(over.train)
    return over.attempt(name, asdict(config), users, model.item_factors, seconds)


def _row_objective(config: FbgdConfig, part: Interactions) -> RowObjective:
    return Fbgd(config).fit(part).fitted


def our_attempt(over: Contest, seed: int, budget_s: float, table: Attempts) -> Attempt:
    """Return our attempt with searched settings, from the table if it is there.

    Choosing the shrinkage comes on top of the budget.
    """
    ours = table.find(over.data, over.split, OWN)
    attempts = [attempt for attempt in ours if attempt.settings["seed"] == seed]
    if not attempts:
        budget = Budget(over.clock, budget_s)
        config = fbgd_search.search(over.train, FbgdConfig(seed=seed), budget)
        fit = partial(_row_objective, config)
        shrinkage = choose_shrinkage(over.train, fit, seed=seed, otherwise=config.shrinkage)
        config = replace(config, shrinkage=shrinkage)
        attempts = [judged(config, over)]
        table.add(attempts)
    return attempts[0]
