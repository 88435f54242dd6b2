"""One evaluation of a ranking model: search and fit as in a training, report on held-out pairs."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from time import perf_counter
from typing import Any

import numpy as np

from core import ranking_metrics
from core.batch.popularity import Popular
from core.batch.ranker import rank
from core.errors import ConfigError, DataError
from core.interactions import Interactions, from_pairs
from core.ranking_metrics import Hits
from core.search.search import Budget
from core.types import I32, I64
from service.evaluation.files import NO_FILES, Pairs, SideFiles, joined, material, side_coverage
from service.evaluation.topk_mixture import fit_stack
from service.files.ratings import Ratings
from service.ranking.strategies import DEFAULT_RECIPE, MIXTURE
from service.training.answers import Answers, Asked, Bools
from service.training.data.material import Material
from service.training.recipe import RankingRecipe
from service.training.recipes import RANKING
from service.training.searching import FEWEST_TO_SEARCH, searchable

OnProgress = Callable[[str, float], None]


@dataclass(frozen=True)
class TopkOptions:
    """The options of an evaluation."""

    model: str = DEFAULT_RECIPE
    ks: tuple[int, ...] = (10, 20)
    given: Mapping[str, str] = field(default_factory=dict)
    """Stated settings, which are not searched."""
    budget_s: float = 120.0
    seed: int = 0


@dataclass(frozen=True)
class FittedModel:
    """A fitted model, its settings, and how long the search and the fit took."""

    answers: Answers
    parameters: dict[str, Any]
    """Settings as ``--set`` takes them."""
    rounds: int
    """Epochs of the fit, or rounds of a one-class fit."""
    search_seconds: float
    fit_seconds: float
    compared: list[dict[str, Any]]
    """Uses of side information with their validation scores, if several were compared."""


def evaluate_topk(
    train: Ratings,
    test: Ratings,
    request: TopkOptions,
    on_progress: OnProgress = lambda stage, share: None,
    side: SideFiles = NO_FILES,
) -> dict[str, Any]:
    """Fit on one file, rank all its items for the users of the other, and return the report."""
    pairs = joined(train, test)
    data = material(pairs, side)
    if request.model == MIXTURE:
        return _of_mixture(pairs, data, request, on_progress)
    recipe = RANKING[request.model]
    _check_files(recipe, data)
    given = _given(recipe, request, data)
    compile_kernels(recipe)
    fitted = fit(recipe, data, given, request, on_progress)
    more = {
        **side_coverage(data),
        "search_seconds": fitted.search_seconds,
        "fit_seconds": fitted.fit_seconds,
        "epochs": fitted.rounds,
        "parameters": fitted.parameters,
        **({"validation": fitted.compared} if fitted.compared else {}),
    }
    lists = partial(ranked_for, fitted.answers, pairs.train)
    return _measured(pairs, request, lists, more)


def _of_mixture(
    pairs: Pairs, data: Material, request: TopkOptions, on_progress: OnProgress
) -> dict[str, Any]:
    if request.given:
        raise ConfigError("--set fixes a setting of one model: name it with --model, too")
    files = {"users": data.user_features, "graph": data.links}
    for name in (name for name, read in files.items() if read is not None):
        raise ConfigError(f"mixture cannot use --{name}: leave it out, or name a --model")
    _check_searchable(request, data)
    fitted = fit_stack(data, request.budget_s, request.seed, on_progress)
    more = {
        **side_coverage(data),
        "search_seconds": fitted.search_seconds,
        "fit_seconds": fitted.fit_seconds,
        "epochs": 0,
        "parameters": {},
        "weights": dict(fitted.weights),
    }
    return _measured(pairs, request, partial(fitted.ranked, pairs.train), more)


def _measured(
    pairs: Pairs, request: TopkOptions, lists: Callable[[I64, int], I32], more: Mapping[str, Any]
) -> dict[str, Any]:
    """Return the report: the measures of the lists (users, k) of the users with test pairs."""
    users = np.flatnonzero(pairs.test.user_counts)
    depth = max(*request.ks, 10)
    held = pairs.test.rows(users)
    found = ranking_metrics.hits(lists(users, depth), held)
    popular = ranking_metrics.hits(_popular_for(pairs.train, users, depth), held)
    return {
        "model": request.model,
        "n_users": int(users.size),
        "repeated_pairs": pairs.repeated,
        "unknown_item_pairs": pairs.unlisted,
        **ranking_metrics.means(found, request.ks),
        "popular": ranking_metrics.means(popular, request.ks),
        **more,
        **_of_cold(pairs.train.user_counts[users] == 0, found, popular, request.ks),
    }


def fit(
    recipe: RankingRecipe[Any],
    data: Material,
    given: Mapping[str, Any],
    request: TopkOptions,
    on_progress: OnProgress,
) -> FittedModel:
    """Return a model that is searched and fitted as in a training."""
    started = perf_counter()
    searched = recipe.search(
        data,
        given,
        Budget(perf_counter, request.budget_s, lambda share: on_progress("searching", share)),
    )
    done = perf_counter()
    model = recipe.fit(data, searched.config)
    seconds = perf_counter() - done
    settings = recipe.settings.all_values(searched.config)
    return FittedModel(
        answers=recipe.answers(data, searched.config, model),
        parameters={n: v for n, v in settings.items() if _means_something(n, data, recipe)},
        rounds=settings.get("epochs", settings.get("rounds", 0)),
        search_seconds=done - started,
        fit_seconds=seconds,
        compared=searched.compared,
    )


def compile_kernels(recipe: RankingRecipe[Any]) -> None:
    """Compile the model's kernels on tiny data, so that measured times exclude compilation."""
    users, items = np.array([0, 0, 1]), np.array([0, 1, 1])
    tiny = Material(from_pairs(users, items, time=users))
    given: dict[str, Any] = {
        name: 1 for name in ("rounds", "epochs") if name in recipe.settings.names
    }
    config = recipe.search(tiny, given, Budget(perf_counter, 0.0)).config
    made = recipe.answers(tiny, config, recipe.fit(tiny, config))
    made.ranked(Asked(np.arange(2), tiny.pairs, tiny.pairs), 1)


def ranked_for(model: Answers, train: Interactions, users: I64, k: int) -> I32:
    """Return the lists of these users; users unknown to the model get the popular items."""
    rows = train.rows(users)
    ids, scores = model.ranked(Asked(users, rows, rows), k)
    unknown = rows.user_counts == 0
    if model.informed is not None:
        unknown &= ~model.informed[users]
    unknown |= ~((ids >= 0) & (scores != 0.0)).any(axis=1)
    if unknown.any():
        ids[unknown] = _popular_for(train, users[unknown], k)
    return ids


def _given(recipe: RankingRecipe[Any], request: TopkOptions, data: Material) -> dict[str, Any]:
    """Return the stated settings; raise ConfigError if one is about a file that is not given."""
    given = recipe.settings.parsed(request.given)
    recipe.settings.config(given)
    if given.get("graph") and data.links is None:
        raise ConfigError("--set graph says how strong links are: give --graph, too")
    if "features" in given and data.user_features is None:
        raise ConfigError("--set features says how to use a file of features: give --users, too")
    if recipe.settings.names:
        _check_searchable(request, data)
    return {"seed": request.seed, **given} if "seed" in recipe.settings.names else given


def _check_searchable(request: TopkOptions, data: Material) -> None:
    if request.budget_s > 0.0 and not searchable(data.pairs):
        raise DataError(
            f"fewer than {FEWEST_TO_SEARCH} users have two pairs, which is too little "
            "to choose settings: "
            "give more data, or state settings (--set) and do not search (--budget-s 0)"
        )


def _check_files(recipe: RankingRecipe[Any], data: Material) -> None:
    """Raise ConfigError for files that the model would not use."""
    files = {"users": data.user_features, "graph": data.links, "items": data.item_features}
    for name, read in files.items():
        if read is not None and name not in recipe.files:
            other = "svdfeature" if name == "items" else "the ocmf models"
            model = recipe.settings.name
            raise ConfigError(f"{model} cannot use --{name}: leave it out, or use {other}")


def _means_something(name: str, data: Material, recipe: RankingRecipe[Any]) -> bool:
    """Return whether a setting has an effect with these files."""
    if "graph" not in recipe.files:
        return True
    without = {"graph": data.links is None, "features": data.user_features is None}
    return not without.get(name, False)


def _of_cold(
    cold: Bools, found: Hits, popular: Hits, ks: tuple[int, ...]
) -> dict[str, dict[str, Any]]:
    """Return the metrics for users without training pairs; empty if there are no such users."""
    if not cold.any():
        return {}
    own, floor = (
        ranking_metrics.means(Hits(hits.hit[cold], hits.wanted[cold]), ks)
        for hits in (found, popular)
    )
    return {"cold": {"n_users": int(cold.sum()), **own, "popular": floor}}


def _popular_for(train: Interactions, users: I64, k: int) -> I32:
    """Return the most popular items that these users do not have."""
    popular, rows = Popular().fit(train), train.rows(users)
    return rank(popular.user_vectors(rows), popular.item_factors, rows, k)[0]
