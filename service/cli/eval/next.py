"""``hedgerow eval next``: options and output; ``service/evaluation/next.py`` does the work."""

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from service.cli.eval.options import AsJson, BudgetS
from service.cli.eval.run import OnProgress, Report, evaluated
from service.evaluation.next import NextOptions, evaluate_next
from service.evaluation.questions import Division, Protocol, Ties
from service.evaluation.rankers import families_that_rank
from service.files.ratings import Ratings, read_ratings
from service.ranking.strategies import MIXTURE
from service.settings_loading import nearest

MODELS = [MIXTURE, *families_that_rank(described=True)]


def _known(model: str) -> str:
    """Return the name of a family or mixture; refuse another one, and name the nearest."""
    names = MODELS
    if model not in names:
        raise typer.BadParameter(
            f"there is no model {model!r}{nearest(model, names)} (all: {', '.join(names)})"
        )
    return model


TrainFile = Annotated[
    Path,
    typer.Argument(help="CSV, also gzip: user or session, item, and timestamp or position"),
]
TestFile = Annotated[
    Path | None,
    typer.Argument(help="Events to predict, in the same form; by default each user's last event"),
]
ModelName = Annotated[
    str,
    typer.Option(
        callback=_known,
        metavar=f"[{'|'.join(MODELS)}]",
        help="mixture: all families, combined by learned weights",
    ),
]
ProtocolName = Annotated[
    Protocol,
    typer.Option(
        help="last: predict the last event of each user; prefixes: predict every event of a "
        "test session from those before it"
    ),
]
First = Annotated[
    int, typer.Option(min=0, help="prefixes: first position in a test session to predict")
]
Repeats = Annotated[bool, typer.Option("--repeats", help="Seen items may come again")]
TiesName = Annotated[
    Ties, typer.Option(help="Order of events of the same time: that of the file, or random")
]
ItemsFile = Annotated[
    Path | None,
    typer.Option(help="CSV of items' features, for the mixture and content: item,..."),
]
Seed = Annotated[int, typer.Option(min=0, help="Seed of ties, samples, searches and fits")]


def next_item(
    train: TrainFile,
    test: TestFile = None,
    model: ModelName = MIXTURE,
    protocol: ProtocolName = "last",
    first: First = 1,
    repeats: Repeats = False,
    ties: TiesName = "file",
    items: ItemsFile = None,
    budget_s: BudgetS = 120.0,
    seed: Seed = 0,
    as_json: AsJson = False,
) -> None:
    """Learn events in order, and predict what comes next among all items.

    Every row counts as an event, whatever its rating. Settings and weights are chosen by the last
    events of TRAIN, or by its newest sessions if those of TEST are new.
    """

    def work(on_progress: OnProgress) -> Report:
        division = Division(protocol, first, repeats=repeats, ties=ties, seed=seed)
        request = NextOptions(model, division, items, budget_s, seed)
        learned = _read(train, on_progress)
        held_out = None if test is None else _read(test, on_progress)
        return evaluate_next(learned, held_out, request, on_progress)

    if protocol == "prefixes" and test is None:
        raise typer.BadParameter("--protocol prefixes needs a file TEST with sessions to predict")
    evaluated(work, _show, as_json=as_json)


def _read(path: Path, on_progress: OnProgress) -> Ratings:
    return read_ratings(
        path, lambda share: on_progress("reading", share), rated=False, ordered=True
    )


def _show(report: Report) -> None:
    out = Console()
    table = Table(title=f"{report['model']}: {report['n_predictions']} predictions")
    table.add_column("")
    columns = {report["model"]: report, **report["families"], "popular": report["popular"]}
    for who in columns:
        table.add_column(who, justify="right")
    for name in (name for name in report if "@" in name):
        table.add_row(name, *(f"{figures[name]:.4f}" for figures in columns.values()))
    out.print(table)
    if report["repeated"]:
        out.print(f"{report['repeated']} events are left out: their item was seen before")
    out.print(f"search {report['search_seconds']:.1f} s, fit {report['fit_seconds']:.1f} s")
