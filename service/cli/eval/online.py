"""``hedgerow eval online``: options and output; ``service/evaluation/online.py`` does the work."""

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from core.errors import ConfigError
from core.online.config import AggregatorName
from core.online.experts import Init, Step, Variant
from core.online.single_experts import Given
from core.scale import Scale
from service.cli.eval.run import OnProgress, Report, evaluated
from service.evaluation.online import Experts, Model, Order, Request, evaluate_online
from service.files.ratings import read_ratings


def online(
    ratings: Annotated[
        Path,
        typer.Argument(
            metavar="RATINGS", help="CSV or NDJSON, also gzip: user,item,rating[,timestamp]"
        ),
    ],
    model: Annotated[
        Model, typer.Option(help="A set of experts (-m learned, -u equal weights) or a single one")
    ] = "nn-apa-m",
    experts: Annotated[
        Experts | None, typer.Option(help="Set of experts; default, or paper for nn-apa-u")
    ] = None,
    aggregator: Annotated[
        AggregatorName | None,
        typer.Option(help="By default stack, or hedge for experts of the paper"),
    ] = None,
    init: Annotated[
        Init, typer.Option(help="paper: start at U[0, 1), clip no prediction, choose parameters")
    ] = "default",
    scale: Annotated[
        str | None, typer.Option(help="LOW:HIGH; by default taken from the data")
    ] = None,
    order: Annotated[
        Order, typer.Option(help="Random split, or time: test on the latest ratings")
    ] = "random",
    test_fraction: Annotated[
        float, typer.Option(help="Share of the ratings in the test set")
    ] = 0.2,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the split and the initial values")] = 0,
    rank: Annotated[int, typer.Option(min=1, max=1000, help="Rank of a single model")] = 10,
    c: Annotated[float | None, typer.Option(help="Aggressiveness of a single model")] = None,
    eps: Annotated[float | None, typer.Option(help="Largest error that causes no update")] = None,
    delta: Annotated[float | None, typer.Option(help="Initial metric of NN-APA")] = None,
    variant: Annotated[
        Variant, typer.Option(help="Hard constraint (pa), linear (pa1) or squared (pa2) slack")
    ] = "pa2",
    step: Annotated[Step, typer.Option(help="Clip at 0, or solve the constrained step")] = "clip",
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object on stdout")] = False,
) -> None:
    """Predict, then learn, each rating of a training set in one pass; then predict a test set."""
    settled: dict[str, float | None] = {"c": c, "eps": eps, "delta": delta}
    given = Given(**{key: value for key, value in settled.items() if value is not None})  # type: ignore[typeddict-item]

    def work(on_progress: OnProgress) -> Report:
        request = Request(
            model=model,
            experts=experts,
            aggregator=aggregator,
            init=init,
            scale=_parse_scale(scale),
            order=order,
            test_fraction=test_fraction,
            seed=seed,
            rank=rank,
            variant=variant,
            step=step,
            given=given,
        )
        read = read_ratings(ratings, lambda share: on_progress("reading", share))
        return evaluate_online(read, request, on_progress)

    evaluated(work, _show, as_json=as_json)


def _parse_scale(text: str | None) -> Scale | None:
    if text is None:
        return None
    try:
        low, high = map(float, text.split(":"))
    except ValueError as error:
        raise ConfigError(f"--scale must be LOW:HIGH, such as 1:5, not {text!r}") from error
    return Scale(low, high)


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
