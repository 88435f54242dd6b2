"""``hedgerow eval topk``: options and output; ``service/evaluation/topk.py`` does the work."""

from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from core.errors import ConfigError
from service.cli.eval.options import AsJson, BudgetS
from service.cli.eval.run import OnProgress, Report, evaluated, settings_of
from service.evaluation.files import SideFiles
from service.evaluation.topk import TopkOptions, evaluate_topk
from service.files.ratings import read_ratings
from service.ranking.strategies import DEFAULT_RECIPE, MIXTURE
from service.settings_loading import nearest
from service.training.recipes import RANKING

_NAMES = [*sorted(RANKING, key=lambda name: name != DEFAULT_RECIPE), MIXTURE]
"""The names of the recipes, the default one first, and of all of them as one."""


def _known(model: str) -> str:
    """Return the name of a recipe; refuse another one, and name the nearest."""
    if model not in _NAMES:
        raise typer.BadParameter(
            f"there is no model {model!r}{nearest(model, _NAMES)} (all: {', '.join(_NAMES)})"
        )
    return model


TrainFile = Annotated[
    Path, typer.Argument(help="CSV or NDJSON, also gzip: user,item[,rating,timestamp]")
]
TestFile = Annotated[Path, typer.Argument(help="The held-out pairs, in the same form")]
ModelName = Annotated[
    str,
    typer.Option(
        callback=_known,
        metavar=f"[{'|'.join(_NAMES)}]",
        help="fbgd for users with a history; "
        "mixture for several families combined by learned weights; "
        "ocmf-lr-wsq for users with only features or links; "
        "svdfeature for the next item, by the previous one and features; see "
        "docs/explanation/batch-models.md",
    ),
]
Ks = Annotated[str, typer.Option("--k", help="List lengths, joined by commas")]
Stated = Annotated[
    list[str] | None,
    typer.Option("--set", help="NAME=VALUE: fix a setting; an unknown NAME lists all of them"),
]
Seed = Annotated[int, typer.Option(min=0, help="Seed of the search and the fit")]
UsersFile = Annotated[
    Path | None,
    typer.Option(
        help="CSV of users' features, for the ocmf models: user,... Validation chooses how "
        "they are used, unless --set features=cold, beside or made"
    ),
]
ItemsFile = Annotated[
    Path | None,
    typer.Option(help="CSV of items' features, for the mixture and svdfeature: item,..."),
]
GraphFile = Annotated[
    Path | None, typer.Option(help="CSV of links, for the ocmf models: user,friend")
]


def topk(
    train: TrainFile,
    test: TestFile,
    model: ModelName = DEFAULT_RECIPE,
    k: Ks = "10,20",
    given: Stated = None,
    budget_s: BudgetS = 120.0,
    seed: Seed = 0,
    users: UsersFile = None,
    items: ItemsFile = None,
    graph: GraphFile = None,
    as_json: AsJson = False,
) -> None:
    """Fit a model on TRAIN, search its settings, and rank all items for the users of TEST.

    Every row counts as a positive, whatever its rating: leave out items that users did not like.
    The table compares the model with popularity (popular). Users without pairs in TRAIN (cold) are
    part of the means, and also have metrics of their own.
    """

    def work(on_progress: OnProgress) -> Report:
        chosen = settings_of(given or [], "factors=128")
        request = TopkOptions(model, _parse_ks(k), chosen, budget_s, seed)
        learned, held_out = (
            read_ratings(path, lambda share: on_progress("reading", share), rated=False)
            for path in (train, test)
        )
        return evaluate_topk(
            learned, held_out, request, on_progress, SideFiles(users, items, graph)
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
            f"{report['repeated_pairs']} test pairs are left out: they are in the training file"
        )
    if report["unknown_item_pairs"]:
        out.print(
            f"{report['unknown_item_pairs']} test pairs have items that are not in the training "
            "file: they count as misses"
        )
    for option, counts in report.get("side", {}).items():
        out.print(_side_file(option, counts))
    if (parameters := _settings(report["parameters"])) != "":
        out.print(parameters)
    for trial in report.get("validation", []):
        use = _settings({name: value for name, value in trial.items() if "@" not in name})
        out.print(f"on validation: {use}: ndcg@20 {trial['ndcg@20']:.4f}")
    out.print(f"search {report['search_seconds']:.1f} s, final fit {report['fit_seconds']:.1f} s")


def _side_file(option: str, counts: dict[str, int]) -> str:
    """Return a line about how much of a side file is used."""
    if option == "graph":
        return f"--graph: {counts['links']} links join users of these files"
    return f"--{option}: {counts['described']} of {counts['of']} {option} have features"


def _columns(report: Report) -> dict[str, dict[str, float]]:
    """Return the columns of the table: the model and popularity, for all users and cold ones."""
    columns, cold = {report["model"]: report}, report.get("cold")
    columns.setdefault("popular", report["popular"])
    if cold is not None:
        columns[f"{report['model']}, {cold['n_users']} cold"] = cold
        columns.setdefault(f"popular, {cold['n_users']} cold", cold["popular"])
    return columns


def _settings(parameters: dict[str, Any]) -> str:
    """Return settings as text, name by name."""
    return ", ".join(
        f"{name} {value if isinstance(value, str) else format(value, 'g')}"
        for name, value in parameters.items()
    )
