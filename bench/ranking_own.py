"""Our attempt at a split with the settings that the program finds on its training part."""

from dataclasses import asdict, replace
from functools import partial

from bench.attempts import Attempt, Attempts
from bench.ranking_contest import Contest
from core.batch.fbgd import search as fbgd_search
from core.batch.fbgd.model import Fbgd, FbgdConfig
from core.batch.row_objective import RowObjective
from core.batch.shrinkage import choose_draw
from core.interactions import Interactions
from core.search.search import Budget

OWN = "fBGD"


def searches_of(name: str, splits: int) -> list[tuple[int, int]]:
    """Return the number of a split and the seed of our search there; the one split of Gowalla is searched as often."""
    return [(0 if name == "Gowalla" else seed, seed) for seed in range(splits)]


def fitted(config: FbgdConfig, over: Contest) -> tuple[Fbgd, float]:
    begun = over.clock()
    model = Fbgd(config).fit(over.train)
    return model, over.clock() - begun


def judged(config: FbgdConfig, over: Contest, name: str = OWN) -> Attempt:
    """Fit; score the users folded in, as they are served."""
    model, seconds = fitted(config, over)
    users = model.user_vectors(over.train)
    return over.attempt(name, asdict(config), users, model.item_factors, seconds)


def _row_objective(config: FbgdConfig, part: Interactions) -> RowObjective:
    return Fbgd(config).fit(part).fitted


def own(over: Contest, seed: int, budget_s: float, table: Attempts) -> Attempt:
    """Return our attempt with the settings that the program finds; the choice of ``draw`` comes on top of the budget."""
    found = table.find(over.data, over.split, OWN)
    known = [one for one in found if one.settings["seed"] == seed]
    if not known:
        budget = Budget(over.clock, budget_s)
        config = fbgd_search.search(over.train, FbgdConfig(seed=seed), budget)
        fit = partial(_row_objective, config)
        draw = choose_draw(over.train, fit, seed=seed, otherwise=config.draw)
        config = replace(config, draw=draw)
        known = [judged(config, over)]
        table.add(known)
    return known[0]
