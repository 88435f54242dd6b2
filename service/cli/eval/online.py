"""``hedgerow eval online``: options and output; ``service/evaluation/online.py`` does the work."""

from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Annotated, cast

import typer
from rich.console import Console
from rich.table import Table

from core.online.config import AggregatorName
from core.online.experts import Init, Step, Variant
from core.online.single_experts import Given
from service.cli.eval.options import AsJson, ScaleText, parse_scale
from service.cli.eval.run import OnProgress, Report, evaluated
from service.evaluation.online import Experts, Model, OnlineOptions, Order, evaluate_online
from service.files.ratings import read_ratings

RatingsFile = Annotated[
    Path,
    typer.Argument(
        metavar="RATINGS", help="CSV or NDJSON, also gzip: user,item,rating[,timestamp]"
    ),
]
ModelName = Annotated[
    Model, typer.Option(help="A set of experts (-m learned, -u equal weights) or a single one")
]
ExpertSet = Annotated[
    Experts | None, typer.Option(help="Set of experts; default, or paper for nn-apa-u")
]
Aggregator = Annotated[
    AggregatorName | None,
    typer.Option(help="By default stack, or hedge for experts of the paper"),
]
Start = Annotated[
    Init, typer.Option(help="paper: start at U[0, 1), clip no prediction, choose parameters")
]
SplitOrder = Annotated[
    Order, typer.Option(help="Random split, or time: test on the latest ratings")
]
TestFraction = Annotated[float, typer.Option(help="Share of the ratings in the test set")]
Seed = Annotated[int, typer.Option(min=0, help="Seed of the split and the initial values")]
Rank = Annotated[int, typer.Option(min=1, max=1000, help="Rank of a single model")]
Aggressiveness = Annotated[float | None, typer.Option(help="Aggressiveness of a single model")]
Eps = Annotated[float | None, typer.Option(help="Largest error that causes no update")]
Delta = Annotated[float | None, typer.Option(help="Initial metric of NN-APA")]
Slack = Annotated[
    Variant, typer.Option(help="Hard constraint (pa), linear (pa1) or squared (pa2) slack")
]
StepName = Annotated[Step, typer.Option(help="Clip at 0, or solve the constrained step")]


def online(
    ratings: RatingsFile,
    model: ModelName = "nn-apa-m",
    experts: ExpertSet = None,
    aggregator: Aggregator = None,
    init: Start = "default",
    scale: ScaleText = None,
    order: SplitOrder = "random",
    test_fraction: TestFraction = 0.2,
    seed: Seed = 0,
    rank: Rank = 10,
    c: Aggressiveness = None,
    eps: Eps = None,
    delta: Delta = None,
    variant: Slack = "pa2",
    step: StepName = "clip",
    as_json: AsJson = False,
) -> None:
    """Predict, then learn, each rating of a training set in one pass; then predict a test set."""
    request = OnlineOptions(
        model=model,
        experts=experts,
        aggregator=aggregator,
        init=init,
        order=order,
        test_fraction=test_fraction,
        seed=seed,
        rank=rank,
        variant=variant,
        step=step,
        given=_given(c=c, eps=eps, delta=delta),
    )
    evaluated(partial(_work, ratings, request, scale), _show, as_json=as_json)


def _work(path: Path, request: OnlineOptions, scale: str | None, on_progress: OnProgress) -> Report:
    whole = replace(request, scale=parse_scale(scale))
    read = read_ratings(path, lambda share: on_progress("reading", share))
    return evaluate_online(read, whole, on_progress)


def _given(**stated: float | None) -> Given:
    """Return the parameters that are not None."""
    return cast("Given", {name: value for name, value in stated.items() if value is not None})


def _show(report: Report) -> None:
    out = Console()
    table = Table(
        title=f"{report['model']}: {report['n_train']} learned, {report['n_test']} tested"
    )
    for name in ("online MAE", "test MAE", "test RMSE", "in 80 % interval", "ratings/s"):
        table.add_column(name, justify="right")
    table.add_row(
        f"{report['train_mae']:.4f}",
        f"{report['test_mae']:.4f}",
        f"{report['test_rmse']:.4f}",
        f"{report['coverage80']:.3f}",
        f"{report['ratings_per_second']:,.0f}",
    )
    out.print(table)
    experts = Table(title="experts")
    for name in ("expert", "rank", "c", "weight", "part", "test MAE", "updates"):
        experts.add_column(name, justify="left" if name == "expert" else "right")
    for one in report["experts"]:
        c = "" if one["c"] is None else f"{one['c']:g}"
        figures = (f"{one['weight']:.3f}", f"{one['part']:.3f}", f"{one['mae']:.4f}")
        experts.add_row(one["name"], str(one["rank"]), c, *figures, str(one["updates"]))
    out.print(experts)
