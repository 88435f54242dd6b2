"""The ranker of context models: MF, SVDFeature and two tensors, fitted by gradient descent.

If pairs have times, the context of a pair is the user and the user's previous item, and
recommendations are for the user and the newest item. There is no fold-in: users outside the fit are
cold.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from core.batch.contexts.config import ContextConfig
from core.batch.contexts.descent import Descended, descend
from core.batch.contexts.dot_models import (
    CpTensor,
    DotModel,
    MatrixFactorisation,
    PairwiseTensor,
    Parameters,
    SvdFeature,
    checked_features,
)
from core.batch.ranker import Bools, Ranker, liked_counts
from core.errors import ConfigError, DataError, NotFitted, ShapeError
from core.interactions import Interactions, as_interactions
from core.types import F32, I64

LEFT = 0.5
"""Smallest share of the previous fit's users who must still have pairs.

With fewer, the caller has probably passed the new pairs alone.
"""

OnEpoch = Callable[["ContextRanker", int], bool]
"""Called with the model and the epoch, counted from 1; True ends the fit."""


@dataclass(frozen=True, eq=False)
class FitResult:
    """The result of a fit: enough to recommend, to continue the fit, and to make a snapshot."""

    parameters: Parameters
    squares: Parameters
    """Adagrad's sums of squared gradients, see ``Descended``."""
    popular: F32
    """Number of users who like each item, (items, 1)."""
    cold: Bools
    """Which users had no pairs, (users,)."""
    timed: bool
    """Whether the previous item is part of the context."""
    item_features: Any
    """Features of the items in CSR, (items, d), or None."""
    epochs: int


class ContextRanker(Ranker):
    """A dot-product model of contexts; ``losses`` holds the loss before each half epoch.

    >>> from hedgerow import ContextConfig, ContextRanker, from_pairs
    >>> users, items = np.array([0, 0, 0, 1, 1]), np.array([0, 1, 2, 0, 1])
    >>> pairs = from_pairs(users, items, time=np.arange(5))
    >>> model = ContextRanker(ContextConfig("pitf", factors=2)).fit(pairs)
    >>> model.recommend(1, pairs, N=1)[0]  # given that item 1 was the last one
    array([2], dtype=int32)
    """

    def __init__(self, config: ContextConfig) -> None:
        self.config = config
        self.epochs = 0
        self.losses: list[float] = []
        self._model: DotModel[Any] | None = None
        self._parameters: Parameters | None = None
        self._found: FitResult | None = None
        self._timed, self._cold = False, np.zeros(0, np.bool_)

    @classmethod
    def of(cls, config: ContextConfig, found: FitResult) -> Self:
        """Return the fitted model with this result."""
        model = cls(config)
        model._timed, model._cold, model._popular = found.timed, found.cold, found.popular
        made = model._model = model._made(found.popular.shape[0], found.item_features)
        _check_shapes(made, found)
        model._parameters, model._found, model.epochs = found.parameters, found, found.epochs
        model._item_factors = np.ascontiguousarray(made.right(found.parameters))
        return model

    @property
    def found(self) -> FitResult:
        """Return the result of the fit; raise NotFitted before it."""
        if self._found is None:
            raise NotFitted("the model has not been fitted: call fit first")
        return self._found

    def fit(
        self,
        user_items: Any,
        *,
        item_features: Any = None,
        previous: "ContextRanker | None" = None,
        on_epoch: OnEpoch = lambda model, epoch: False,
    ) -> Self:
        """Fit to these pairs; return self.

        ``item_features`` (items, d) are for SVDFeature. The fit continues from ``previous``, a
        fitted model of the same kind whose users, items and features are the first ones here. Pass
        all pairs, not just the new ones: users without pairs are treated as cold.
        """
        pairs = as_interactions(user_items)
        before = None if previous is None else self._continued(previous, pairs)
        features = None if item_features is None else checked_features(item_features)
        self._timed = pairs.time is not None and self.config.kind != "mf"
        self._popular, self._cold = liked_counts(pairs), pairs.user_counts == 0
        model = self._model = self._made(pairs.n_items, features)
        contexts, rows = self._contexts(pairs)

        def hear(parameters: Parameters, epoch: int) -> bool:
            self._parameters, self.epochs = parameters, epoch
            self._item_factors = np.ascontiguousarray(model.right(parameters))
            return on_epoch(self, epoch)

        end = descend(model, contexts, rows, self.config.descent, previous=before, on_epoch=hear)
        self.losses, learned = end.losses, (end.parameters, end.squares)
        self._found = FitResult(
            *learned, self._popular, self._cold, self._timed, features, self.epochs
        )
        return self

    def _continued(self, previous: "ContextRanker", pairs: Interactions) -> Descended:
        if previous.config.kind != self.config.kind:
            raise ConfigError(
                f"the previous model is of kind {previous.config.kind}: continue it as that kind, "
                f"or fit {self.config.kind} without it"
            )
        found, (model, _) = previous.found, previous._fitted
        n_before, n_users = np.count_nonzero(~found.cold), np.count_nonzero(pairs.user_counts)
        if n_users < LEFT * n_before:
            raise ConfigError(
                f"{n_users} users have pairs, but {n_before} had pairs in the previous fit: "
                "give all pairs, not only the new ones"
            )
        return Descended(found.parameters, [], found.squares, model.blocks)

    @property
    def likeness(self) -> F32:
        """Return the factors of items and of their features, without constants and biases."""
        model, parameters = self._fitted
        return model.likeness(parameters)

    @property
    def _fitted(self) -> tuple[DotModel[Any], Parameters]:
        if self._model is None or self._parameters is None:
            raise NotFitted("the model has not been fitted: call fit first")
        return self._model, self._parameters

    def user_vectors(self, user_items: Any) -> F32:
        """Return the vectors of users 0 .. n - 1 of the fit, given the newest item of each row."""
        pairs = self._known(user_items)
        return self.asked_vectors(np.arange(pairs.n_users), pairs)

    def asked_vectors(self, users: I64, rows: Interactions) -> F32:
        """Return the vectors of these users of the fit; ``rows`` are their pairs."""
        model, parameters = self._fitted
        if users.max(initial=-1) >= self._cold.size:
            raise ShapeError(f"the model has {self._cold.size} users: fit it again with the others")
        contexts = self._asked(users, newest(rows) if self._timed else None, rows.n_items)
        return model.left(parameters, contexts)

    def unknown(self, users: I64, rows: Interactions) -> Bools:
        """Return which users had no pairs in the fit, for models that need the user's vector."""
        if self.config.kind in ("mf", "cp"):
            return self._cold[users]
        return np.zeros(users.size, np.bool_)

    def _made(self, n_items: int, item_features: Any) -> DotModel[Any]:
        kind, g, n_users = self.config.kind, self.config.factors, self._cold.size
        if item_features is not None and kind != "svdfeature":
            raise ConfigError(f"{kind} does not use features of items: use svdfeature")
        if kind == "mf":
            return MatrixFactorisation(n_users, n_items, g)
        if kind == "svdfeature":
            widths = (n_users, 1 + n_items) if self._timed else (n_users,)
            return SvdFeature(widths, _with_features(n_items, item_features), g)
        if not self._timed:
            raise ConfigError(
                f"{kind} needs the user and the previous item: "
                "give the pairs times, or use svdfeature"
            )
        tensor = PairwiseTensor if kind == "pitf" else CpTensor
        return tensor(n_users, 1 + n_items, n_items, g)

    def _contexts(self, pairs: Interactions) -> tuple[Any, Interactions]:
        """Return the contexts of the fit and their pairs, one row for each."""
        if not self._timed:
            return self._asked(np.arange(pairs.n_users), None, pairs.n_items), pairs
        each = Interactions(
            pairs.n_items,
            np.arange(len(pairs) + 1),
            pairs.item_ix,
            pairs.weight,
            pairs.target,
        )
        return self._asked(pairs.user_ix.astype(np.int64), before(pairs), pairs.n_items), each

    def _asked(self, users: I64, last: I64 | None, n_items: int) -> Any:
        """Return the contexts of users and their last items.

        "No item" is the first column, so that new items can be appended.
        """
        if self.config.kind == "mf":
            return users
        if last is None:
            return _ones(users[:, None], self._cold.size)
        if self.config.kind != "svdfeature":
            return np.column_stack([users, 1 + last])
        columns = np.column_stack([users, self._cold.size + 1 + last])
        return _ones(columns, self._cold.size + 1 + n_items)


def _check_shapes(model: DotModel[Any], found: FitResult) -> None:
    """Raise ShapeError unless the arrays have the shapes that the model needs."""
    parameter_shapes = _shapes(model.start(np.random.default_rng(0), 0.0))
    others = {"popular": found.popular, "cold": found.cold}
    for arrays, expected in (
        (found.parameters, parameter_shapes),
        (found.squares, parameter_shapes),
        (others, {"popular": (model.n_targets, 1), "cold": (found.cold.size,)}),
    ):
        actual = _shapes(arrays)
        for name in sorted(actual.keys() | expected.keys()):
            if actual.get(name) != expected.get(name):
                raise ShapeError(
                    f"{name} has shape {actual.get(name)}, "
                    f"but these settings need {expected.get(name)}"
                )


def _shapes(arrays: Mapping[str, NDArray[Any]]) -> dict[str, tuple[int, ...]]:
    return {name: array.shape for name, array in arrays.items()}


def before(pairs: Interactions) -> I64:
    """Return the user's previous item for each pair, -1 for the first.

    Equal times are sorted by item.

    >>> from core.interactions import from_pairs
    >>> before(from_pairs(np.array([0, 0, 0]), np.array([0, 1, 2]), time=np.array([5, 9, 7])))
    array([-1,  2,  0])
    """
    order, counts = _in_time(pairs), pairs.user_counts
    items = pairs.item_ix[order].astype(np.int64)
    shifted = np.concatenate([[-1], items[:-1]]) if items.size else items
    shifted[pairs.ptr[:-1][counts > 0]] = -1
    previous = np.empty(len(pairs), np.int64)
    previous[order] = shifted
    return previous


def newest(pairs: Interactions) -> I64:
    """Return the newest item of each row, -1 for an empty row."""
    counts = pairs.user_counts
    items = np.full(pairs.n_users, -1, np.int64)
    items[counts > 0] = pairs.item_ix[_in_time(pairs)[pairs.ptr[1:][counts > 0] - 1]]
    return items


def _in_time(pairs: Interactions) -> I64:
    if pairs.time is None:
        raise DataError("the previous item is found by time: give the pairs times")
    return np.lexsort((pairs.item_ix, pairs.time, pairs.user_ix))


def _with_features(n_items: int, features: Any) -> list[Any]:
    """Return the identity of each item as a block, followed by the block of its features."""
    identity = sparse.eye_array(n_items, dtype=np.float32, format="csr")
    if features is None:
        return [identity]
    if features.shape[0] != n_items:
        raise ShapeError(f"the features have {features.shape[0]} rows for {n_items} items")
    return [identity, features]


def _ones(columns: I64, width: int) -> Any:
    """Return a sparse matrix with ones in these columns of each row."""
    n, each = columns.shape
    ones = np.ones(n * each, np.float32)
    return sparse.csr_array((ones, columns.ravel(), np.arange(0, n * each + 1, each)), (n, width))
