"""Fit the weights of a stack to judged events (``choices.py``).

Maximum likelihood gives every event the same weight, even if no ranker finds its item; on sparse
data it therefore ranks worse than its best feature alone. The loss here gives an event less weight
the less likely the model finds its item, so it favours the top of the list.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from scipy.optimize import minimize

from core.errors import DataError
from core.kernels import stack as kernels
from core.stack.choices import Choices
from core.stack.logit import Logit, context, standard
from core.stack.signals import BY_BAYES, LIKES, POPULAR
from core.types import F32, F64

TOP = 0.3
"""Exponent of the loss; 0 is the likelihood. Measurements: docs/explanation/stack-fitting.md."""
PRIOR = 20.0
"""Strength of the pull towards what is expected, or towards an earlier fit, in events."""
STEADY = 5.0
"""How much more strongly a weight is pulled to be the same for all lengths of histories."""
LIKELY_STEPS, TOP_STEPS = 30, 60
"""Most steps by the likelihood, and by the loss of the top."""


@dataclass(frozen=True)
class Earlier:
    """An earlier fit, from which a new one departs as far as its events demand."""

    logit: Logit
    strength: float
    """Pull towards its weights, in events, beside that of every fit."""


def fit(
    choices: Choices,
    names: Sequence[str],
    *,
    top: float = TOP,
    pull: float = PRIOR,
    earlier: Earlier | None = None,
    begin: Logit | None = None,
    steps: int = TOP_STEPS,
    without: Collection[str] = (),
) -> Logit:
    """Return the logit of these signals; raise DataError if no event has its item in its list.

    It begins at the weights ``begin``, else at those of the earlier fit, else at what is
    expected: 1 for ``BY_BAYES``, 0 for all others. Signals ``without`` get no weight. ``pull`` is
    the strength with which weights are held at what is expected, in events.

    >>> from core.stack.choices import Choice, choices_of
    >>> item = np.array([[1.0, 0.0], [0.0, 1.0]], np.float32)
    >>> made = fit(choices_of([Choice(item, 0, 3)] * 20), ["good", "useless"])
    >>> made.scores(item, 3).argmax()
    np.int64(0)
    """
    listed = choices.taken >= 0
    if not listed.any():
        raise DataError("no event has its item among those to choose from: give more events")
    known = choices if listed.all() else choices.keep(listed)
    expected = _expected(known, names, without)
    towards = expected if earlier is None else _as(earlier.logit, expected)
    first = towards if begin is None else _as(begin, expected)
    strength = 0.0 if earlier is None else earlier.strength
    of_loss = partial(
        loss,
        standard=standard(known.signals, expected.mean, expected.scale),
        of_events=context(expected.length, known.length),
        choices=known,
        towards=towards.weights.ravel(),
        pull=np.tile(pull * np.array([1.0, STEADY, STEADY]) + strength, len(names)),
    )
    weights = first.weights.ravel()
    # the loss of the top is flat far from its end: it begins where the likelihood ends
    likely = [(0.0, LIKELY_STEPS)] if first is expected else []
    for exponent, most in [*likely, (top, steps)]:
        found = minimize(
            partial(of_loss, top=exponent),
            weights,
            jac=True,
            method="L-BFGS-B",
            options={"maxiter": most},
        )
        weights = found.x
    return replace(expected, weights=weights.reshape(-1, 3))


def _expected(known: Choices, names: Sequence[str], without: Collection[str]) -> Logit:
    """Return the weights before any event, with the means and scales of these events.

    Without an affinity nothing is expected of popularity: other rankers count it, too.
    """
    mean, scale = known.signals.mean(0, np.float64), known.signals.std(0, dtype=np.float64)
    varies = scale > 1e-9 * (1.0 + np.abs(mean))
    scale = np.where(varies & ~np.isin(names, list(without)), scale, 0.0)
    length = np.log1p(known.length)
    # rounding alone spreads equal lengths
    spread = float(length.std()) if np.ptp(length) > 0.0 else 0.0
    weights = np.zeros((mean.size, 3))
    of_bayes = np.isin(names, BY_BAYES) & (scale > 0.0)
    if np.count_nonzero(of_bayes) == len(BY_BAYES):
        # 1 for a signal is its scale for the standardised one
        weights[of_bayes, 0] = scale[of_bayes]
    return Logit(
        tuple(names),
        mean.astype(np.float32),
        scale.astype(np.float32),
        weights,
        (float(length.mean()), spread),
    )


def _as(logit: Logit, like: Logit) -> Logit:
    """Return a logit with the signals and scales of another, which weighs new signals.

    Beside a popularity that is weighed already, the number of people who liked an item begins
    at 0: else popularity would count twice.
    """
    known = logit.aligned(like.names).rescaled(like.mean, like.scale, like.length)
    own = [*logit.weighed, *([LIKES] if POPULAR in logit.weighed else [])]
    old = np.isin(like.names, own)[:, None]
    return replace(known, weights=np.where(old, known.weights, like.weights))


def loss(
    weights: F64,
    standard: F32,
    of_events: F64,
    choices: Choices,
    *,
    top: float,
    towards: F64 | float = 0.0,
    pull: F64 | float = PRIOR,
) -> tuple[float, F64]:
    """Return the loss of the weights (3 d,) and its gradient; every event has its item.

    Equation   mean over events of (1 - P(taken)^q) / q + sum of pull / (2 events) (weights -
               towards)^2; q = 0: mean of -log P(taken)
    Shapes     standard (rows, d) standardised signals · of_events (events, 3) their contexts ·
               towards, pull (3 d,) or one for all
    """
    n = len(choices)
    gradient = np.empty((standard.shape[1], 3))
    scratch = np.empty(int(choices.counts.max()))
    total = kernels.loss(
        standard,
        choices.ptr,
        choices.taken,
        of_events,
        weights.reshape(-1, 3),
        top,
        scratch,
        np.empty((2, standard.shape[1])),
        gradient,
    )
    away = weights - towards
    back = pull / n * away
    return total / n + float(away @ back) / 2, gradient.ravel() / n + back
