"""What is known of users beside their pairs, and the way to use it that ranks best on a validation part.

The paper's users are made of their features. A few features cannot tell users apart who have a history: a vector of
their own, with what the features say beside it, serves them far better. Which one holds is for the data to say.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
import scipy.sparse as sp

from core.batch.feature_map import FeatureMap
from core.batch.ocmf import search as ocmf_search
from core.batch.ocmf.config import OcmfConfig
from core.batch.ocmf.feature_regression import described_users
from core.batch.ocmf.model import Ocmf
from core.batch.ocmf.users import StructuredUsers, users_of
from core.interactions import Interactions
from core.search.search import Budget
from core.types import F32, I64

Use = Literal["cold", "beside", "made"]
"""Of features. ``cold``: only for users without pairs; ``beside``: vectors are fitted to the pairs, then features to
these, and in a history they count as one event; ``made``: users are made of them, as in the paper."""

DEPTH = ocmf_search.DEPTH
"""A way's score is ndcg at this depth."""
ALIKE = 0.005
"""Ways whose scores differ by less than this share serve users with a history alike."""
COMPARED = 0.3
"""Share of the budget for the comparison of ways, where there are several."""
MADE = 0.3
"""Share of the search for the settings of users made of features, where vectors fitted to the pairs are searched, too."""


@dataclass(frozen=True, eq=False)
class Known:
    """What is known of users beside their pairs."""

    features: Any = None
    """(users, d), dense or sparse."""
    similar: sp.csr_array | None = None
    """S (users, users), see ``graph.similarity``."""


@dataclass(frozen=True)
class Way:
    """Settings of a fit and what features are used for; without ``graph`` in the settings, links for nothing."""

    config: OcmfConfig
    use: Use | None = None
    """None: there are no features."""


@dataclass(frozen=True)
class Tried:
    """A way and its ndcg@20 for validation users."""

    way: Way
    score: float


@dataclass(frozen=True, eq=False)
class FittedWay:
    """A fit that answers users as its way says."""

    way: Way
    model: Ocmf
    users: StructuredUsers

    def vectors(self, pairs: Interactions, known: Known, rows: I64 | None = None) -> F32:
        """Return the vectors (rows, g) of users of ``pairs``, by number; None: of all."""
        similar = known.similar if self.users.link else None
        if rows is not None and similar is not None:
            # linked users may be any
            return self.vectors(pairs, known)[rows]
        some = pairs if rows is None else pairs.rows(rows)
        if self.way.use is None:
            return self.users.vectors(some, similar=similar)
        described = self.users.described(
            known.features if rows is None else known.features[rows],
        )
        if self.way.use != "cold":
            return self.users.vectors(some, described=described, similar=similar)
        vectors = self.users.vectors(some, similar=similar)
        cold = some.user_counts == 0
        vectors[cold] = described[cold]
        return vectors


def fit_way(pairs: Interactions, way: Way, known: Known) -> FittedWay:
    """Fit to all pairs."""
    graph = known.similar if way.config.graph else None
    if way.use == "made":
        made = FeatureMap()
        model = Ocmf(way.config).fit(pairs, features=made.transform(known.features), graph=graph)
        return FittedWay(way, model, users_of(model, made))
    model = Ocmf(way.config).fit(pairs, graph=graph)
    users = users_of(model)
    if way.use is not None:
        some = np.flatnonzero(pairs.user_counts)
        vectors = users.row.vectors(pairs.rows(some))
        users = described_users(users, vectors, known.features[some])
    return FittedWay(way, model, users)


def choose(
    pairs: Interactions,
    base: OcmfConfig,
    budget: Budget,
    known: Known,
    *,
    use: Use | None = None,
    fixed: frozenset[str] = frozenset(),
    on_trial: Callable[[float], None] = lambda share: None,
) -> tuple[Way, list[Tried]]:
    """Return the best way on a validation part, and all that were tried, the best first.

    Of ways that score alike the one that does more for users with few pairs or none is taken: with links before
    without, features beside the pairs before features for the cold alone.
    ``use`` says what features are for, None leaves it open; settings named in ``fixed`` stay as ``base`` has them.
    A budget of 0 tries nothing: rough settings, and features beside the pairs.
    """
    uses = _uses(known, use)
    if budget.seconds <= 0.0:
        way = _searched(pairs, base, budget, known, uses[0], fixed, on_trial)
        return (way, [])
    left = budget.begin()
    ways = _ways(pairs, base, budget, known, uses, fixed, on_trial)
    if len(ways) == 1:
        return ways[0], []
    scores = validated(pairs, ways, known, left, seed=base.seed)
    tried = [Tried(way, score) for way, score in zip(ways, scores, strict=True)]
    enough = (1.0 - ALIKE) * max(scores)
    chosen = next(one.way for one in tried if one.score >= enough)
    return chosen, sorted(tried, key=lambda one: -one.score)


def validated(
    pairs: Interactions,
    ways: Sequence[Way],
    known: Known,
    left: Callable[[], float],
    *,
    seed: int = 0,
) -> list[float]:
    """Return ndcg@20 of each way: a part of each user's pairs is held out, users are scored as they are served.

    On one split, and on more while ``left`` has the seconds for another one.
    """
    # other splits than those of the search, where the settings were lucky
    splits = ocmf_search.splits_of(pairs, np.random.default_rng([seed, 5]))
    scores: list[list[float]] = []
    for split in splits:
        begun = left()
        scores.append(_scores(split, ways, known))
        if left() < begun - left():
            break
    return [float(mean) for mean in np.mean(scores, axis=0)]


def _scores(split: ocmf_search.Split, ways: Sequence[Way], known: Known) -> list[float]:
    fits: dict[tuple[OcmfConfig, bool], FittedWay] = {}
    scores = []
    for way in ways:
        like = way.config, way.use == "made"
        if like not in fits:
            # cold and beside differ in the answers, not in the fit
            fits[like] = fit_way(split.fit, way, known)
        fitted = replace(fits[like], way=way)
        vectors = fitted.vectors(split.fit, known, split.judges)
        scores.append(split.score(vectors, fitted.users.row.item_factors))
    return scores


def _uses(known: Known, use: Use | None) -> list[Use | None]:
    """Return what may be done with the features, the usual way first."""
    if known.features is None:
        return [None]
    return ["beside", "cold", "made"] if use is None else [use]


def _ways(
    pairs: Interactions,
    base: OcmfConfig,
    budget: Budget,
    known: Known,
    uses: list[Use | None],
    fixed: frozenset[str],
    on_trial: Callable[[float], None],
) -> list[Way]:
    """Search the settings of both kinds of fits; each way with a graph is followed by the same without."""
    ways: list[Way] = []
    own = [use for use in uses if use != "made"]
    made = [use for use in uses if use == "made"]
    kinds = [some for some in (own, made) if some]
    linked = known.similar is not None and "graph" not in fixed
    searched = 1.0 - COMPARED if len(uses) > 1 or linked else 1.0
    shares = (1.0 - MADE, MADE) if len(kinds) == 2 else (1.0,)
    done = 0.0
    for some, of_search in zip(kinds, shares, strict=True):
        share = searched * of_search
        part = replace(budget, seconds=share * budget.seconds)
        way = _searched(
            pairs, base, part, known, some[0], fixed, _within(on_trial, done, done + share)
        )
        done += share
        for use in some:
            ways.append(replace(way, use=use))
            if way.config.graph and "graph" not in fixed:
                ways.append(Way(replace(way.config, graph=0.0), use))
    return ways


def _searched(
    pairs: Interactions,
    base: OcmfConfig,
    budget: Budget,
    known: Known,
    use: Use | None,
    fixed: frozenset[str],
    on_trial: Callable[[float], None],
) -> Way:
    config = ocmf_search.search(
        pairs,
        base,
        budget,
        similar=known.similar,
        features=known.features if use == "made" else None,
        fixed=fixed,
        on_trial=on_trial,
    )
    return Way(config, use)


def _within(on_trial: Callable[[float], None], low: float, high: float) -> Callable[[float], None]:
    """Return what hears of a part of the work as a share of the whole."""
    return lambda share: on_trial(low + share * (high - low))
