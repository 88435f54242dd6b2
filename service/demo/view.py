"""The view of `hedgerow demo`: the error, the contributions of the experts, some predictions."""

import math
import textwrap
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field

from rich.console import Group, RenderableType
from rich.markup import escape
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

BARS = " ▁▂▃▄▅▆▇█"
POINTS = 60
"""Points of the curve."""
WIDTH = 30
"""Characters of the longest bar."""
RECENT = 200
"""Ratings of the moving average."""


@dataclass(frozen=True)
class Expert:
    """One expert: its contribution to predictions, and its recent error."""

    name: str
    contribution: float
    recent_loss: float


@dataclass
class Sample:
    """A pair whose prediction is watched."""

    user: str
    item: str
    title: str
    rating: float | None = None
    before: float | None = None
    low: float = 0.0
    high: float = 0.0

    def update(self, rating: float, low: float, high: float) -> None:
        """Set a new prediction."""
        if self.rating is not None and abs(rating - self.rating) >= 0.005:
            self.before = self.rating
        self.rating, self.low, self.high = rating, low, high

    @property
    def arrow(self) -> str:
        """The direction of the latest change."""
        if self.before is None or self.rating is None:
            return " "
        return "↗" if self.rating > self.before else "↘"


@dataclass(frozen=True)
class Recommended:
    """Current recommendations for one user, and their strategy."""

    user: str
    titles: tuple[str, ...]
    strategy: str


@dataclass
class Progress:
    """The state of a running demo."""

    url: str
    total: int | None = None
    """Number of ratings in the file, None for an endless world."""
    learned: int = 0
    rate: float = 0.0
    experts: list[Expert] = field(default_factory=list)
    samples: list[Sample] = field(default_factory=list)
    curve: list[float] = field(default_factory=list)
    training: str = "the ranking model waits for more ratings"
    """Progress or outcome of the latest training."""
    recommended: Recommended | None = None
    _recent: deque[float] = field(default_factory=lambda: deque(maxlen=RECENT))
    _every: int = 20
    _first_error: float | None = None

    def add_error(self, error: float) -> None:
        """Record the error of one prediction, made before its rating was learned."""
        self.learned += 1
        self._recent.append(error)
        if self.learned == RECENT:
            self._first_error = self.error
        if self.learned % self._every == 0:
            self.curve.append(self.error)
        if len(self.curve) == 2 * POINTS:
            # keep the whole history in view: half the points, twice as far apart
            self.curve = self.curve[1::2]
            self._every *= 2

    @property
    def error(self) -> float:
        """Mean absolute error of the latest RECENT ratings."""
        return sum(self._recent) / len(self._recent) if self._recent else float("nan")

    @property
    def first_error(self) -> float | None:
        """Mean absolute error of the first RECENT ratings, None while there are fewer."""
        return self._first_error


def sparkline(values: Sequence[float]) -> str:
    """Return values as a curve of small bars.


    >>> sparkline([0.0, 0.5, 1.0])
    '▁▅█'
    """
    if not values:
        return ""
    low, high = min(values), max(values)
    span = (high - low) or 1.0
    return "".join(BARS[1 + round((value - low) / span * 7)] for value in values)


def plain_line(progress: Progress, width: int = 1_000) -> str:
    """Return the state as a line for a log, wrapped and indented beyond ``width``.

    >>> plain_line(Progress("", learned=1455, total=100_000, training="training: reading 3%"))
    '1,455 of 100,000 ratings · training: reading 3%'
    """
    parts = [_counted(progress)]
    if progress.first_error is not None:
        parts.append(f"error {progress.first_error:.2f} → {progress.error:.2f}")
    elif math.isfinite(progress.error):
        parts.append(f"error {progress.error:.2f}")
    line = " · ".join([*parts, progress.training])
    return textwrap.fill(line, width, subsequent_indent="  ", break_on_hyphens=False)


def _counted(progress: Progress) -> str:
    of = "" if progress.total is None else f" of {progress.total:,}"
    return f"{progress.learned:,}{of} ratings"


def screen(progress: Progress) -> RenderableType:
    """Return the whole view for a terminal."""
    return Group(
        Panel(_curve(progress), title="error of predictions, in stars", title_align="left"),
        Panel(
            _experts(progress.experts),
            title="contribution of each expert to predictions, and its own error",
            title_align="left",
        ),
        Panel(
            _samples(progress.samples), title="predicted ratings of some users", title_align="left"
        ),
        Panel(_recommended(progress), title="recommendations for one of them", title_align="left"),
        Text(f"{progress.url}/console in a browser shows more · Ctrl-C ends the demo", style="dim"),
    )


def _curve(progress: Progress) -> RenderableType:
    points = progress.curve[-POINTS:] if len(progress.curve) <= POINTS else _thinned(progress.curve)
    first = progress.first_error
    text = f"{_counted(progress)}, {progress.rate:.0f}/s"
    if first is not None:
        text += f" · error of the last {RECENT}: {progress.error:.2f}, first: {first:.2f}"
    return Group(Text(sparkline(points), style="green"), Text(text))


def _thinned(values: Sequence[float]) -> list[float]:
    return [values[round(n * (len(values) - 1) / (POINTS - 1))] for n in range(POINTS)]


def _experts(experts: Sequence[Expert]) -> RenderableType:
    table = Table.grid(padding=(0, 2))
    largest = max((abs(expert.contribution) for expert in experts), default=1.0) or 1.0
    for expert in experts:
        bar = "█" * round(abs(expert.contribution) / largest * WIDTH)
        style = "cyan" if expert.contribution >= 0 else "red"
        share, error = f"{expert.contribution:+.2f}", f"error {4.0 * expert.recent_loss:.3f}"
        table.add_row(expert.name, Text(bar, style=style), share, Text(error, "dim"))
    return table


def _samples(samples: Sequence[Sample]) -> RenderableType:
    table = Table.grid(padding=(0, 2))
    for sample in samples:
        rating = "..." if sample.rating is None else f"{sample.rating:.2f} {sample.arrow}"
        interval = "" if sample.rating is None else f"{sample.low:.1f} to {sample.high:.1f}"
        table.add_row(
            escape(sample.user), escape(sample.title), Text(rating, "bold"), Text(interval, "dim")
        )
    return table


def _recommended(progress: Progress) -> RenderableType:
    slate = progress.recommended
    text = Text("nothing yet", style="dim")
    if slate is not None:
        text = Text.assemble(
            f"{slate.user}  ",
            (", ".join(slate.titles) or "nothing", "bold"),
            (f"  {slate.strategy}", "dim"),
        )
    return Group(text, Text(progress.training, style="dim"))
