"""The tables and figures of a paper beside ours.

    python -m bench.papers nn-apa|all [--quick] [--json] [--csv FILE]

Each row has what the paper has, what we measured with its 95 % interval and the number of repeats,
and a verdict. A figure within 2 % of the published one is "reproduced", one whose interval holds it
"undecided", any other "differs". A claim "holds" or "fails" if the interval of its gain lies above
or below 0; otherwise both sides are "level".
"""

import argparse
import sys
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path

from bench.papers import nn_apa
from bench.papers.charts import Chart
from bench.papers.rows import Row, as_json, markdown, write_csv

Papers = Mapping[str, Callable[[bool], Iterator[Row | Chart]]]
PAPERS: Papers = {"nn-apa": nn_apa.measured}
"""By paper: the function that yields its rows and charts, in its quick form if that is asked."""


def main(given: list[str] | None = None, papers: Papers = PAPERS) -> int:
    """Measure the chosen papers and print or write their rows."""
    options = _options(papers).parse_args(given)
    chosen = list(papers) if options.paper == "all" else [options.paper]
    about = {
        "date": datetime.now(UTC).strftime("%Y-%m-%d"),
        "command": f"python -m bench.papers {options.paper}{' --quick' if options.quick else ''}",
    }
    rows: list[Row] = []
    for paper in chosen:
        for found in papers[paper](options.quick):
            if isinstance(found, Chart):
                _draw(found, options.figures)
                continue
            rows.append(found)
            if options.csv:  # after each row: a run of an hour that is stopped keeps what it has
                write_csv(options.csv, rows, **about)
            print(_line(found), file=sys.stderr, flush=True)
    print(as_json(rows, **about) if options.json else markdown(rows))
    return 0


def _options(papers: Papers) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m bench.papers",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("paper", choices=[*papers, "all"])
    parser.add_argument("--quick", action="store_true", help="few repeats, small data: minutes")
    parser.add_argument("--json", action="store_true", help="one JSON object instead of tables")
    parser.add_argument("--csv", type=Path, metavar="FILE", help="also write the rows to FILE")
    parser.add_argument("--figures", type=Path, metavar="FOLDER", help="write the charts as SVG")
    return parser


def _draw(chart: Chart, folder: Path | None) -> None:
    if folder is not None:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"{chart.name}.svg").write_text(chart.svg())


def _line(row: Row) -> str:
    ours = "" if row.ours is None else f"{row.ours:.4g}"
    return f"{row.table} | {row.data} | {row.method} | {row.measure} | {ours} | {row.verdict}"


if __name__ == "__main__":
    sys.exit(main())
