"""Figures with their bars, printed as Markdown tables (for bench/results) or as one JSON object."""

import json
import os
import platform
import subprocess
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

Better = Literal["higher", "lower"]


@dataclass(frozen=True)
class Figure:
    """One measured number; without a bar it is only reported."""

    section: str
    what: str
    value: float
    unit: str = ""
    bar: float | None = None
    better: Better = "lower"
    note: str = ""

    @property
    def passes(self) -> bool | None:
        """Whether the figure reaches its bar, None without a bar; NaN never does."""
        if self.bar is None:
            return None
        return self.value >= self.bar if self.better == "higher" else self.value <= self.bar


def between(
    section: str, what: str, value: float, low: float, high: float, note: str = ""
) -> Figure:
    """Return a figure that must lie between low and high; its bar is the nearer edge."""
    if value > (low + high) / 2:
        return Figure(section, what, value, bar=high, note=note)
    return Figure(section, what, value, bar=low, better="higher", note=note)


def number(value: float) -> str:
    """Return the number as text with about four digits, without an exponent."""
    if abs(value) >= 1000:
        return f"{value:,.0f}".replace(",", " ")
    return f"{value:.4f}" if abs(value) < 10 else f"{value:.1f}"


def markdown(figures: Sequence[Figure]) -> str:
    """Return one table per section."""
    sections = dict.fromkeys(figure.section for figure in figures)
    return "\n".join(
        _table(name, [figure for figure in figures if figure.section == name]) for name in sections
    )


def _table(name: str, figures: Iterable[Figure]) -> str:
    lines = [f"### {name}", "", "| what | figure | bar | | note |", "|---|---:|---:|---|---|"]
    marks = {True: "pass", False: "**FAIL**", None: ""}
    for figure in figures:
        sign = ">=" if figure.better == "higher" else "<="
        bar = "" if figure.bar is None else f"{sign} {number(figure.bar)}"
        value = f"{number(figure.value)} {figure.unit}".strip()
        lines.append(
            f"| {figure.what} | {value} | {bar} | {marks[figure.passes]} | {figure.note} |"
        )
    return "\n".join([*lines, ""])


def machine() -> dict[str, str | int]:
    """Return the machine, the time and the commit, without which a figure means little."""
    return {
        "date": datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
        "processor": _processor(),
        "cores": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else 0,
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        "commit": _commit(),
    }


def _commit() -> str:
    """Return the short commit; ``-dirty`` marks uncommitted changes."""
    command = ["git", "describe", "--always", "--dirty", "--exclude=*"]
    folder = Path(__file__).parent
    ended = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    return ended.stdout.strip() or "unknown"


def _processor() -> str:
    information = Path("/proc/cpuinfo")
    if not information.is_file():
        return platform.processor()
    names = [line for line in information.read_text().splitlines() if "model name" in line]
    return names[0].partition(":")[2].strip() if names else platform.machine()


def publish(figures: Sequence[Figure], *, as_json: bool, data: str) -> int:
    """Print all figures; return the exit code, 1 if a figure misses its bar."""
    where = machine() | {"data": data}
    failed = [figure for figure in figures if figure.passes is False]
    if as_json:
        rows = [asdict(figure) | {"passes": figure.passes} for figure in figures]
        print(json.dumps({"machine": where, "figures": rows}, indent=1))
    else:
        print("\n" + ", ".join(f"{name} {value}" for name, value in where.items()) + "\n")
        print(markdown(figures))
        print(f"{len(failed)} of {len(figures)} figures miss their bar" if failed else "all pass")
    return 1 if failed else 0
