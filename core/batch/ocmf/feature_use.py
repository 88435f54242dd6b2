"""Side information of users in a one-class fit, and the choice of its best use by validation.

In the paper features alone make the users' vectors. But a few features cannot tell users with a
history apart: a free vector for each, with the features beside it, serves them far better.
Validation decides which use suits the data.
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
"""Depth of the ndcg that scores a use."""
ALIKE = 0.005
"""Share by which scores may differ for two uses to count as equally good."""
COMPARED = 0.3
"""Share of the budget for comparing uses, if there are several."""
MADE = 0.3
"""Share of the search for the use ``made``, if the other uses are searched as well."""


@dataclass(frozen=True, eq=False)
class SideInformation:
    """Features and links of users, beside their pairs."""

    features: Any = None
    """Features (users, d), dense or sparse."""
    similar: sp.csr_array | None = None
    """Links S (users, users), see ``graph.similarity``."""


@dataclass(frozen=True)
class Tried:
    """A use and its ndcg@20 for held-out users."""

    used: FeatureUse
    score: float


@dataclass(frozen=True, eq=False)
class FittedUse:
    """A fit, with the use of features that determines the vectors of its users."""

    used: FeatureUse
    users: StructuredUsers

    def vectors(self, pairs: Interactions, side: SideInformation, rows: I64 | None = None) -> F32:
        """Return the vectors (rows, g) of the users ``rows`` of ``pairs``; None means all users."""
        similar = side.similar if self.users.link else None
        if rows is not None and similar is not None:
            # any user may be linked to these, so all vectors are needed
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
    """Return a fit to all pairs; it uses links if ``graph`` is set."""
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
) -> tuple[FeatureUse, list[Tried]]:
    """Return the best use on held-out pairs, and all uses that were compared, best first.

    Among uses that score alike, the one that helps users with few pairs or none most is taken: with
    links rather than without, and ``beside`` rather than ``cold``. A given ``use`` is kept, and
    settings in ``fixed`` stay as in ``base``. A budget of 0 returns rough settings without
    validation, and ``beside`` unless another ``use`` is given.
    """
    uses = _uses(side, use)
    search = _Search(pairs, base, side, fixed)
    if budget.seconds <= 0.0:
        return search.found(budget, uses[0]), []
    left = budget.begin()
    candidates = search.candidates(budget, uses)
    if len(candidates) == 1:
        return candidates[0], []
    scores = validated(pairs, candidates, side, left, seed=base.seed)
    tried = [Tried(trial, score) for trial, score in zip(candidates, scores, strict=True)]
    enough = (1.0 - ALIKE) * max(scores)
    chosen = next(trial.used for trial in tried if trial.score >= enough)
    return chosen, sorted(tried, key=lambda trial: -trial.score)


def validated(
    pairs: Interactions,
    candidates: Sequence[FeatureUse],
    side: SideInformation,
    left: Callable[[], float],
    *,
    seed: int = 0,
) -> list[float]:
    """Return the ndcg@20 of each use on held-out pairs, with users folded in as in serving.

    Further splits are used while ``left()``, the remaining seconds, suffices for another one.
    """
    # not the splits of the search, whose choice of settings was partly luck on them
    splits = ocmf_search.splits_of(pairs, np.random.default_rng([seed, 5]))
    scores: list[list[float]] = []
    for split in splits:
        begun = left()
        scores.append(_scores(split, candidates, side))
        if left() < begun - left():
            break
    return [float(mean) for mean in np.mean(scores, axis=0)]


def _scores(
    split: ocmf_search.HeldOutSplit, candidates: Sequence[FeatureUse], side: SideInformation
) -> list[float]:
    fits: dict[tuple[OcmfConfig, bool], FittedUse] = {}
    scores = []
    for used in candidates:
        like = used.config, used.use == "made"
        if like not in fits:
            # cold and beside share a fit and differ only in the vectors of users
            fits[like] = fit_with(split.fit, used, side)
        fitted = replace(fits[like], used=used)
        vectors = fitted.vectors(split.fit, side, split.users)
        scores.append(split.score(vectors, fitted.users.row.item_factors))
    return scores


def _uses(side: SideInformation, use: Use | None) -> list[Use]:
    """Return the possible uses of the features, the default first."""
    if use is not None:
        return [use]
    return ["beside"] if side.features is None else ["beside", "cold", "made"]


@dataclass(frozen=True, eq=False)
class _Search:
    """The search for the settings of each kind of fit: free vectors, or users made of features."""

    pairs: Interactions
    base: OcmfConfig
    side: SideInformation
    fixed: frozenset[str]

    def candidates(self, budget: Budget, uses: list[Use]) -> list[FeatureUse]:
        """Return the uses to compare, with the best settings of each kind of fit.

        A use with links is followed by the same use without them.
        """
        found: list[FeatureUse] = []
        free_vectors: list[Use] = [use for use in uses if use != "made"]
        made: list[Use] = [use for use in uses if use == "made"]
        kinds = [some for some in (free_vectors, made) if some]
        linked = self.side.similar is not None and "graph" not in self.fixed
        searched = 1.0 - COMPARED if len(uses) > 1 or linked else 1.0
        shares = (1.0 - MADE, MADE) if len(kinds) == 2 else (1.0,)
        done = 0.0
        for some, of_search in zip(kinds, shares, strict=True):
            share = searched * of_search
            used = self.found(budget.part(share, begins=done), some[0])
            done += share
            for use in some:
                found.append(replace(used, use=use))
                if used.config.graph and "graph" not in self.fixed:
                    found.append(FeatureUse(replace(used.config, graph=0.0), use))
        return found

    def found(self, budget: Budget, use: Use) -> FeatureUse:
        """Return the use with the best settings found for it."""
        config = ocmf_search.search(
            self.pairs,
            self.base,
            budget,
            similar=self.side.similar,
            features=self.side.features if use == "made" else None,
            fixed=self.fixed,
        )
        return FeatureUse(config, use)
