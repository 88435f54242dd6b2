"""Full-batch gradient descent for dot-product models, plain or with Adagrad's step sizes.

Every epoch updates all parameters of the contexts, then all parameters of the targets, by the exact
gradient over all pairs. ``dot_models.py`` has the models.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from core.batch.contexts.config import DescentConfig
from core.batch.contexts.dot_models import Blocks, DotModel, Parameters, grown
from core.batch.gram import gram
from core.batch.row_objective import ONE, PARTS
from core.batch.weighting import constant_loss, mean_count, negative_weights, scaled_reg
from core.errors import Diverged, ShapeError
from core.interactions import Interactions, check_pairs, chunks
from core.kernels import fbgd
from core.types import F32, I64


@dataclass(frozen=True)
class Descended:
    """The result of a descent; ``losses`` holds the regularised loss before each half epoch."""

    parameters: Parameters
    losses: list[float]
    squares: Parameters
    """Adagrad's sums of squared gradients, with which a continued descent keeps its step sizes."""
    blocks: Blocks = field(default_factory=dict)
    """The blocks of the model (``DotModel.blocks``)."""


class _Steps:
    """The optimiser; it updates ``squares``, its memory, in place."""

    def __init__(self, config: DescentConfig, reg: Parameters, squares: Parameters) -> None:
        self._config, self._reg = config, reg
        self.squares = squares

    def take(self, parameters: Parameters, gradient: Parameters) -> None:
        """Take one step against the gradient, in place."""
        for name, slope in gradient.items():
            theta = parameters[name]
            slope = slope + np.float32(2.0) * self._reg[name] * theta
            theta -= np.float32(self._config.learning_rate) * self._scaled(name, slope)

    def _scaled(self, name: str, slope: F32) -> F32:
        if self._config.optimiser == "plain":
            return slope
        squares = self.squares[name]
        squares += slope * slope
        if not np.isfinite(squares).all():
            raise Diverged(
                "the squared gradients are not finite: divide the weights and alpha0 by a constant"
            )
        scaled: F32 = (slope / (np.sqrt(squares) + np.float32(self._config.epsilon))).astype(
            np.float32
        )
        return scaled


class _Side:
    """The gradient of the rows of ``pairs`` for fixed factors of the other side."""

    def __init__(
        self, pairs: Interactions, negative: F32, config: DescentConfig, *, of_items: bool
    ) -> None:
        self._pairs, self._negative, self._of_items = pairs, negative, of_items
        self._below = np.float32(config.negative_target)
        self._cut = chunks(pairs.ptr, PARTS)

    def gradient(self, rows: F32, fixed: F32) -> tuple[F32, float]:
        """Return the gradient with respect to the rows, and the loss without its constant term."""
        weight = ONE if self._of_items else self._negative
        shared = gram(fixed, weight, np.linspace(0, fixed.shape[0], PARTS + 1).astype(np.int64))
        sums = (fixed * weight[:, None]).sum(0, dtype=np.float64)
        out, loss = np.empty_like(rows), np.empty(self._cut.size - 1)
        pairs = self._pairs
        fbgd.gradient(
            self._cut,
            pairs.ptr,
            pairs.item_ix,
            ONE if pairs.weight is None else pairs.weight,
            ONE if pairs.target is None else pairs.target,
            self._negative,
            self._below,
            self._of_items,
            shared.astype(np.float32),
            (self._below * sums).astype(np.float32),
            np.ascontiguousarray(fixed),
            np.ascontiguousarray(rows),
            out,
            loss,
        )
        return out, float(loss.sum())


@np.errstate(over="ignore", invalid="ignore")
def descend(
    model: DotModel[Any],
    contexts: Any,
    pairs: Interactions,
    config: DescentConfig,
    *,
    previous: Descended | None = None,
    on_epoch: Callable[[Parameters, int], bool] = lambda parameters, epoch: False,
) -> Descended:
    """Fit the model to pairs whose rows are the contexts.

    The fit continues from ``previous``, which may have fewer users, items or features: new ones
    have the highest numbers of their block (see ``SvdFeature``). ``on_epoch`` is called with the
    parameters after each epoch, counted from 1, and ends the fit by returning True. Raises Diverged
    if gradients or parameters are no longer finite.
    """
    check_pairs(pairs)
    if pairs.n_items != model.n_targets:
        raise ShapeError(
            f"the model has {model.n_targets} targets, but the pairs have {pairs.n_items}"
        )
    parameters = _started(model, config)
    squares = {name: np.zeros_like(values) for name, values in parameters.items()}
    if previous is not None:
        parameters = grown(parameters, previous.parameters, model.blocks, previous.blocks)
        squares = grown(squares, previous.squares, model.blocks, previous.blocks)
    columns = pairs.by_item()
    negative = negative_weights(columns.user_counts, config.alpha0, config.rho)
    left = _Side(pairs, negative, config, of_items=False)
    right = _Side(columns, negative, config, of_items=True)
    reg = _regs(model.counts(contexts, pairs), parameters, config)
    steps, losses = _Steps(config, reg, squares), []
    constant = constant_loss(pairs, negative, config.negative_target)
    for epoch in range(1, config.epochs + 1):
        q = model.right(parameters)
        by_left, loss = left.gradient(model.left(parameters, contexts), q)
        losses.append(constant + loss + _penalty(reg, parameters))
        steps.take(parameters, model.left_gradient(parameters, contexts, by_left))
        by_right, loss = right.gradient(model.right(parameters), model.left(parameters, contexts))
        losses.append(constant + loss + _penalty(reg, parameters))
        steps.take(parameters, model.right_gradient(parameters, by_right))
        if not all(np.isfinite(values).all() for values in parameters.values()):
            raise Diverged(
                "the parameters are no longer finite: "
                "lower learning_rate, or use the adagrad optimiser"
            )
        if on_epoch(parameters, epoch):
            break
    return Descended(parameters, losses, squares, model.blocks)


def _started(model: DotModel[Any], config: DescentConfig) -> Parameters:
    rng = np.random.default_rng(config.seed)
    width = model.right(model.start(rng, 0.0)).shape[1]
    return model.start(np.random.default_rng(config.seed), config.start / float(np.sqrt(width)))


def _regs(counts: dict[str, I64], parameters: Parameters, config: DescentConfig) -> Parameters:
    """Return the regularisation of each row, shaped to multiply the parameter."""
    regs = {}
    for name, count in counts.items():
        reg = scaled_reg(count, config.reg, config.nu, mean_count(count))
        regs[name] = reg.reshape(-1, *[1] * (parameters[name].ndim - 1))
    return regs


def _penalty(regs: Parameters, parameters: Parameters) -> float:
    return sum(
        float((regs[name] * np.square(values)).sum(dtype=np.float64))
        for name, values in parameters.items()
    )
