"""Fixed share on a generated stream of predictions whose best expert changes half-way.

``python -m bench.drift`` prints the mean loss after the change; core's aggregators do the work.
"""

import numpy as np

from bench.report import Figure
from core.online.aggregators import HedgeWeights
from core.types import F64

EVENTS, EXPERTS = 20_000, 5
BETA, SHARE = 0.9, 1e-3
GOOD, BAD = 0.4, 1.2
"""Standard deviations of the error of the best expert and of all others, in rating units."""


def stream(seed: int) -> tuple[F64, F64]:
    """Return predictions (n, m) on 1..5 and ratings (n,).

    Expert 0 is best in the first half, the last expert in the second.
    """
    rng = np.random.default_rng(seed)
    rating = rng.integers(1, 6, EVENTS).astype(np.float64)
    spread = np.full((EVENTS, EXPERTS), BAD)
    spread[: EVENTS // 2, 0] = GOOD
    spread[EVENTS // 2 :, -1] = GOOD
    predicted = rating[:, None] + spread * rng.normal(size=spread.shape)
    return np.clip(predicted, 1.0, 5.0), rating


def loss_after_change(predicted: F64, rating: F64, share: float) -> float:
    """Return Hedge's mean absolute error over the second half."""
    hedge = HedgeWeights(EXPERTS, beta=BETA, share=share, wanted=True)
    error = np.abs(hedge.follow(predicted, rating) - rating)
    return float(error[EVENTS // 2 :].mean())


def run(seed: int = 0) -> dict[str, float]:
    """Return the mean loss after the change.

    The keys are "best" (expert), "share" (Hedge with fixed share) and "plain" (without it).
    """
    predicted, rating = stream(seed)
    late = slice(EVENTS // 2, None)
    return {
        "best": float(np.abs(predicted[late, -1] - rating[late]).mean()),
        "share": loss_after_change(predicted, rating, SHARE),
        "plain": loss_after_change(predicted, rating, 0.0),
    }


def figures() -> list[Figure]:
    """Return how far both losses exceed the best expert's after the change.

    Fixed share must stay below its bar; plain Hedge must stay above it, or the stream proves
    nothing.
    """
    measured = run()
    excess = {name: 100.0 * (measured[name] / measured["best"] - 1.0) for name in measured}
    what = "over the best expert's loss after it changed half-way"
    return [
        Figure("Drift", f"Hedge with fixed share: {what}", excess["share"], "%", bar=5.0),
        Figure("Drift", f"plain Hedge: {what}", excess["plain"], "%", bar=5.0, better="higher"),
    ]


if __name__ == "__main__":
    for name, loss in run().items():
        print(f"{name:6} {loss:.4f}")
