"""Models whose score is the dot product of a context's and a target's vector, for gradient descent.

A model defines how both vectors follow from its parameters, and how a gradient with respect to the
vectors becomes one with respect to the parameters (chain rule). ``core.batch.contexts.descent``
does the rest. Parameters are named float32 arrays.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, Generic, TypeVar

import numpy as np
from scipy import sparse

from core.errors import DataError, ShapeError
from core.interactions import Interactions
from core.types import F32, I64

Parameters = dict[str, F32]
Blocks = Mapping[str, tuple[int, ...]]
"""Number of rows in each block of a parameter; a parameter that is not listed is one block.

A later fit may add rows to every block.
"""
Contexts = TypeVar("Contexts")


class DotModel(ABC, Generic[Contexts]):
    """A model with one vector for each context (left) and for each target (right).

    Each model defines the type of its contexts. Targets are numbered 0 .. n_targets - 1.
    """

    n_targets: int

    @property
    def blocks(self) -> Blocks:
        """Return the blocks of the parameters that have several."""
        return {}

    @abstractmethod
    def start(self, rng: np.random.Generator, deviation: float) -> Parameters:
        """Return parameters drawn from N(0, deviation^2)."""

    @abstractmethod
    def left(self, parameters: Parameters, contexts: Contexts) -> F32:
        """Return P (contexts, g)."""

    @abstractmethod
    def right(self, parameters: Parameters) -> F32:
        """Return Q (targets, g)."""

    def likeness(self, parameters: Parameters) -> F32:
        """Return the vectors that compare targets, (targets, f): Q without constants and biases."""
        return self.right(parameters)

    @abstractmethod
    def left_gradient(self, parameters: Parameters, contexts: Contexts, by_left: F32) -> Parameters:
        """Return the gradient by the parameters of P, given the gradient by P."""

    @abstractmethod
    def right_gradient(self, parameters: Parameters, by_right: F32) -> Parameters:
        """Return the gradient by the parameters of Q, given the gradient by Q."""

    @abstractmethod
    def counts(self, contexts: Contexts, pairs: Interactions) -> dict[str, I64]:
        """Return the number of pairs that involve each row of each parameter, (rows,)."""


class MatrixFactorisation(DotModel[I64]):
    """Matrix factorisation: score = p_x . q_y; contexts are user numbers (n,)."""

    def __init__(self, n_users: int, n_items: int, factors: int) -> None:
        self.n_users, self.n_targets, self.factors = n_users, n_items, factors

    def start(self, rng: np.random.Generator, deviation: float) -> Parameters:
        return {
            "users": _normal(rng, deviation, self.n_users, self.factors),
            "items": _normal(rng, deviation, self.n_targets, self.factors),
        }

    def left(self, parameters: Parameters, contexts: I64) -> F32:
        return parameters["users"][contexts]

    def right(self, parameters: Parameters) -> F32:
        return parameters["items"]

    def left_gradient(self, parameters: Parameters, contexts: I64, by_left: F32) -> Parameters:
        return {"users": _scatter(contexts, by_left, self.n_users)}

    def right_gradient(self, parameters: Parameters, by_right: F32) -> Parameters:
        return {"items": by_right}

    def counts(self, contexts: I64, pairs: Interactions) -> dict[str, I64]:
        return {
            "users": _counted(contexts, pairs.user_counts, self.n_users),
            "items": pairs.item_counts,
        }


class SvdFeature(DotModel[Any]):
    """SVDFeature: score = w0 + z_x.w_x + z_y.w_y + (z_x V_x) . (z_y V_y).

    Contexts are a sparse matrix (n, features). As a dot product:
    P = [Z_x V_x | w0 + Z_x w_x | 1], Q = [Z_y V_y | 1 | Z_y w_y]    [fBGD, eq. 11]

    Kinds of columns that can grow (users and previous items; items and their genres) are given as
    blocks: ``n_context_features`` has the width of each, ``target_features`` a matrix for each. A
    later fit continues every block by its first columns.
    """

    def __init__(
        self, n_context_features: int | Sequence[int], target_features: Any, factors: int
    ) -> None:
        self._context_blocks = tuple(int(n) for n in np.atleast_1d(n_context_features))
        given = target_features if isinstance(target_features, list | tuple) else [target_features]
        matrices = [checked_features(one) for one in given]
        self._target_blocks = tuple(int(one.shape[1]) for one in matrices)
        self.n_context_features, self.factors = sum(self._context_blocks), factors
        self.target_features: Any = sparse.csr_array(sparse.hstack(matrices))
        self.n_targets = int(self.target_features.shape[0])

    @property
    def blocks(self) -> Blocks:
        contexts, targets = self._context_blocks, self._target_blocks
        return {
            "context_factors": contexts,
            "context_bias": contexts,
            "target_factors": targets,
            "target_bias": targets,
        }

    def start(self, rng: np.random.Generator, deviation: float) -> Parameters:
        n_target_features = int(self.target_features.shape[1])
        return {
            "context_factors": _normal(rng, deviation, self.n_context_features, self.factors),
            "context_bias": np.zeros(self.n_context_features, np.float32),
            "bias": np.zeros(1, np.float32),
            "target_factors": _normal(rng, deviation, n_target_features, self.factors),
            "target_bias": np.zeros(n_target_features, np.float32),
        }

    def left(self, parameters: Parameters, contexts: Any) -> F32:
        if contexts.shape[1] != self.n_context_features:
            raise ShapeError(
                f"contexts have {contexts.shape[1]} features, "
                f"but the model has {self.n_context_features}"
            )
        bias = parameters["bias"] + contexts @ parameters["context_bias"]
        return _columns(contexts @ parameters["context_factors"], bias, np.ones_like(bias))

    def right(self, parameters: Parameters) -> F32:
        bias = self.target_features @ parameters["target_bias"]
        return _columns(self.likeness(parameters), np.ones_like(bias), bias)

    def likeness(self, parameters: Parameters) -> F32:
        factors: F32 = self.target_features @ parameters["target_factors"]
        return factors

    def left_gradient(self, parameters: Parameters, contexts: Any, by_left: F32) -> Parameters:
        f = self.factors
        return {
            "context_factors": contexts.T @ by_left[:, :f],
            "context_bias": contexts.T @ by_left[:, f],
            "bias": by_left[:, f].sum(keepdims=True),
        }

    def right_gradient(self, parameters: Parameters, by_right: F32) -> Parameters:
        f = self.factors
        return {
            "target_factors": self.target_features.T @ by_right[:, :f],
            "target_bias": self.target_features.T @ by_right[:, f + 1],
        }

    def counts(self, contexts: Any, pairs: Interactions) -> dict[str, I64]:
        of_context = _touched(contexts).T @ pairs.user_counts
        of_target = _touched(self.target_features).T @ pairs.item_counts
        return {
            "context_factors": of_context,
            "context_bias": of_context,
            "bias": np.array([len(pairs)]),
            "target_factors": of_target,
            "target_bias": of_target,
        }


class _Tensor(DotModel[I64]):
    """A tensor model; contexts are pairs of numbers (n, 2), such as users and previous items."""

    def __init__(self, n_first: int, n_second: int, n_targets: int, factors: int) -> None:
        self.n_first, self.n_second = n_first, n_second
        self.n_targets, self.factors = n_targets, factors

    def start(self, rng: np.random.Generator, deviation: float) -> Parameters:
        return {
            "first": _normal(rng, deviation, self.n_first, self.factors),
            "second": _normal(rng, deviation, self.n_second, self.factors),
            "targets": _normal(rng, deviation, self.n_targets, self.factors),
        }

    @staticmethod
    def _factors(parameters: Parameters, contexts: I64) -> tuple[F32, F32]:
        return parameters["first"][contexts[:, 0]], parameters["second"][contexts[:, 1]]

    def _scattered(self, contexts: I64, by_first: F32, by_second: F32) -> Parameters:
        return {
            "first": _scatter(contexts[:, 0], by_first, self.n_first),
            "second": _scatter(contexts[:, 1], by_second, self.n_second),
        }

    def counts(self, contexts: I64, pairs: Interactions) -> dict[str, I64]:
        return {
            "first": _counted(contexts[:, 0], pairs.user_counts, self.n_first),
            "second": _counted(contexts[:, 1], pairs.user_counts, self.n_second),
            "targets": pairs.item_counts,
        }


class PairwiseTensor(_Tensor):
    """Pairwise tensor: score = a.b + a.y + b.y, P = [a + b | a.b], Q = [y | 1]    [fBGD, PITF]"""

    def left(self, parameters: Parameters, contexts: I64) -> F32:
        a, b = self._factors(parameters, contexts)
        return _columns(a + b, (a * b).sum(1))

    def right(self, parameters: Parameters) -> F32:
        return _columns(parameters["targets"], np.ones(self.n_targets, np.float32))

    def likeness(self, parameters: Parameters) -> F32:
        return parameters["targets"]

    def left_gradient(self, parameters: Parameters, contexts: I64, by_left: F32) -> Parameters:
        a, b = self._factors(parameters, contexts)
        sums, product = by_left[:, : self.factors], by_left[:, self.factors :]
        return self._scattered(contexts, sums + product * b, sums + product * a)

    def right_gradient(self, parameters: Parameters, by_right: F32) -> Parameters:
        return {"targets": by_right[:, : self.factors]}


class CpTensor(_Tensor):
    """CP decomposition: score = sum over d of a_d b_d y_d, P = a * b, Q = y    [fBGD, CP]"""

    def left(self, parameters: Parameters, contexts: I64) -> F32:
        a, b = self._factors(parameters, contexts)
        return a * b

    def right(self, parameters: Parameters) -> F32:
        return parameters["targets"]

    def left_gradient(self, parameters: Parameters, contexts: I64, by_left: F32) -> Parameters:
        a, b = self._factors(parameters, contexts)
        return self._scattered(contexts, by_left * b, by_left * a)

    def right_gradient(self, parameters: Parameters, by_right: F32) -> Parameters:
        return {"targets": by_right}


def checked_features(features: Any) -> Any:
    """Return the features as a float32 CSR matrix; rows may be empty."""
    if not sparse.issparse(features):
        raise ShapeError(
            "features must be a scipy.sparse matrix with one row for each context or target"
        )
    given: Any = features
    matrix: Any = sparse.csr_array(given, dtype=np.float32)
    if not np.isfinite(matrix.data).all():
        raise DataError("a feature is NaN or infinite: correct or omit it")
    return matrix


def _normal(rng: np.random.Generator, deviation: float, rows: int, columns: int) -> F32:
    drawn: F32 = rng.standard_normal((rows, columns), np.float32) * np.float32(deviation)
    return drawn


def grown(
    parameters: Parameters, previous: Parameters, blocks: Blocks, previous_blocks: Blocks
) -> Parameters:
    """Return ``parameters`` with the values of an earlier model in the first rows of each block.

    The caller must keep all numbers: new users, items and features follow the old ones of their
    block. Raises ShapeError if the earlier model is of another kind, has other factors or more
    rows.
    """
    if parameters.keys() != previous.keys():
        raise ShapeError("the previous parameters belong to another kind of model")
    taken = {}
    for name, old in previous.items():
        new = parameters[name].copy()
        now, then = blocks.get(name, new.shape[:1]), previous_blocks.get(name, old.shape[:1])
        fewer = len(now) == len(then) and all(n >= m for n, m in zip(now, then, strict=True))
        if old.shape[1:] != new.shape[1:] or not fewer:
            raise ShapeError(
                f"{name} was {old.shape} in blocks of {then} rows, is {new.shape} in {now}: "
                "keep factors, blocks and numbers, and add new rows at the end of their block"
            )
        starts = np.cumsum((0, *now)), np.cumsum((0, *then))
        for at, before, n in zip(*starts, then, strict=False):
            new[at : at + n] = old[before : before + n]
        taken[name] = new
    return taken


def _counted(rows: I64, pairs: I64, n: int) -> I64:
    """Return the sum of ``pairs`` by row, (n,)."""
    return np.bincount(rows, weights=pairs, minlength=n).astype(np.int64)


def _touched(features: Any) -> Any:
    """Return the matrix with 1 for every feature that is not 0."""
    where: Any = features.copy()
    where.data = (where.data != 0).astype(np.int64)
    return where


def _columns(*parts: Any) -> F32:
    """Return matrices and columns side by side, in C order."""
    joined: F32 = np.column_stack(parts).astype(np.float32, order="C")
    return joined


def _scatter(rows: I64, values: F32, n: int) -> F32:
    """Return n rows.

    Row r is the sum of the values whose row is r (a product with a 0-1 matrix).
    """
    places = np.arange(rows.size + 1)
    ones: Any = sparse.csr_array(
        (np.ones(rows.size, np.float32), rows, places), shape=(rows.size, n)
    )
    gathered: F32 = np.ascontiguousarray(ones.T @ values, np.float32)
    return gathered
