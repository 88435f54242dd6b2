"""fBGD: matrix factorisation on all pairs with the exact batch gradient.

Every epoch updates all users, then all items. The default optimiser takes two preconditioned
conjugate-gradient steps on the quadratic of each row. It works in the basis of the eigenvectors of
the shared Gram matrix: that matrix is then diagonal, and the objective stays the same.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Any, Self

import numpy as np

from core.batch.fbgd.config import FbgdConfig
from core.batch.gram import gram, spectrum
from core.batch.item_objective import ItemObjective
from core.batch.ranker import Bools, Ranker, liked_counts
from core.batch.row_objective import ONE, PARTS, RowObjective
from core.batch.shrinkage import shrunk
from core.batch.weighting import (
    constant_loss,
    mean_count,
    negative_weights,
    scaled_reg,
    unobserved_unit,
)
from core.errors import ConfigError, NotFitted
from core.interactions import Interactions, as_interactions, check_pairs, chunks
from core.kernels import fbgd
from core.types import F32, F64, I64

EXACT = 0.0
"""Tolerance of the training steps: only their number ends them."""

SIGNS_FROM = 16
"""Fewest factors for a start with random signs.

With fewer, the signs of the few items that all users have may cancel, and the fit would stay at 0.
"""

OnEpoch = Callable[["Fbgd", int], bool]
"""Called with the model and the epoch, counted from 1; True ends the fit."""


class Fbgd(Ranker):
    """Matrix factorisation; ``losses`` holds the loss before each half epoch.

    >>> from hedgerow import Fbgd, FbgdConfig, from_pairs
    >>> pairs = from_pairs(np.array([0, 0, 1, 1, 2]), np.array([0, 1, 0, 2, 1]))
    >>> model = Fbgd(FbgdConfig(factors=2)).fit(pairs)
    >>> model.recommend(2, pairs, N=1)[0].tolist(), model.similar_items(0, N=3)[0].shape
    ([0], (3,))
    """

    def __init__(self, config: FbgdConfig) -> None:
        self.config = config
        self.objective: RowObjective | None = None
        self.item_objective: ItemObjective | None = None
        """By it, items are folded in that the fit has not learned."""
        self.losses: list[float] = []
        self.epochs = 0

    @np.errstate(over="ignore", invalid="ignore")
    def fit(
        self,
        user_items: Any,
        *,
        previous: RowObjective | None = None,
        on_epoch: OnEpoch | None = None,
    ) -> Self:
        """Fit to these pairs; return self.

        The fit continues from ``previous``, a model with as many factors whose items are the first
        ones here.
        """
        pairs = as_interactions(user_items)
        check_pairs(pairs)
        sides = _Sides(self.config, pairs, previous)
        self.losses, self._popular = sides.losses, liked_counts(pairs)
        for epoch in range(1, self.config.epochs + 1):
            sides.epoch()
            self.epochs = epoch
            if on_epoch is not None:
                # the next epoch changes the items in place
                found = sides.exported()
                self._hold(replace(found, item_factors=found.item_factors.copy()))
                if on_epoch(self, epoch):
                    break
        self._hold(shrunk(sides.exported(), pairs, self.config.shrinkage))
        self.item_objective = sides.of_items()
        return self

    def _hold(self, objective: RowObjective) -> None:
        self.objective, self._item_factors = objective, objective.item_factors

    def user_vectors(self, user_items: Any) -> F32:
        """Return the exact minimiser of each user's row, (users, g)."""
        return self.fitted.vectors(self._known(user_items))

    def unknown(self, users: I64, rows: Interactions) -> Bools:
        """Return which users have no pairs; with shrinkage none is unknown."""
        return super().unknown(users, rows) & (self.config.shrinkage == 0.0)

    @property
    def fitted(self) -> RowObjective:
        """Return the users' objective of the fitted model."""
        if self.objective is None:
            raise NotFitted("the model has not been fitted: call fit first")
        return self.objective


class _Sides:
    """Both sides of a fit.

    Between epochs the item vectors are in the basis where Q'diag(a)Q is diagonal. User vectors are
    rotated by ``turn`` at their next update, which saves the last rotation of a fit.
    """

    def __init__(
        self, config: FbgdConfig, pairs: Interactions, previous: RowObjective | None
    ) -> None:
        self.config = config
        self.pairs, self.columns = pairs, pairs.by_item()
        self.user_cut = chunks(pairs.ptr, PARTS)
        self.item_cut = chunks(self.columns.ptr, PARTS)
        user_counts, item_counts = pairs.user_counts, self.columns.user_counts
        self.negative = negative_weights(item_counts, config.alpha0, config.rho)
        self.mean_user_count = mean_count(user_counts)
        self.user_reg = scaled_reg(user_counts, config.reg, config.nu_user, self.mean_user_count)
        self.item_reg = scaled_reg(item_counts, config.reg, config.nu_item, mean_count(item_counts))
        self.constant = constant_loss(pairs, self.negative, config.negative_target)
        self.losses: list[float] = []
        if previous is None:
            self._start()
        else:
            self._continue(previous)

    def _start(self) -> None:
        """Start with random signs: as good as normal numbers, in a tenth of the time."""
        n, g = self.pairs.n_items, self.config.factors
        size = np.float32(self.config.start / np.sqrt(g))
        rng = np.random.default_rng(self.config.seed)
        if g < SIGNS_FROM:
            self.items = rng.standard_normal((n, g), np.float32) * size
        else:
            bits = np.frombuffer(rng.bytes(-(-n * g // 8)), np.uint8)
            self.items = np.unpackbits(bits, count=n * g).reshape(n, g) * (2 * size)
            self.items -= size
        self.users = np.zeros((self.pairs.n_users, g), np.float32)
        self._face_users()

    def _continue(self, previous: RowObjective) -> None:
        """Start with the previous item vectors; new items and all users start at 0.

        Users are not folded in first: the few steps of the first half epoch lead to better users
        than an exact fold-in, as in every epoch.
        """
        n_items, g = previous.item_factors.shape
        if g != self.config.factors or n_items > self.pairs.n_items:
            raise ConfigError(
                f"the previous model has {g} factors and {n_items} items, the new one "
                f"{self.config.factors} and {self.pairs.n_items}: keep factors and item numbers"
            )
        self.items = np.zeros((self.pairs.n_items, g), np.float32)
        self.items[:n_items] = previous.item_factors
        self.users = np.zeros((self.pairs.n_users, g), np.float32)
        self._face_users()

    def _face_users(self) -> None:
        """Rotate the items to the basis of the users' quadratic.

        Users are rotated at their update.
        """
        weight = self.negative if self.config.rho else self.negative[:1]
        self.gram, self.turn = _spectrum(gram(self.items, weight, self.item_cut))
        fbgd.rotate(self.item_cut, self.items, self.turn)
        self.item_sum: F32 = (self.items.T @ self.negative).astype(np.float32)

    def _face_items(self) -> None:
        self.gram, self.turn = _spectrum(gram(self.users, ONE, self.user_cut))
        fbgd.rotate(self.user_cut, self.users, self.turn)
        fbgd.rotate(self.item_cut, self.items, self.turn)
        self.item_sum = self.users.sum(0, dtype=np.float64).astype(np.float32)

    def epoch(self) -> None:
        """Update the users, then the items."""
        # before the first epoch all users are 0
        if self.losses:
            fbgd.rotate(self.user_cut, self.users, self.turn)
        penalty = _penalty(self.item_reg, self.items)
        self._solve(self.pairs, self.user_cut, self.user_reg, penalty, of_items=False)
        self._face_items()
        penalty = _penalty(self.user_reg, self.users)
        self._solve(self.columns, self.item_cut, self.item_reg, penalty, of_items=True)
        self.of_users = self.gram, self.item_sum
        self._face_users()

    def _solve(
        self, pairs: Interactions, cut: I64, reg: F32, penalty: float, *, of_items: bool
    ) -> None:
        fixed, rows = (self.users, self.items) if of_items else (self.items, self.users)
        loss = np.empty(cut.size - 1)
        fbgd.solve_rows(
            cut,
            pairs.ptr,
            pairs.item_ix,
            ONE if pairs.weight is None else pairs.weight,
            ONE if pairs.target is None else pairs.target,
            self.negative,
            np.float32(self.config.negative_target),
            of_items,
            self.gram,
            self.item_sum * np.float32(self.config.negative_target),
            reg,
            fixed,
            rows,
            self.config.steps,
            EXACT,
            loss,
        )
        self.losses.append(self.constant + float(loss.sum()) + penalty)

    def of_items(self) -> ItemObjective:
        """Return the items' objective, with the users by which the items were updated last."""
        config, counts = self.config, self.columns.user_counts
        values, user_sum = self.of_users
        return ItemObjective(
            gram=values,
            turn=np.ascontiguousarray(self.turn.T),
            user_sum=user_sum,
            unobserved=unobserved_unit(counts, config.alpha0, config.rho),
            rho=config.rho,
            total=float(max(int(counts.sum()), 1)),
            negative_target=config.negative_target,
            reg=config.reg,
            nu=config.nu_item,
            mean_count=mean_count(counts),
        )

    def exported(self) -> RowObjective:
        """Return the users' objective.

        Its item factors are not a copy: the next epoch changes them.
        """
        config = self.config
        return RowObjective(
            self.items,
            self.gram,
            self.item_sum,
            self.negative,
            config.negative_target,
            config.reg,
            config.nu_user,
            self.mean_user_count,
        )


def _spectrum(gram: F64) -> tuple[F32, F32]:
    """Return eigenvalues (g,) and eigenvectors (g, g)."""
    values, basis = spectrum(gram)
    return values.astype(np.float32), np.ascontiguousarray(basis, np.float32)


def _penalty(reg: F32, rows: F32) -> float:
    return float(np.dot(reg, np.einsum("ij,ij->i", rows, rows)))
