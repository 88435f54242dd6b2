"""One-class structured matrix factorisation, optionally with features and a graph of users.

Every unobserved pair is a negative of small weight. ``SQ-SQ``, ``SQ-wSQ`` and ``LR-wSQ`` of the
paper differ in that weight and in the loss of positives. See ``config.py`` for the settings and
``fit.py`` for the fit.
"""

from collections.abc import Callable
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike

from core.batch.feature_map import FeatureMap, Features, checked
from core.batch.gram import spectrum
from core.batch.item_objective import ItemObjective
from core.batch.ocmf.config import OcmfConfig
from core.batch.ocmf.fit import OcmfFit
from core.batch.ocmf.side import FeatureMatrix
from core.batch.ocmf.users import StructuredUsers
from core.batch.ranker import Bools, Ranker, left_out, liked_counts
from core.batch.row_objective import RowObjective, diagonal_basis, diagonalised
from core.batch.shrinkage import shrunk
from core.errors import ConfigError, NotFitted, ShapeError
from core.interactions import Interactions, as_interactions, check_pairs
from core.types import F32, I32, I64

OnRound = Callable[["Ocmf", int], bool]
"""Called with the model and the round, counted from 1; True ends the fit."""


class Ocmf(Ranker):
    """One-class structured matrix factorisation; ``losses`` holds f(W, H) after each round.

    >>> from hedgerow import Ocmf, OcmfConfig, from_pairs
    >>> pairs = from_pairs(np.array([0, 0, 1, 1, 2]), np.array([0, 1, 0, 2, 1]))
    >>> gender = np.array([[1.0], [0.0], [1.0]])
    >>> model = Ocmf(OcmfConfig(factors=2)).fit(pairs, features=gender)
    >>> model.recommend(2, pairs, N=2)[0].shape  # by the features of the fit
    (2,)
    """

    def __init__(self, config: OcmfConfig) -> None:
        self.config = config
        self.losses: list[float] = []
        self.rounds = 0
        self._users: F32 | None = None
        self._parameters: F32 | None = None
        self._fit: OcmfFit | None = None
        self._row: RowObjective | None = None

    @np.errstate(over="ignore", invalid="ignore")
    def fit(
        self,
        user_items: Any,
        *,
        features: Features | FeatureMatrix | None = None,
        graph: Any = None,
        on_round: OnRound = lambda model, number: False,
    ) -> Self:
        """Fit to these pairs; return self.

        ``features`` (users, d) are those of the users; ``graph`` holds links between users, in a
        form that ``graph.similarity`` accepts.
        """
        pairs = as_interactions(user_items)
        check_pairs(pairs)
        fit = self._fit = OcmfFit(self.config, pairs, features, graph)
        self._popular = liked_counts(pairs)
        self.losses = []
        for number in range(1, self.config.rounds + 1):
            if number > 1:
                fit.solve_items()
            self.losses.append(fit.solve_users())
            self._users, self._item_factors = fit.users, fit.items
            self._parameters, self._row = fit.parameters, None
            self.rounds = number
            if on_round(self, number):
                break
        return self

    @property
    def trained_users(self) -> F32:
        """Return the vectors of the users of the fit, (users, k)."""
        if self._users is None:
            raise NotFitted("the model has not been fitted: call fit first")
        return self._users

    @property
    def objective(self) -> RowObjective:
        """Return the objective that folds users in, for snapshots and serving.

        Its item vectors are in another basis; scores stay the same.
        """
        fit = self._fitted
        if fit.side.features is not None or fit.side.laplacian is not None:
            raise ConfigError(
                "users of this model depend on features or links, not on pairs alone: "
                "export users_of(model)"
            )
        return self.row_objective

    @property
    def row_objective(self) -> RowObjective:
        """Return the objective of a user's pairs, without features and graph; see ``objective``."""
        if self._row is None:
            self._row = self._exported()
        return self._row

    def _exported(self) -> RowObjective:
        fit = self._fitted
        if self.config.negatives != "all":
            raise ConfigError(
                "a model of listed negatives has no row objective: set negatives to all"
            )
        loss = self.config.row_loss
        if loss is None:
            raise ConfigError(
                "serving can fold users in with loss square or logistic only: "
                "use the model itself (recommend, user_vectors)"
            )
        row = diagonalised(
            self.item_factors,
            fit.item_weight,
            negative_target=self.config.target,
            reg=self.config.reg,
            nu=self.config.nu,
            mean_count=fit.mean_counts[0],
            loss=loss,
        )
        return shrunk(row, fit.listed, self.config.shrinkage)

    @property
    def item_objective(self) -> ItemObjective:
        """Return the objective of an item's pairs, in the basis of ``row_objective``."""
        fit, row, config = self._fitted, self.row_objective, self.config
        _, basis = diagonal_basis(self.item_factors, row.negative)
        users = np.asarray(fit.users, np.float64) @ basis
        values, turn = spectrum(users.T @ users)
        return ItemObjective(
            gram=values.astype(np.float32),
            turn=np.ascontiguousarray(turn, np.float32),
            user_sum=(users.sum(axis=0) @ turn).astype(np.float32),
            unobserved=float(fit.item_weight.max(initial=0.0)),
            rho=0.0,
            total=float(max(len(fit.listed), 1)),
            negative_target=config.target,
            reg=config.reg if config.reg_item is None else config.reg_item,
            nu=config.nu,
            mean_count=fit.mean_counts[1],
            loss=row.loss,
        )

    @property
    def parameters(self) -> F32 | None:
        """Return W (d, k), the vector of each feature, or None for a model without features."""
        return None if self._fitted.side.features is None else self._parameters

    @property
    def link(self) -> float:
        """Return the strength of a link of weight 1; 0 for a model without a graph."""
        return 0.0 if self._fitted.side.laplacian is None else self._fitted.side.graph

    @property
    def _fitted(self) -> OcmfFit:
        if self._fit is None:
            raise NotFitted("the model has not been fitted: call fit first")
        return self._fit

    def vectors_of(self, features: Features) -> F32:
        """Return the vectors of users with these features, (users, k)."""
        parameters = self.parameters
        if parameters is None:
            raise ConfigError("the model was fitted without features: fit it with features")
        matrix = checked(features)
        if matrix.shape[1] != parameters.shape[0]:
            raise ShapeError(
                f"{matrix.shape[1]} features given, but the model has {parameters.shape[0]}"
            )
        vectors: Any = matrix @ parameters
        ready: F32 = vectors
        return ready

    def user_vectors(self, user_items: Any, *, links: Any = None) -> F32:
        """Return the exact minimiser of each user's row, (users, k).

        ``links`` (users, users of the fit) are the weights of each user's links, for a model with a
        graph.
        """
        pairs = self._known(user_items)
        if self._fitted.side.features is not None:
            raise ConfigError(
                "users of this model depend on their features: "
                "call vectors_of, or recommend with features"
            )
        return self._folded_in(pairs, links)

    def recommend(
        self,
        userid: ArrayLike,
        user_items: Any,
        N: int = 10,
        filter_already_liked_items: bool = True,
        filter_items: ArrayLike | None = None,
        *,
        features: Features | None = None,
        links: Any = None,
    ) -> tuple[I32, F32]:
        """Return the best items of users; see ``Ranker.recommend``.

        Users of the fit have its features and links. For other users give ``features`` (users, d)
        or ``links`` (users, users of the fit), one row for each user.
        """
        asked, rows = self._asked_rows(userid, user_items)
        vectors = self.asked_vectors(asked, rows, features=features, links=links)
        unknown = self.unknown(asked, rows, links=links)
        seen = left_out(rows, filter_already_liked_items)
        ids, scores = self._ranked(vectors, unknown, seen, N, filter_items)
        return (ids[0], scores[0]) if np.ndim(userid) == 0 else (ids, scores)

    def asked_vectors(
        self,
        users: I64,
        rows: Interactions,
        *,
        features: Features | None = None,
        links: Any = None,
    ) -> F32:
        """Return the vectors of users from their features, or else from their pairs and links.

        Features and links are those of the fit unless given.
        """
        side = self._fitted.side
        if side.features is not None and links is not None:
            raise ConfigError("users of this model depend on their features: leave links out")
        if features is not None:
            vectors = self.vectors_of(features)
            if vectors.shape[0] != users.size:
                raise ShapeError(
                    f"the features have {vectors.shape[0]} rows for {users.size} users"
                )
            return vectors
        if side.features is not None:
            return self.trained_users[self._of_fit(users, "features")]
        return self._folded_in(rows, self._links(users, links))

    def unknown(self, users: I64, rows: Interactions, *, links: Any = None) -> Bools:
        """Return which users have neither pairs, features nor a linked user with pairs.

        With shrinkage none is unknown.
        """
        fit = self._fitted
        if fit.side.features is not None or self._shrinks:
            return np.zeros(users.size, np.bool_)
        alone, near = super().unknown(users, rows), self._links(users, links)
        return alone if not self.link else alone & (near @ fit.heard == 0.0)

    @property
    def _shrinks(self) -> bool:
        """Tell whether short histories are shrunk: only in a model without features and graph."""
        side = self._fitted.side
        alone = side.features is None and side.laplacian is None
        return alone and self.config.shrinkage > 0.0 and self.config.negatives == "all"

    def _folded_in(self, pairs: Interactions, links: Any) -> F32:
        """Return the vectors of users from pairs and links, as in serving."""
        if not self._shrinks or links is not None:
            return self._fitted.fold_in(pairs, links)
        row = self.row_objective
        _, basis = diagonal_basis(self.item_factors, row.negative)
        return np.ascontiguousarray(row.vectors(pairs) @ basis.T, np.float32)

    def _links(self, users: I64, links: Any) -> Any:
        """Return the links of users, (users, users of the fit), or None without a graph.

        The links are those of the fit unless given.
        """
        similar = self._fitted.similar
        if similar is not None:
            return similar[self._of_fit(users, "links")] if links is None else sp.csr_array(links)
        if links is not None:
            raise ConfigError(
                "the model was fitted without a graph: fit it with one, or leave links out"
            )
        return None

    def _of_fit(self, users: I64, wanted: str) -> I64:
        n = self.trained_users.shape[0]
        if users.max(initial=-1) >= n:
            raise ShapeError(
                f"the fit had users 0 .. {n - 1}: give the {wanted} of others ({wanted}=)"
            )
        return users


def users_of(model: Ocmf, feature_map: FeatureMap | None = None) -> StructuredUsers:
    """Return the part of a fitted model that makes users' vectors.

    ``feature_map`` is the map that made the features of the fit.

    >>> from hedgerow import Ocmf, OcmfConfig, from_pairs
    >>> from hedgerow.features import FeatureMap, users_of
    >>> pairs, x = from_pairs([0, 1, 2], [0, 1, 0]), np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 0.0]])
    >>> model = Ocmf(OcmfConfig(factors=2)).fit(pairs, features=FeatureMap().transform(x))
    >>> users = users_of(model, FeatureMap())
    >>> users.weights.shape, users.link
    ((3, 2), 0.0)
    """
    row, items = model.row_objective, model.item_objective
    if model.parameters is None:
        return StructuredUsers(row, link=model.link, items=items)
    if feature_map is None:
        raise ConfigError("the model was fitted with features: give the map that made them")
    _, basis = diagonal_basis(model.item_factors, row.negative)
    weights = np.ascontiguousarray(model.parameters @ basis, np.float32)
    return StructuredUsers(row, weights, feature_map, model.link, items=items)
