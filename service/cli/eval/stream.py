"""``hedgerow eval stream``: options and output; ``service/evaluation/stream`` does the work."""

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from service.cli.eval.options import AsJson, BudgetS, ScaleText, parse_scale
from service.cli.eval.run import OnProgress, Report, evaluated
from service.evaluation.questions import Ties
from service.evaluation.stream.evaluate import StreamOptions, evaluate_stream
from service.evaluation.stream.loop import Schedule
from service.evaluation.stream.training import USUAL, trainable
from service.settings_loading import load_settings, nearest

_USUAL = ",".join(USUAL)


def _known(families: str) -> str:
    """Return names of families joined by commas; refuse others, and name the nearest."""
    names = trainable()
    for name in families.split(","):
        if name not in names:
            raise typer.BadParameter(
                f"{name!r} is no family that learns from events alone{nearest(name, names)} "
                f"(all: {', '.join(names)})"
            )
    return families


def _in_a_folder(plot: Path | None) -> Path | None:
    """Refuse, before anything is computed, a file that cannot be written afterwards."""
    if plot is not None and not plot.parent.is_dir():
        raise typer.BadParameter(f"there is no folder {plot.parent}")
    return plot


EventsFile = Annotated[
    Path,
    typer.Argument(
        metavar="FILE", help="CSV, also gzip: user,item,timestamp and rating or kind, or both"
    ),
]
Warm = Annotated[
    float,
    typer.Option(
        min=0.01, max=0.99, help="Share of the events to learn before the first prediction"
    ),
]
RetrainEvery = Annotated[
    float, typer.Option(min=0.001, max=1.0, help="Share of all events between two trainings")
]
Sample = Annotated[
    int, typer.Option(min=1, help="Maximum number of positive events that are judged")
]
TiesName = Annotated[
    Ties, typer.Option(help="Order of events of the same time: that of the file, or random")
]
Families = Annotated[
    str,
    typer.Option(
        callback=_known,
        metavar="NAMES",
        help=f"Families to train, joined by commas, or all of {','.join(trainable())}",
    ),
]
PlotFile = Annotated[
    Path | None,
    typer.Option(
        dir_okay=False,
        writable=True,
        callback=_in_a_folder,
        help="Write a drawing of the figures to this file, as SVG",
    ),
]
Seed = Annotated[int, typer.Option(min=0, help="Seed of ties, sample, searches and fits")]


def stream(
    file: EventsFile,
    warm: Warm = 0.8,
    retrain_every: RetrainEvery = 0.05,
    sample: Sample = 8_000,
    ties: TiesName = "file",
    families: Families = _USUAL,
    scale: ScaleText = None,
    budget_s: BudgetS = 30.0,
    seed: Seed = 0,
    plot: PlotFile = None,
    as_json: AsJson = False,
) -> None:
    """Replay FILE in the order of time, and judge what the service would have shown before.

    The first events are learned and trained on. Then each event is learned as it comes, models are
    trained on schedule, and a sample of the positives is ranked by every family and by the mixture
    just before it is learned. Settings are searched once, by the first training.
    """

    def work(on_progress: OnProgress) -> Report:
        request = StreamOptions(
            schedule=Schedule(warm, retrain_every, sample, seed),
            families=tuple(dict.fromkeys(families.split(","))),
            scale=parse_scale(scale),
            ties=ties,
            budget_s=budget_s,
            plot=plot,
        )
        return evaluate_stream(file, request, load_settings(), on_progress)

    evaluated(work, _show, as_json=as_json)


def _show(report: Report) -> None:
    out = Console()
    table = Table(title=f"{report['n_judged']} events judged")
    for name in ("", "ndcg@10", "mrr", "judged"):
        table.add_column(name, justify="right" if name else "left")
    mixture = {**report["mixture"], "judged": report["n_judged"]}
    arms = [(f"its {name}", means) for name, means in report["arms"].items()]
    rows = sorted(report["families"].items(), key=lambda row: -row[1]["ndcg@10"])
    for name, means in [("mixture", mixture), *arms, *rows]:
        judged = str(means.get("judged", ""))
        table.add_row(name, f"{means['ndcg@10']:.4f}", f"{means['mrr']:.4f}", judged)
    out.print(table)
    lengths = Table(title="ndcg@10 by preferences of the user")
    for name in ("preferences", "judged", "mixture", "best family", ""):
        lengths.add_column(name, justify="left" if name == "best family" else "right")
    for one in report["by_length"]:
        lengths.add_row(_range(one), *_compared(one))
    for one in report["new_users"]:
        lengths.add_row(f"new, after {one['events']}", *_compared(one))
    out.print(lengths)
    out.print(f"{report['seconds']:.0f} s")


def _range(one: Report) -> str:
    least, most = one["from"], one["to"]
    if most is None:
        return f"{least} or more"
    return str(least) if least == most else f"{least} to {most}"


def _compared(one: Report) -> tuple[str, ...]:
    best = one["best_family"]
    figures = (f"{one['mixture']:.4f}", best["name"], f"{best['ndcg@10']:.4f}")
    return str(one["judged"]), *figures
