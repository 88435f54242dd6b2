"""Learn a stack as events arrive: a window holds the latest ones, and is fitted again as it fills.

Every event is judged by the weights from before it and learned afterwards. The window forgets old
events, so the weights follow a drift. Weights from elsewhere (a training, or before a restart) stay
in use until the window has enough events.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from core.mixture_weights import Weights, reciprocal_rank
from core.stack.choices import Choices, choices_of, ndcg10, ranks
from core.stack.fitting import TOP_STEPS, Earlier, fit
from core.stack.guard import cross_fitted
from core.stack.logit import Logit
from core.stack.window import Judged, Window

MOST_BYTES = 32 << 20
"""Most memory of a window."""
FEWEST = 60
"""Fewest events, whose item is listed, for a first fit."""
MORE = 1.25
"""Growth of the window until it is fitted again; a full one is fitted when a quarter is new."""
STRENGTH = 200.0
"""Pull towards the weights that a window began with, in events; it fades as the window fills."""
AGAIN_STEPS = 20
"""Most steps of a fit that begins at the weights of the last one."""
NEWEST = 4
"""One in so many events of a window, the newest, measures what each part of the stack adds."""


@dataclass(frozen=True, eq=False)
class Fitted:
    """A fit to the events of a window."""

    logit: Logit
    events: int
    """Number of events whose item was among the candidates."""
    added: Mapping[str, float]
    """By the first word of their names: what ndcg@10 loses without these signals, on the newest
    events, by a fit to the older ones. It is measured whenever the number of events has doubled."""


class StackLearner:
    """The latest judged events of one stream, and when to fit again."""

    def __init__(self, start: Logit | None = None, *, most_bytes: int = MOST_BYTES) -> None:
        self._start = start
        self.window = Window(most_bytes)
        self._next = FEWEST
        """Number of events at which the next fit is due."""
        self._last: Logit | None = start
        self._measured = 0
        """Number of events at which it is measured again what each part adds."""
        self._added: Mapping[str, float] = {}

    def start_at(self, logit: Logit) -> None:
        """Begin at other weights; the events of the window stay, and count from the next fit on."""
        self._start = self._last = logit

    @property
    def is_due(self) -> bool:
        """Whether enough events came since the last fit."""
        return self.window.n_seen >= self._next

    def learn(self, judged: Judged, names: Sequence[str]) -> None:
        """Take an event in; one whose item is not listed teaches nothing."""
        if judged.choice.taken >= 0:
            self.window.add(judged, names)

    def fit(self) -> Fitted | None:
        """Return a fit to the window; None while it is empty."""
        n, seen, names = len(self.window), self.window.n_seen, self.window.names
        self._next = int(seen + max(FEWEST // 4, (MORE - 1.0) * n))
        if not n:
            return None
        choices, begin = choices_of(event.choice for event in self.window), self._last
        steps = TOP_STEPS if begin is None else AGAIN_STEPS
        self._last = fit(choices, names, earlier=self._earlier(), begin=begin, steps=steps)
        if seen >= self._measured:
            self._measured = 2 * seen
            self._added = _added(choices, names, self._last)
        return Fitted(self._last, n, self._added)

    def arms(self, first: Weights, stack: str) -> Weights:
        """Return the weights of the arms as if the stack had been one from the window's start.

        Its ranks are those by fits to the other events.
        """
        choices = choices_of(event.choice for event in self.window)
        # the same events give the same folds
        held_out = cross_fitted(choices, self.window.names, np.random.default_rng(len(choices)))
        if held_out is None:
            return first
        weights = first
        for event, rank in zip(self.window, ranks(choices, held_out).tolist(), strict=True):
            gains = {**event.gains, stack: reciprocal_rank(rank)}
            weights = weights.after(event.choice.length, gains)
        return weights

    def _earlier(self) -> Earlier | None:
        n = len(self.window)
        left = 1.0 - (self.window.n_seen - n) / max(n, 1)
        return None if self._start is None or left <= 0.0 else Earlier(self._start, STRENGTH * left)


def _added(choices: Choices, names: Sequence[str], begin: Logit) -> dict[str, float]:
    """Return what ndcg@10 of the newest events loses without each part of the stack."""
    old, newest = choices.split(len(choices) - len(choices) // NEWEST)
    if not len(old) or not len(newest):
        return {}
    parts: dict[str, list[str]] = {}
    for name in names:
        parts.setdefault(name.split(":")[0], []).append(name)

    def gain(without: Sequence[str]) -> float:
        made = fit(old, names, begin=begin, steps=AGAIN_STEPS, without=without)
        return float(ndcg10(ranks(newest, made.score_all(newest))).mean())

    whole = gain(())
    return {part: whole - gain(signals) for part, signals in parts.items()}
