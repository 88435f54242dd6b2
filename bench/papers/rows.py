"""The rows of all tables: a figure of a paper beside ours, or a claim and its verdict."""

import csv
import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

from bench.papers.intervals import Estimate

TOLERANCE = 0.02
"""A figure within 2 % of the published one counts as reproduced.

No paper states its start, splits and chosen settings exactly enough to expect more.
"""


@dataclass(frozen=True)
class Row:
    """One cell of a table or figure, or one claim."""

    paper: str
    table: str
    data: str
    method: str
    measure: str
    published: float | None
    ours: float | None
    low: float | None
    high: float | None
    repeats: int
    verdict: str
    note: str = ""


@dataclass(frozen=True)
class Cell:
    """The place of a figure: paper, table, data, method and measure."""

    paper: str
    table: str
    data: str
    method: str
    measure: str

    def row(self, ours: Estimate, published: float | None = None, note: str = "") -> Row:
        """Return the row of a measured figure beside the published one."""
        return Row(
            **asdict(self),
            published=published,
            ours=ours.mean,
            low=ours.low,
            high=ours.high,
            repeats=ours.repeats,
            verdict=agreement(ours, published),
            note=note,
        )

    def claim(self, gain: Estimate, published: float | None = None, note: str = "") -> Row:
        """Return the row of a claim; ``gain`` is positive where the claim is right."""
        return Row(
            **asdict(self),
            published=published,
            ours=gain.mean,
            low=gain.low,
            high=gain.high,
            repeats=gain.repeats,
            verdict=truth(gain),
            note=note,
        )

    def quoted(self, published: float | None, why: str) -> Row:
        """Return the row of a figure that nobody can measure here."""
        nothing = dict.fromkeys(("ours", "low", "high"))
        return Row(
            **asdict(self),
            published=published,
            **nothing,
            repeats=0,
            verdict="not possible here",
            note=why,
        )


def agreement(ours: Estimate, published: float | None) -> str:
    """Return whether the figure agrees with the published one.

    >>> agreement(Estimate(0.77, 0.76, 0.78, 10), 0.7663)
    'reproduced'
    >>> agreement(Estimate(0.85, 0.84, 0.86, 10), 0.78)
    'differs by +0.07'
    >>> agreement(Estimate(0.85, 0.75, 0.95, 3), 0.78)  # too few repeats to tell
    'undecided'
    """
    if published is None:
        return "no figure in the paper"
    apart = ours.mean - published
    if abs(apart) <= TOLERANCE * abs(published):
        return "reproduced"
    if ours.repeats > 1 and ours.low <= published <= ours.high:
        return "undecided"
    return f"differs by {apart:+.2g}"


def truth(gain: Estimate) -> str:
    """Return the verdict on a claim from the interval of the gain that it promises.

    >>> truth(Estimate(0.01, -0.01, 0.03, 10))
    'level'
    """
    if gain.low > 0.0:
        return "holds"
    return "fails" if gain.high < 0.0 else "level"


def write_csv(path: Path, rows: Sequence[Row], *, date: str, command: str) -> None:
    """Write the rows, each with the date and the command that made it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", newline="") as lines:
        writer = csv.writer(lines, lineterminator="\n")
        writer.writerow([*(one.name for one in fields(Row)), "date", "command"])
        for row in rows:
            writer.writerow([*map(_text, asdict(row).values()), date, command])


def as_json(rows: Iterable[Row], **about: str) -> str:
    """Return the rows as one JSON object."""
    return json.dumps({**about, "rows": [asdict(row) for row in rows]}, indent=1)


def markdown(rows: Sequence[Row]) -> str:
    """Return one Markdown table for each table of a paper."""
    parts = []
    for place in dict.fromkeys((row.paper, row.table) for row in rows):
        own = [row for row in rows if (row.paper, row.table) == place]
        parts += [f"### {place[0]}, {place[1]}", "", *_table(own), ""]
    return "\n".join(parts)


def _table(rows: Iterable[Row]) -> list[str]:
    lines = [
        "| data | method | measure | paper | ours | 95 % | n | verdict | note |",
        "|---|---|---|---:|---:|---|---:|---|---|",
    ]
    for row in rows:
        interval = "" if row.low is None else f"{_text(row.low)} .. {_text(row.high)}"
        cells = (row.data, row.method, row.measure, _text(row.published), _text(row.ours))
        more = (interval, row.repeats or "", row.verdict, row.note)
        lines.append(f"| {' | '.join(map(str, (*cells, *more)))} |")
    return lines


def _text(value: Any) -> str:
    if value is None:
        return ""
    return f"{value:.5g}" if isinstance(value, float) else str(value)
