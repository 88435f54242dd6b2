"""One fit of one-class factorisation: both sides, and how each is solved while the other is fixed.

Independent rows are solved one by one (``newton_rows``). A side with features or a graph, or with a
loss that the kernel does not support, is solved as a whole by trust-region Newton. The solver
``gradient`` uses gradient descent for both sides. ``model.py`` has the model around the fit.
"""

from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp

from core.batch.feature_map import Features, checked
from core.batch.gram import spectrum
from core.batch.losses import NAMED, LogisticLoss, Loss, MixedLoss, SquareLoss
from core.batch.ocmf.config import OcmfConfig
from core.batch.ocmf.graph import laplacian, similarity
from core.batch.ocmf.side import CHUNKS, FeatureMatrix, Pairs, Side
from core.batch.ocmf.start import start_items, with_negatives
from core.batch.ocmf.subproblem import Partners, Subproblem
from core.batch.ocmf.trust_region import Minimum, gradient_descent, trust_region_newton
from core.batch.weighting import mean_count, mean_weight, scaled_reg
from core.errors import Diverged, ShapeError
from core.interactions import Interactions, chunks
from core.kernels import ocmf as kernels
from core.types import F32, U8

Effort = tuple[int, int, float]
"""Newton steps, conjugate-gradient steps in each of them, and tolerance."""
ROUND: Effort = 5, 20, 1e-2
"""Effort for a whole side in each round."""
DESCENT_STEPS = 30
"""Steps of gradient descent for a side in each round; they are cheaper and achieve less."""
ROWS: Effort = 3, 6, 1e-2
"""Effort for rows that are solved one by one, in each round."""
FINAL: Effort = 50, 50, 1e-4
"""Effort for the fold-in of a user."""

ONE = np.ones(1, np.float32)


class OcmfFit:
    """Both sides of a fit and their factors; ``heard`` is 1 for users with pairs."""

    def __init__(
        self,
        config: OcmfConfig,
        pairs: Interactions,
        features: Features | FeatureMatrix | None,
        graph: Any,
    ) -> None:
        self.config = config
        known = None if features is None else feature_matrix(features)
        if known is not None and known.n_rows != pairs.n_users:
            raise ShapeError(f"the features have {known.n_rows} rows for {pairs.n_users} users")
        self.similar = None if graph is None else similarity(graph, pairs.n_users)
        self.heard = (pairs.user_counts > 0).astype(np.float32)
        self.mean_counts = mean_count(pairs.user_counts), mean_count(pairs.item_counts)
        reg_item = config.reg if config.reg_item is None else config.reg_item
        item_reg = scaled_reg(pairs.item_counts, reg_item, config.nu, self.mean_counts[1])
        weight = config.weight * mean_weight(pairs)
        self.listed = with_negatives(pairs, config.negatives, weight, seed=config.seed)
        self.columns = self.listed.by_item()
        self.pairs = Pairs(self.listed)
        all_pairs = weight if config.negatives == "all" else 0.0
        self.item_side = Side(np.full(pairs.n_items, all_pairs, np.float32), item_reg)
        strength = config.graph * config.reg
        self.side = Side(
            np.ones(pairs.n_users, np.float32),
            self._reg(pairs.user_counts) if known is None else self._flat(known.n_features),
            known,
            None if self.similar is None else laplacian(self.similar),
            strength,
        )
        self.loss = self._loss(self.listed)
        self.items = start_items(pairs, config.factors, seed=config.seed)
        self.parameters = np.zeros((self.side.n_parameters, self.items.shape[1]), np.float32)
        self.users = self.side.rows(self.parameters).astype(np.float32)

    def _reg(self, counts: Any) -> F32:
        return scaled_reg(counts, self.config.reg, self.config.nu, self.mean_counts[0])

    def _flat(self, n: int) -> F32:
        return np.full(n, self.config.reg, np.float32)

    def _loss(self, listed: Interactions) -> Loss:
        """Return the loss of the listed pairs, for a side that is solved as a whole."""
        loss = self.config.loss
        positive = NAMED[loss] if isinstance(loss, str) else loss
        if listed.weight is None and listed.target is None:
            return positive
        negative: Loss = SquareLoss(self._below)
        if self._kind == kernels.BOTH_LOGISTIC:
            negative = LogisticLoss(sign=-1.0)
        weight = np.ones(len(listed), np.float32) if listed.weight is None else listed.weight
        return MixedLoss(_labelled(listed) > 0, positive, negative, weight)

    def solve_users(self) -> float:
        """Solve the users for fixed items.

        Return f there, or raise Diverged if it is not finite.
        """
        problem = self._problem(self.pairs, self.loss, self.side, self._fixed_items)
        if self._has_rows_alone(self.side):
            self.parameters = self._rows(self.listed, self.side, self._fixed_items, self.parameters)
            value = problem.at(self.parameters).value
        else:
            minimum = self._solved(problem, self.parameters)
            self.parameters, value = minimum.place.astype(np.float32), minimum.value
        self.users = self.side.rows(self.parameters).astype(np.float32, copy=False)
        value += float((self.item_side.regularised(self.items) * self.items).sum(dtype=np.float64))
        if not np.isfinite(value):
            raise Diverged("the factors are not finite: fit with more regularisation (reg)")
        return value

    def solve_items(self) -> None:
        """Solve the items for fixed users."""
        side, users = self.item_side, Partners(self.users, self.side.weight)
        if self._has_rows_alone(side):
            self.items = self._rows(self.columns, side, users, self.items)
            return
        problem = self._problem(*self._of_items, side, users)
        self.items = self._solved(problem, self.items).place.astype(np.float32)

    def fold_in(self, pairs: Interactions, links: Any) -> F32:
        """Return the vectors of users, who may be new, for fixed items, (users, k).

        ``links`` (users, users of the fit) pull the users towards those they are linked to, or
        None.
        """
        reg = self._reg(pairs.user_counts)
        pull = np.zeros((1, self.items.shape[1]), np.float32)
        if links is not None:
            near = sp.csr_array(links, dtype=np.float32)
            if near.shape != (pairs.n_users, self.users.shape[0]):
                wanted = f"{pairs.n_users} x {self.users.shape[0]}"
                raise ShapeError(f"links are {near.shape[0]} x {near.shape[1]}, not {wanted}")
            reg = reg + self.side.graph * near.sum(axis=1)
            pull = np.asarray(2.0 * self.side.graph * (near @ self.users), np.float32)
        side = Side(np.ones(pairs.n_users, np.float32), reg)
        start = np.zeros((pairs.n_users, self.items.shape[1]), np.float32)
        items = Partners(self.items, self.item_weight, pull)
        if self.config.row_loss is None:
            pairs_and_loss = Pairs(pairs), self._loss(pairs)
            problem = self._problem(*pairs_and_loss, side, items)
            return _newton(problem, start, FINAL).place.astype(np.float32)
        return self._rows(pairs, side, items, start, FINAL)

    @cached_property
    def _of_items(self) -> tuple[Pairs, Loss]:
        return Pairs(self.columns), self._loss(self.columns)

    def _has_rows_alone(self, side: Side) -> bool:
        """Tell whether the kernel can solve the rows one by one.

        They must be independent, and the kernel must support the loss.
        """
        supported = self.config.solver == "newton" and self.config.row_loss is not None
        return supported and side.features is None and side.laplacian is None

    def _problem(self, pairs: Pairs, loss: Loss, side: Side, fixed: Partners) -> Subproblem:
        return Subproblem(pairs, loss, side, fixed, target=self.config.target)

    def _solved(self, problem: Subproblem, start: F32) -> Minimum:
        """Return an approximate minimum of a whole side."""
        if self.config.solver == "newton":
            return _newton(problem, start, ROUND)
        return gradient_descent(problem, start, steps=DESCENT_STEPS, tolerance=ROUND[-1])

    def _rows(
        self,
        pairs: Interactions,
        side: Side,
        fixed: Partners,
        start: F32,
        effort: Effort = ROWS,
    ) -> F32:
        """Solve independent rows, in the basis where the partners' Gram matrix is diagonal."""
        target, partners, pull = self.config.target, fixed.rows, fixed.pull
        partner_weight = fixed.weight
        gram, basis = spectrum((partner_weight[:, None] * partners).T @ partners)
        every = (2.0 * target) * side.weight[:, None] * (partner_weight @ partners)
        rows = np.ascontiguousarray(start @ basis)
        kernels.newton_rows(
            chunks(pairs.ptr, CHUNKS),
            pairs.ptr,
            pairs.item_ix,
            _labelled(pairs),
            ONE if pairs.weight is None else pairs.weight,
            partner_weight,
            side.weight,
            self._kind,
            target,
            self._below,
            gram,
            np.ascontiguousarray((every if pull is None else every + pull) @ basis),
            side.reg,
            np.ascontiguousarray(partners @ basis),
            rows,
            *effort,
        )
        return np.ascontiguousarray(rows @ basis.T)

    @property
    def _fixed_items(self) -> Partners:
        return Partners(self.items, self.item_weight)

    @property
    def item_weight(self) -> F32:
        """Return q, the weight of an unobserved pair of each item, (items,)."""
        weight: F32 = self.item_side.weight
        return weight

    @property
    def _kind(self) -> int:
        """Return the kernel's code for the losses of positives and of listed negatives.

        In LR-wSQ the loss of a dislike is the mirrored loss of a positive.
        """
        mirrored = self.config.negatives == "all"
        if self.config.loss != "logistic":
            return kernels.SQUARE
        if mirrored or self.config.negative_loss == "logistic":
            return kernels.BOTH_LOGISTIC
        return kernels.LOGISTIC

    @property
    def _below(self) -> float:
        """Return the target of the square loss of a listed negative: 0 for a dislike."""
        return 0.0 if self.config.negatives == "all" else self.config.target


def feature_matrix(features: Features | FeatureMatrix) -> FeatureMatrix:
    """Return the checked features.

    Fits that are given a FeatureMatrix share its cached products.
    """
    if isinstance(features, FeatureMatrix):
        return features
    matrix = checked(features)
    return FeatureMatrix(matrix, np.ones(matrix.shape[0], np.float32))


def _newton(problem: Subproblem, start: F32, effort: Effort) -> Minimum:
    steps, cg_steps, tolerance = effort
    return trust_region_newton(problem, start, steps=steps, cg_steps=cg_steps, tolerance=tolerance)


def _labelled(pairs: Interactions) -> U8:
    """Return 1 for positives, 0 for listed negatives, (pairs,) or (1,) if all are positive."""
    if pairs.target is None:
        return np.ones(1, np.uint8)
    return (pairs.target > 0).astype(np.uint8)
