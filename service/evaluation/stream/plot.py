"""The figures of a stream as a drawing: ndcg@10 along the stream, and by length of history."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape

import numpy as np

from core.types import F64
from service.evaluation.stream.loop import Answered
from service.evaluation.stream.report import LENGTHS, Figures
from service.ranking.strategies import MIXTURE, Strategy

PARTS = 20
"""Parts of the stream, each with as many judged events as any other."""
WIDTH, HEIGHT, LEFT, TOP, GAP = 560, 300, 56, 40, 70
"""Of a panel, its distance from the left and from the top, and between two panels."""
NAMES = 150
"""Width of the list of names."""
COLOURS = (
    "#0072b2",
    "#d55e00",
    "#009e73",
    "#cc79a7",
    "#e69f00",
    "#56b4e9",
    "#7f7f7f",
    "#8c564b",
    "#17becf",
    "#bcbd22",
)
"""Told apart by colour-blind people, too; the mixture is black and thicker."""


@dataclass(frozen=True)
class Panel:
    """Lines over named places."""

    title: str
    places: Sequence[str]
    lines: Mapping[Strategy, Sequence[float]]


def drawn(answers: Sequence[Answered]) -> str:
    """Return the drawing of the sample's figures as SVG."""
    whole = Figures.of([one for one in answers if not one.question.first])
    panels = [_along(whole), _by_length(whole)]
    names = sorted(
        whole.ranks, key=lambda name: (name != MIXTURE, -float(whole.gains[name].mean()))
    )
    colour = {name: COLOURS[at % len(COLOURS)] for at, name in enumerate(names[1:])}
    width = LEFT + 2 * WIDTH + GAP + NAMES
    parts = [
        part
        for at, panel in enumerate(panels)
        for part in _panel(panel, LEFT + at * (WIDTH + GAP), colour)
    ]
    parts += _legend(names, LEFT + 2 * WIDTH + GAP + 20, colour)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {TOP + HEIGHT + 50}" '
        'font-family="sans-serif" font-size="12">'
        f'<rect width="100%" height="100%" fill="white"/>{"".join(parts)}</svg>\n'
    )


def _along(whole: Figures) -> Panel:
    cuts = np.array_split(np.arange(len(whole)), min(PARTS, len(whole)))
    parts = {name: [gain[part] for part in cuts] for name, gain in whole.gains.items()}
    places = [f"{round(100 * (n + 1) / len(cuts))} %" for n in range(len(cuts))]
    return Panel("ndcg@10 along the stream", places, _means(parts))


def _by_length(whole: Figures) -> Panel:
    of = np.searchsorted(LENGTHS, whole.length, side="right") - 1
    known = np.unique(of).tolist()
    parts = {name: [gain[of == n] for n in known] for name, gain in whole.gains.items()}
    places = [f"{LENGTHS[n]}+" for n in known]
    return Panel("ndcg@10 by preferences of the user", places, _means(parts))


def _means(parts: Mapping[Strategy, Sequence[F64]]) -> dict[Strategy, list[float]]:
    return {name: [float(part.mean()) for part in of] for name, of in parts.items()}


def _panel(panel: Panel, left: int, colour: Mapping[Strategy, str]) -> list[str]:
    top = max(max(line) for line in panel.lines.values()) or 1.0
    x = np.linspace(left, left + WIDTH, max(len(panel.places), 2))
    title = f'<text x="{left}" y="{TOP - 16}" font-size="14">{escape(panel.title)}</text>'
    lines = [
        f'<polyline fill="none" {_stroke(name, colour)} points="{_points(x, line, top)}"/>'
        for name, line in panel.lines.items()
    ]
    return [title, *_levels(left, top), *_places(panel.places, x), *lines]


def _points(x: F64, line: Sequence[float], top: float) -> str:
    y = TOP + HEIGHT * (1.0 - np.array(line) / top)
    return " ".join(f"{at:.1f},{level:.1f}" for at, level in zip(x, y, strict=False))


def _levels(left: int, top: float) -> Iterator[str]:
    for share in (0.0, 0.25, 0.5, 0.75, 1.0):
        y = TOP + HEIGHT * (1.0 - share)
        yield f'<path d="M{left} {y:.1f}h{WIDTH}" stroke="#ddd"/>'
        yield f'<text x="{left - 6}" y="{y + 4:.1f}" text-anchor="end">{share * top:.3f}</text>'


def _places(places: Sequence[str], x: F64) -> Iterator[str]:
    for at in range(0, len(places), -(-len(places) // 10)):
        yield f'<text x="{x[at]:.1f}" y="{TOP + HEIGHT + 18}" text-anchor="middle">'
        yield f"{escape(places[at])}</text>"


def _legend(names: Sequence[Strategy], left: int, colour: Mapping[Strategy, str]) -> list[str]:
    return [
        f'<path d="M{left} {TOP + 20 * at}h24" {_stroke(name, colour)}/>'
        f'<text x="{left + 32}" y="{TOP + 20 * at + 4}">{escape(name)}</text>'
        for at, name in enumerate(names)
    ]


def _stroke(name: Strategy, colour: Mapping[Strategy, str]) -> str:
    if name == MIXTURE:
        return 'stroke="black" stroke-width="3"'
    return f'stroke="{colour[name]}" stroke-width="1.5"'
