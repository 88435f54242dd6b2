"""``hedgerow eval labels``: the options and what is printed; ``labels_evaluation.py`` does the work."""

import json
from contextlib import nullcontext
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.progress import Progress
from rich.table import Table

from core.errors import ConfigError, CoreError
from service.cli.label_models import Model
from service.cli.labels_evaluation import Request, evaluate_labels
from service.cli.options import BUDGET_HELP
from service.cli.store import say
from service.errors import ServiceError
from service.xmlc_file import read_xmlc

_errors = Console(stderr=True)


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
        list[str] | None, typer.Option("--set", help="NAME=VALUE: a setting that is not searched")
    ] = None,
    budget_s: Annotated[float, typer.Option(min=0.0, help=BUDGET_HELP)] = 120.0,
    seed: Annotated[
        int, typer.Option(min=0, help="Of the search, the start and what is revealed")
    ] = 0,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object on stdout")] = False,
) -> None:
    """Fit on TRAIN with settings the program finds itself; rank all labels for the points of TEST."""
    try:
        request = Request(model, revealed, _parse_given(given or []), budget_s, seed)
        report = _with_progress(train, test, request)
    except (CoreError, ServiceError) as error:
        say(f"hedgerow: {error}")
        raise typer.Exit(2) from error
    if as_json:
        typer.echo(json.dumps(report))
    else:
        _show(report)


def _parse_given(pairs: list[str]) -> dict[str, str]:
    named = {}
    for pair in pairs:
        name, equals, value = pair.partition("=")
        if not equals:
            raise ConfigError(f"--set must be NAME=VALUE, such as reg=0.1, not {pair!r}")
        named[name.strip()] = value.strip()
    return named


def _with_progress(train: Path, test: Path, request: Request) -> dict[str, Any]:
    """Read and evaluate, with a bar on stderr where somebody watches."""
    bar = Progress(console=_errors, transient=True) if _errors.is_terminal else None
    tasks: dict[str, Any] = {}

    def on_progress(what: str, share: float) -> None:
        if bar is not None:
            if what not in tasks:
                tasks[what] = bar.add_task(what, total=1.0)
            bar.update(tasks[what], completed=share)

    with bar or nullcontext():
        return evaluate_labels(read_xmlc(train), read_xmlc(test), request, on_progress)


def _show(report: dict[str, Any]) -> None:
    table = Table(
        title=f"{report['model']}: {report['n_test']} points, {report['n_labels']} labels"
    )
    for name in ("p@1", "p@3", "p@5", "fit s", "predict s", "search s"):
        table.add_column(name, justify="right")
    seconds = (report[f"{what}_seconds"] for what in ("fit", "predict", "search"))
    table.add_row(
        *(f"{report[name]:.2f}" for name in ("p@1", "p@3", "p@5")),
        *(f"{one:.2f}" for one in seconds),
    )
    out = Console()
    out.print(table)
    out.print(", ".join(f"{name} {value}" for name, value in report["parameters"].items()))
