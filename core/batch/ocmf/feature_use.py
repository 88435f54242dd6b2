"""Side information of users in a one-class fit, and the use of it that ranks best on a validation part.

The paper's users are made of their features. A few features cannot tell users with a history apart: a vector of their
own, with the features beside it, serves them far better. Which one holds is decided by validation.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from core.batch.feature_map import FeatureMap
from core.batch.ocmf import search as ocmf_search
from core.batch.ocmf.config import FeatureUse, OcmfConfig, Use
from core.batch.ocmf.feature_regression import with_regression
from core.batch.ocmf.model import Ocmf, users_of
from core.batch.ocmf.users import StructuredUsers
from core.interactions import Interactions
from core.search.search import Budget
from core.types import F32, I64

DEPTH = ocmf_search.DEPTH
"""Depth of the ndcg that a use is scored by."""
ALIKE = 0.005
"""Share by which scores may differ where two uses count as equally good for users with a history."""
COMPARED = 0.3
"""Share of the budget for the comparison of uses, where there are several."""
MADE = 0.3
"""Share of the search for users made of features, where vectors fitted to the pairs are searched as well."""

OnTrial = Callable[[float], None]


@dataclass(frozen=True, eq=False)
class SideInformation:
    """Features and links of users, beside their pairs."""

    features: Any = None
    """(users, d), dense or sparse."""
    similar: sp.csr_array | None = None
    """S (users, users), see ``graph.similarity``."""


@dataclass(frozen=True)
class Tried:
    """A use and its ndcg@20 for validation users."""

    used: FeatureUse
    score: float


@dataclass(frozen=True, eq=False)
class FittedUse:
    """A fit that answers users as its use of features says."""

    used: FeatureUse
    users: StructuredUsers

    def vectors(self, pairs: Interactions, side: SideInformation, rows: I64 | None = None) -> F32:
        """Return the vectors (rows, g) of users of ``pairs``, by number; None: of all."""
        similar = side.similar if self.users.link else None
        if rows is not None and similar is not None:
            # any user may be linked to these
            return self.vectors(pairs, side)[rows]
        some = pairs if rows is None else pairs.rows(rows)
        if side.features is None:
            return self.users.vectors(some, similar=similar)
        by_features = self.users.feature_vectors(
            side.features if rows is None else side.features[rows],
        )
        if self.used.use != "cold":
            return self.users.vectors(some, feature_vectors=by_features, similar=similar)
        vectors = self.users.vectors(some, similar=similar)
        cold = some.user_counts == 0
        vectors[cold] = by_features[cold]
        return vectors


def fit_with(pairs: Interactions, used: FeatureUse, side: SideInformation) -> FittedUse:
    """Fit to all pairs; links are used where the settings have a ``graph``."""
    graph = side.similar if used.config.graph else None
    if side.features is not None and used.use == "made":
        made = FeatureMap()
        model = Ocmf(used.config).fit(pairs, features=made.transform(side.features), graph=graph)
        return FittedUse(used, users_of(model, made))
    users = users_of(Ocmf(used.config).fit(pairs, graph=graph))
    if side.features is not None:
        some = np.flatnonzero(pairs.user_counts)
        vectors = users.row.vectors(pairs.rows(some))
        users = with_regression(users, vectors, side.features[some])
    return FittedUse(used, users)


def choose(
    pairs: Interactions,
    base: OcmfConfig,
    budget: Budget,
    side: SideInformation,
    *,
    use: Use | None = None,
    fixed: frozenset[str] = frozenset(),
    on_trial: OnTrial = lambda share: None,
) -> tuple[FeatureUse, list[Tried]]:
    """Return the best use on a validation part, and all that were compared, the best first.

    Among uses that score alike the one that does more for users with few pairs or none is taken: with links before
    without, features beside the pairs before features for the cold alone.
    A stated ``use`` is kept; settings named in ``fixed`` stay as ``base`` has them.
    A budget of 0 tries nothing: rough settings, and features beside the pairs.
    """
    uses = _uses(side, use)
    search = _Search(pairs, base, side, fixed)
    if budget.seconds <= 0.0:
        return search.found(budget, uses[0], on_trial), []
    left = budget.begin()
    candidates = search.candidates(budget, uses, on_trial)
    if len(candidates) == 1:
        return candidates[0], []
    scores = validated(pairs, candidates, side, left, seed=base.seed)
    tried = [Tried(one, score) for one, score in zip(candidates, scores, strict=True)]
    enough = (1.0 - ALIKE) * max(scores)
    chosen = next(one.used for one in tried if one.score >= enough)
    return chosen, sorted(tried, key=lambda one: -one.score)


def validated(
    pairs: Interactions,
    candidates: Sequence[FeatureUse],
    side: SideInformation,
    left: Callable[[], float],
    *,
    seed: int = 0,
) -> list[float]:
    """Return ndcg@20 of each use: some of each user's pairs are held out, users are scored as they are served.

    One split decides, and more of them while ``left`` has the seconds for another one.
    """
    # other splits than those of the search, where the settings were lucky
    splits = ocmf_search.splits_of(pairs, np.random.default_rng([seed, 5]))
    scores: list[list[float]] = []
    for split in splits:
        begun = left()
        scores.append(_scores(split, candidates, side))
        if left() < begun - left():
            break
    return [float(mean) for mean in np.mean(scores, axis=0)]


def _scores(
    split: ocmf_search.Split, candidates: Sequence[FeatureUse], side: SideInformation
) -> list[float]:
    fits: dict[tuple[OcmfConfig, bool], FittedUse] = {}
    scores = []
    for used in candidates:
        like = used.config, used.use == "made"
        if like not in fits:
            # cold and beside differ in the answers, not in the fit
            fits[like] = fit_with(split.fit, used, side)
        fitted = replace(fits[like], used=used)
        vectors = fitted.vectors(split.fit, side, split.users)
        scores.append(split.score(vectors, fitted.users.row.item_factors))
    return scores


def _uses(side: SideInformation, use: Use | None) -> list[Use]:
    """Return the possible uses of the features, the usual one first."""
    if use is not None:
        return [use]
    return ["beside"] if side.features is None else ["beside", "cold", "made"]


@dataclass(frozen=True, eq=False)
class _Search:
    """The search for the settings of each kind of fit."""

    pairs: Interactions
    base: OcmfConfig
    side: SideInformation
    fixed: frozenset[str]

    def candidates(self, budget: Budget, uses: list[Use], on_trial: OnTrial) -> list[FeatureUse]:
        """Return the best settings of both kinds of fits; each use of links is followed by the same without them."""
        found: list[FeatureUse] = []
        own: list[Use] = [use for use in uses if use != "made"]
        made: list[Use] = [use for use in uses if use == "made"]
        kinds = [some for some in (own, made) if some]
        linked = self.side.similar is not None and "graph" not in self.fixed
        searched = 1.0 - COMPARED if len(uses) > 1 or linked else 1.0
        shares = (1.0 - MADE, MADE) if len(kinds) == 2 else (1.0,)
        done = 0.0
        for some, of_search in zip(kinds, shares, strict=True):
            share = searched * of_search
            part = replace(budget, seconds=share * budget.seconds)
            used = self.found(part, some[0], _within(on_trial, done, done + share))
            done += share
            for use in some:
                found.append(replace(used, use=use))
                if used.config.graph and "graph" not in self.fixed:
                    found.append(FeatureUse(replace(used.config, graph=0.0), use))
        return found

    def found(self, budget: Budget, use: Use, on_trial: OnTrial) -> FeatureUse:
        """Return the settings found for one use."""
        config = ocmf_search.search(
            self.pairs,
            self.base,
            budget,
            similar=self.side.similar,
            features=self.side.features if use == "made" else None,
            fixed=self.fixed,
            on_trial=on_trial,
        )
        return FeatureUse(config, use)


def _within(on_trial: OnTrial, low: float, high: float) -> OnTrial:
    """Return what hears of a stretch of the work as a share of the whole."""
    return lambda share: on_trial(low + share * (high - low))
