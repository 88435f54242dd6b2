"""``hedgerow eval ordinal``: ordinal regression on a table of which few rows are labelled."""

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from core.ordinal.config import OrdinalConfig, Solver
from service.cli.eval.options import AsJson
from service.cli.eval.run import OnProgress, Report, evaluated
from service.evaluation.ordinal import evaluate_ordinal
from service.files.tables import read_table


def ordinal(
    file: Annotated[Path, typer.Argument(help="CSV of numbers with a header, also gzip")],
    target: Annotated[str, typer.Option(help="Column to predict, which is divided into levels")],
    ignore: Annotated[str, typer.Option(help="Columns to leave out, joined by commas")] = "",
    levels: Annotated[
        int, typer.Option(min=2, max=1000, help="Number of levels, of equal frequency")
    ] = 5,
    labelled: Annotated[int, typer.Option(min=2, help="Number of labelled rows")] = 500,
    solver: Annotated[
        Solver, typer.Option(help="closed: solution in closed form; stochastic: gradient steps")
    ] = "closed",
    seed: Annotated[int, typer.Option(min=0, help="Seed of the choice of rows and the fit")] = 0,
    as_json: AsJson = False,
) -> None:
    """Learn from a few labelled rows and many unlabelled ones; test on the unlabelled rows."""
    ignored = [name.strip() for name in ignore.split(",") if name.strip()]

    def work(_: OnProgress) -> Report:
        table = read_table(file, target, ignored)
        return evaluate_ordinal(table, levels, labelled, OrdinalConfig(solver=solver, seed=seed))

    evaluated(work, _show, as_json=as_json)


def _show(report: Report) -> None:
    out = Console()
    out.print(
        f"AUC {report['auc']:.4f}, MAE {report['mae']:.3f}, accuracy {report['accuracy']:.3f} "
        f"of {report['n_unlabelled']} rows after {report['n_labelled']} labelled ones, "
        f"{report['fit_seconds']:.1f} s"
    )
    out.print("thresholds " + ", ".join(f"{edge:.3f}" for edge in report["thresholds"]))
    chosen = report["parameters"]
    out.print(f"reg {chosen['reg']:.3g}, share of labelled pairs {chosen['gamma']:g}")
