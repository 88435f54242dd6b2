"""``hedgerow eval labels``: options and output; ``service/evaluation/labels.py`` does the work."""

from pathlib import Path
from typing import Annotated, Literal

import typer
from rich.console import Console
from rich.table import Table

from service.cli.eval.options import AsJson, BudgetS
from service.cli.eval.run import OnProgress, Report, evaluated, settings_of
from service.evaluation.labels import LabelOptions, evaluate_labels
from service.files.labelled_points import read_xmlc

Model = Literal[
    "ocmf-lr-wsq", "ocmf-sq-wsq", "ocmf-sq-sq", "exmlds1", "exmlds2", "exmlds3", "exmlds4"
]
"""The names of the recipes for labelled points."""


def labels(
    train: Annotated[
        Path, typer.Argument(help="Labelled points in the XMLC sparse text format, also gzip")
    ],
    test: Annotated[Path, typer.Argument(help="The held-out points, in the same form")],
    model: Annotated[Model, typer.Option(help="The label model")] = "ocmf-lr-wsq",
    revealed: Annotated[
        float, typer.Option(help="Share of the training labels that the model sees")
    ] = 1.0,
    given: Annotated[
        list[str] | None, typer.Option("--set", help="NAME=VALUE: fix a setting")
    ] = None,
    budget_s: BudgetS = 120.0,
    seed: Annotated[
        int, typer.Option(min=0, help="Seed of the search, the fit and the revealed labels")
    ] = 0,
    as_json: AsJson = False,
) -> None:
    """Fit a model on TRAIN, search its settings, and rank all labels for the points of TEST."""

    def work(on_progress: OnProgress) -> Report:
        request = LabelOptions(model, revealed, settings_of(given or [], "reg=0.1"), budget_s, seed)
        return evaluate_labels(read_xmlc(train), read_xmlc(test), request, on_progress)

    evaluated(work, _show, as_json=as_json)


def _show(report: Report) -> None:
    table = Table(
        title=f"{report['model']}: {report['n_test']} points, {report['n_labels']} labels"
    )
    for name in ("p@1", "p@3", "p@5", "fit s", "predict s", "search s"):
        table.add_column(name, justify="right")
    seconds = (report[f"{what}_seconds"] for what in ("fit", "predict", "search"))
    table.add_row(
        *(f"{report[name]:.2f}" for name in ("p@1", "p@3", "p@5")),
        *(f"{duration:.2f}" for duration in seconds),
    )
    out = Console()
    out.print(table)
    out.print(", ".join(f"{name} {value}" for name, value in report["parameters"].items()))
