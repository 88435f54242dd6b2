"""Fit the weights of a stack to judged events (``choices.py``).

The likelihood cares for every event alike, also for those whose item no ranker finds, and on sparse
data ranks worse than its best feature. The loss here cares less for an event the less likely the
model finds it, hence for the top of the list.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from scipy.optimize import minimize

from core.errors import DataError
from core.kernels import stack as kernels
from core.stack.choices import Choices
from core.stack.logit import Logit, standard, standard_length
from core.types import F32, F64

TOP = 0.3
"""Exponent of the loss; 0 is the likelihood. docs/explanation/stack.md has the measurements."""
PRIOR = 20.0
"""Strength of the pull of weights towards 0, or towards an earlier fit, in events."""
LIKELY_STEPS, TOP_STEPS = 30, 60
"""Most steps by the likelihood, and by the loss of the top."""


@dataclass(frozen=True)
class Earlier:
    """An earlier fit, from which a new one departs as far as its events demand."""

    logit: Logit
    strength: float
    """Pull towards its weights, in events, beside ``PRIOR``."""


def fit(
    choices: Choices, names: Sequence[str], *, top: float = TOP, earlier: Earlier | None = None
) -> Logit:
    """Return the logit of these signals; raise DataError if no event has its item in its list.

    >>> from core.stack.choices import Choice, choices_of
    >>> item = np.array([[1.0, 0.0], [0.0, 1.0]], np.float32)
    >>> made = fit(choices_of([Choice(item, 0, 3)] * 20), ["good", "useless"])
    >>> made.scores(item, 3).argmax()
    np.int64(0)
    """
    listed = choices.taken >= 0
    if not listed.any():
        raise DataError("no event has its item among those to choose from: give more events")
    known = choices.keep(listed)
    made = _begun(known, names, earlier)
    pull = PRIOR + (0.0 if earlier is None else earlier.strength)
    weights = towards = made.weights.ravel()
    # from 0 the loss of the top is flat: it begins where the likelihood ends
    stages = [(0.0, LIKELY_STEPS), (top, TOP_STEPS)] if earlier is None else [(top, TOP_STEPS)]
    signals = standard(known.signals, made.mean, made.scale)
    of_loss = partial(
        loss,
        standard=signals,
        length=standard_length(made.length, known.length),
        choices=known,
        towards=towards,
        pull=pull,
    )
    for exponent, steps in stages:
        found = minimize(
            partial(of_loss, top=exponent),
            weights,
            jac=True,
            method="L-BFGS-B",
            options={"maxiter": steps},
        )
        weights = found.x
    return Logit(made.names, made.mean, made.scale, weights.reshape(-1, 2), made.length)


def _begun(known: Choices, names: Sequence[str], earlier: Earlier | None) -> Logit:
    """Return the weights to begin at, with the means and scales of the earlier fit if it has any.

    Signals that the earlier fit does not know begin at 0, with means and scales of these events.
    """
    mean, scale = known.signals.mean(0, np.float64), known.signals.std(0, dtype=np.float64)
    scale = np.where(scale > 1e-9 * (1.0 + np.abs(mean)), scale, 0.0)
    length = np.log1p(known.length)
    made = Logit(
        tuple(names),
        mean.astype(np.float32),
        scale.astype(np.float32),
        np.zeros((mean.size, 2)),
        (float(length.mean()), float(length.std())),
    )
    if earlier is None:
        return made
    old = earlier.logit.aligned(names)
    has = old.scale > 0.0
    return Logit(
        made.names,
        np.where(has, old.mean, made.mean),
        np.where(has, old.scale, made.scale),
        old.weights,
        old.length,
    )


def loss(
    weights: F64,
    standard: F32,
    length: F64,
    choices: Choices,
    *,
    top: float,
    towards: F64 | float = 0.0,
    pull: float = PRIOR,
) -> tuple[float, F64]:
    """Return the loss of the weights (2 d,) and its gradient; every event has its item.

    Equation   mean over events of (1 - P(taken)^q) / q + pull / (2 events) |weights - towards|^2;
               q = 0: mean of -log P(taken)
    Shapes     standard (rows, d) standardised signals · length (events,) standardised lengths
    """
    n, share = len(choices), pull / len(choices)
    gradient = np.empty((standard.shape[1], 2))
    scratch = np.empty(int(choices.counts.max()))
    total = kernels.loss(
        standard,
        choices.ptr,
        choices.taken,
        length,
        weights.reshape(-1, 2),
        top,
        scratch,
        gradient,
    )
    away = weights - towards
    return total / n + share / 2 * float(away @ away), gradient.ravel() / n + share * away
