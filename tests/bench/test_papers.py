"""Tests of the tables of the papers: intervals, verdicts, charts and files."""

import csv
import json
import re

import numpy as np
import pytest

from bench.papers.__main__ import main
from bench.papers.charts import Chart
from bench.papers.intervals import Estimate, of_draws, of_splits
from bench.papers.rows import Cell, agreement, as_json, markdown, truth, write_csv

CELL = Cell("NN-APA", "Table 2", "ML-100K", "diag, k=5", "test MAE")


def test_splits_that_overlap_widen_the_interval():
    values = np.array([1.0, 2.0, 3.0, 4.0, 5.0])
    draws, splits = of_draws(values), of_splits(values, 0.2)
    assert draws.mean == splits.mean == 3.0
    assert draws.high - 3.0 == pytest.approx(2.776 * np.sqrt(2.5 / 5), rel=1e-3)
    assert splits.high - 3.0 == pytest.approx(2.776 * np.sqrt(2.5 * (1 / 5 + 1 / 4)), rel=1e-3)


def test_one_repeat_has_no_width():
    assert of_splits(np.array([2.0]), 0.2) == Estimate.single(2.0) == of_draws(np.array([2.0]))


@pytest.mark.parametrize(
    ("low", "high", "verdict"),
    [(0.1, 0.3, "holds"), (-0.1, 0.3, "level"), (-0.3, -0.1, "fails"), (0.0, 0.1, "level")],
)
def test_a_claim_is_judged_by_its_interval(low, high, verdict):
    assert truth(Estimate((low + high) / 2, low, high, 5)) == verdict


def test_a_figure_is_reproduced_within_two_percent():
    assert agreement(Estimate(1.0, 0.9, 1.1, 5), 1.05) == "undecided"
    assert agreement(Estimate(1.0, 0.99, 1.01, 5), 1.05) == "differs by -0.05"
    assert agreement(Estimate.single(1.0), 1.019) == "reproduced"
    assert agreement(Estimate.single(1.0), 1.1) == "differs by -0.1"
    assert agreement(Estimate.single(1.0), None) == "no figure in the paper"


def test_rows_are_written_with_date_and_command(tmp_path):
    rows = [
        CELL.row(Estimate(0.76, 0.75, 0.77, 10), 0.7663, "chosen"),
        CELL.quoted(0.7, "no data"),
        CELL.claim(Estimate(0.1, 0.05, 0.15, 10)),
    ]
    path = tmp_path / "made" / "rows.csv"
    write_csv(path, rows, date="2026-01-02", command="python -m bench.papers nn-apa")
    with path.open(newline="") as lines:
        found = list(csv.DictReader(lines))
    assert [row["verdict"] for row in found] == ["reproduced", "not possible here", "holds"]
    assert {row["date"] for row in found} == {"2026-01-02"}
    assert (found[0]["ours"], found[1]["ours"]) == ("0.76", "")
    assert json.loads(as_json(rows, date="d"))["rows"][0]["published"] == 0.7663
    assert markdown(rows).count("\n|") == 5


def test_a_chart_draws_each_line_without_what_is_not_finite():
    lines = {"a & b": ([1.0, 10.0, 100.0], [3.0, 2.0, 1.0]), "c": ([1.0, 10.0], [np.nan, 4.0])}
    drawing = Chart("name", "<title>", "C", lines, log_x=True).svg()
    points = [line.split() for line in re.findall(r'<polyline[^>]* points="([^"]*)"', drawing)]
    assert [len(line) for line in points] == [3, 1]
    x = [float(point.partition(",")[0]) for point in points[0]]
    assert x[1] - x[0] == pytest.approx(x[2] - x[1], abs=0.2)
    words = re.findall(r"<text[^>]*>([^<]*)</text>", drawing)
    assert {"&lt;title&gt;", "a &amp; b", "C"} <= set(words)


def tiny(quick):
    """Yield a row and a chart as a paper does."""
    yield CELL.row(Estimate.single(0.77), 0.7663, "quick" if quick else "")
    yield Chart("drawn", "title", "x", {"a": ([1.0, 2.0], [1.0, 2.0])})


def test_the_command_writes_rows_and_charts(tmp_path, capsys):
    table, figures = tmp_path / "rows.csv", tmp_path / "figures"
    asked = ["all", "--quick", "--csv", str(table), "--figures", str(figures)]
    assert main(asked, {"tiny": tiny}) == 0
    assert "| diag, k=5 | test MAE | 0.7663 | 0.77 |" in capsys.readouterr().out
    assert "python -m bench.papers all --quick" in table.read_text()
    assert [path.name for path in figures.iterdir()] == ["drawn.svg"]
    assert main(["tiny", "--json"], {"tiny": tiny}) == 0
    assert json.loads(capsys.readouterr().out)["rows"][0]["note"] == ""


def test_an_unknown_paper_is_refused(capsys):
    with pytest.raises(SystemExit):
        main(["nothing"])
    assert "nn-apa" in capsys.readouterr().err
