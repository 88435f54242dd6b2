"""Charts of the papers' figures as SVG: lines over a numeric axis."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape

import numpy as np

from core.types import F64

WIDTH, HEIGHT, LEFT, TOP, NAMES = 560, 300, 64, 40, 190
"""Of the panel, its distance from the left and from the top, and the width of the names."""
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000")
"""Told apart by colour-blind people, too."""
LEVELS = 5


@dataclass(frozen=True, eq=False)
class Chart:
    """Lines (x, y) by name; ``name`` is that of the file."""

    name: str
    title: str
    x_title: str
    lines: Mapping[str, tuple[Sequence[float] | F64, Sequence[float] | F64]]
    log_x: bool = False

    def svg(self) -> str:
        """Return the drawing; points that are not finite are left out."""
        lines = {name: _finite(*line) for name, line in self.lines.items()}
        places = [self._place(x) for x, _ in lines.values()]
        across = _bounds(places)
        up = _bounds([y for _, y in lines.values()])
        parts = [*_grid(up), *self._ticks(across), _text(LEFT, TOP - 16, self.title, 14)]
        for at, (name, (x, y)) in enumerate(lines.items()):
            stroke = f'stroke="{COLOURS[at % len(COLOURS)]}" stroke-width="1.8"'
            left = LEFT + WIDTH * _share(self._place(x), across)
            top = TOP + HEIGHT * (1.0 - _share(y, up))
            points = " ".join(f"{a:.1f},{b:.1f}" for a, b in zip(left, top, strict=True))
            parts.append(f'<polyline fill="none" {stroke} points="{points}"/>')
            parts += _legend(name, at, stroke)
        size = f"0 0 {LEFT + WIDTH + NAMES} {TOP + HEIGHT + 50}"
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="{size}" '
            'font-family="sans-serif" font-size="12">'
            f'<rect width="100%" height="100%" fill="white"/>{"".join(parts)}</svg>\n'
        )

    def _place(self, x: F64) -> F64:
        return np.log10(x) if self.log_x else x

    def _ticks(self, across: tuple[float, float]) -> Iterator[str]:
        y = TOP + HEIGHT + 18
        for share in np.linspace(0.0, 1.0, LEVELS).tolist():
            value = across[0] + share * (across[1] - across[0])
            label = f"{10.0**value if self.log_x else value:.3g}"
            yield _text(LEFT + share * WIDTH, y, label, 12, "middle")
        yield _text(LEFT + WIDTH / 2, y + 20, self.x_title, 12, "middle")


def _finite(x: Sequence[float] | F64, y: Sequence[float] | F64) -> tuple[F64, F64]:
    left, up = np.asarray(x, np.float64), np.asarray(y, np.float64)
    kept = np.isfinite(left) & np.isfinite(up)
    return left[kept], up[kept]


def _bounds(values: Sequence[F64]) -> tuple[float, float]:
    every = np.concatenate([np.empty(0), *values])
    low, high = (float(every.min()), float(every.max())) if every.size else (0.0, 1.0)
    return (low, high) if high > low else (low - 0.5, high + 0.5)


def _share(values: F64, bounds: tuple[float, float]) -> F64:
    return (values - bounds[0]) / (bounds[1] - bounds[0])


def _grid(up: tuple[float, float]) -> Iterator[str]:
    for share in np.linspace(0.0, 1.0, LEVELS).tolist():
        y = TOP + HEIGHT * (1.0 - share)
        yield f'<path d="M{LEFT} {y:.1f}h{WIDTH}" stroke="#ddd"/>'
        yield _text(LEFT - 6, y + 4, f"{up[0] + share * (up[1] - up[0]):.3g}", 12, "end")


def _legend(name: str, at: int, stroke: str) -> Iterator[str]:
    left, y = LEFT + WIDTH + 20, TOP + 20 * at
    yield f'<path d="M{left} {y}h24" {stroke}/>'
    yield _text(left + 32, y + 4, name, 12)


def _text(x: float, y: float, words: str, size: int, anchor: str = "start") -> str:
    place = f'x="{x:.1f}" y="{y:.1f}" font-size="{size}" text-anchor="{anchor}"'
    return f"<text {place}>{escape(words)}</text>"
