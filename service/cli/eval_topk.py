"""``hedgerow eval topk``: the options and what is printed; ``service/evaluation/topk.py`` does the work."""

from pathlib import Path
from typing import Annotated, Any, Literal

import typer
from rich.console import Console
from rich.table import Table

from core.errors import ConfigError
from service.cli.eval_run import OnProgress, Report, evaluated, settings_of
from service.cli.options import BUDGET_HELP
from service.evaluation.files import SideFiles
from service.evaluation.topk import Request, evaluate_topk
from service.files.ratings import read_ratings

Model = Literal[
    "fbgd",
    "mf",
    "svdfeature",
    "pitf",
    "cp",
    "ocmf-lr-wsq",
    "ocmf-sq-wsq",
    "ocmf-sq-sq",
    "popular",
]
"""The names of the recipes that rank by vectors."""


def topk(
    train: Annotated[
        Path, typer.Argument(help="CSV or NDJSON, also gzip: user,item[,rating,timestamp]")
    ],
    test: Annotated[Path, typer.Argument(help="The held-out pairs, in the same form")],
    model: Annotated[
        Model,
        typer.Option(
            help="fbgd for users with a history; ocmf-lr-wsq for users known by features or links alone; "
            "svdfeature for what comes next, by the item before and features; see docs/explanation/batch-models.md"
        ),
    ] = "fbgd",
    k: Annotated[str, typer.Option("--k", help="List lengths, joined by commas")] = "10,20",
    given: Annotated[
        list[str] | None,
        typer.Option(
            "--set", help="NAME=VALUE: a setting that is not searched; a wrong NAME lists all"
        ),
    ] = None,
    budget_s: Annotated[float, typer.Option(min=0.0, help=BUDGET_HELP)] = 120.0,
    seed: Annotated[int, typer.Option(min=0, help="Of the search and of the start")] = 0,
    users: Annotated[
        Path | None,
        typer.Option(
            help="CSV of users' features, for the ocmf models: user,... How they are used is "
            "found on a validation part, or said by --set features=cold, beside or made"
        ),
    ] = None,
    items: Annotated[
        Path | None, typer.Option(help="CSV of items' features, for svdfeature: item,...")
    ] = None,
    graph: Annotated[
        Path | None, typer.Option(help="CSV of links, for the ocmf models: user,friend")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object on stdout")] = False,
) -> None:
    """Fit on TRAIN with settings the program finds itself; rank all items for the users of TEST.

    Every row counts as taken, whatever its rating: leave out rows that are not liked.
    Beside the model stands what most users have taken (popular). Users without pairs in TRAIN (cold) are in the
    means, and have figures of their own.
    """

    def work(on_progress: OnProgress) -> Report:
        chosen = settings_of(given or [], "factors=128")
        request = Request(model, _parse_ks(k), chosen, budget_s, seed)
        pairs = [
            read_ratings(path, lambda share: on_progress("reading", share), rated=False)
            for path in (train, test)
        ]
        return evaluate_topk(
            pairs[0], pairs[1], request, on_progress, SideFiles(users, items, graph)
        )

    evaluated(work, _show, as_json=as_json)


def _parse_ks(text: str) -> tuple[int, ...]:
    parts = [part.strip() for part in text.split(",")]
    if not all(part.isdecimal() and part.isascii() and 1 <= int(part) <= 1000 for part in parts):
        raise ConfigError(f"--k must be numbers from 1 to 1000 joined by commas, not {text!r}")
    return tuple(int(part) for part in parts)


def _show(report: Report) -> None:
    out = Console()
    table = Table(title=f"{report['model']}: {report['n_users']} users")
    table.add_column("")
    columns = _columns(report)
    for who in columns:
        table.add_column(who, justify="right")
    for name in (name for name in report if "@" in name):
        table.add_row(name, *(f"{figures[name]:.4f}" for figures in columns.values()))
    out.print(table)
    if report["repeated_pairs"]:
        out.print(
            f"{report['repeated_pairs']} pairs of the test file are in the training file: left out"
        )
    if report["unknown_item_pairs"]:
        out.print(
            f"{report['unknown_item_pairs']} pairs of the test file are about items that the training file lacks: "
            "no list can hold them, they count as missed"
        )
    for option, told in report.get("side", {}).items():
        out.print(_beside(option, told))
    if (said := _settings(report["parameters"])) != "":
        out.print(said)
    for one in report.get("validation", []):
        use = _settings({name: value for name, value in one.items() if "@" not in name})
        out.print(f"on validation: {use}: ndcg@20 {one['ndcg@20']:.4f}")
    out.print(f"search {report['search_seconds']:.1f} s, final fit {report['fit_seconds']:.1f} s")


def _beside(option: str, told: dict[str, int]) -> str:
    """Say what of a side file is of use."""
    if option == "graph":
        return f"--graph: {told['links']} links join users of these files"
    return f"--{option} describes {told['described']} of {told['of']} {option}"


def _columns(report: Report) -> dict[str, dict[str, float]]:
    """Return what the table compares: the model and popularity, for all users and for the cold ones."""
    columns, cold = {report["model"]: report}, report.get("cold")
    columns.setdefault("popular", report["popular"])
    if cold is not None:
        columns[f"{report['model']}, {cold['n_users']} cold"] = cold
        columns.setdefault(f"popular, {cold['n_users']} cold", cold["popular"])
    return columns


def _settings(parameters: dict[str, Any]) -> str:
    """Return names with values."""
    return ", ".join(
        f"{name} {value if isinstance(value, str) else format(value, 'g')}"
        for name, value in parameters.items()
    )
