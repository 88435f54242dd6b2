"""`hedgerow retrain`: order a training of a running service and, if asked, watch it."""

import json
import threading
from collections.abc import Mapping
from time import monotonic
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeElapsedColumn

from service.cli import options
from service.cli.options import say
from service.client import UNFINISHED, ServiceClient, outcome
from service.errors import Misconfigured
from service.ranking.strategies import meant

RECIPES = "fbgd, ocmf-lr-wsq, ocmf-sq-wsq, ocmf-sq-sq, exmlds, ordinal, sequence or neighbours"
"""All recipes in words; their table loads numba, which this verb does not need."""
LOOK_S = 0.3
"""Seconds between two looks at the job."""
LINE_S = 2.0
"""Seconds between two lines of one stage where there is no terminal."""
LONGEST_BUDGET_S = 3_600.0
"""Longest budget that the service accepts, in seconds."""
PATIENCE_S = 5.0
"""Seconds that a job is queued while none is running before the user is pace why."""
NO_LINKS = (
    "no links: `graph` had no effect, because no user with a history is linked to another one. Add "
    'links to the users\' documents (PATCH /v1/users/{user} with {"links": [{"user": "..."}]}), '
    "then retrain"
)

app = options.verb()


@app.command()
def retrain(
    model: Annotated[
        str | None,
        typer.Option(
            help=f"The recipe: {RECIPES}. Without it, all recipes that can learn from the data are "
            "tried, and those that add to the others are trained."
        ),
    ] = None,
    given: Annotated[
        list[str] | None,
        typer.Option("--set", help="NAME=NUMBER: fix a setting; may be repeated."),
    ] = None,
    budget_s: Annotated[
        float | None,
        typer.Option(
            min=0.0,
            max=LONGEST_BUDGET_S,
            help="Wall-clock seconds for the search of settings, for all recipes together, at most "
            "an hour; reading, fitting and validation come on top. 0: no search.",
        ),
    ] = None,
    promote_unjudged: Annotated[
        bool,
        typer.Option(help="Let the model serve even if there are too few held-out users."),
    ] = False,
    wait: Annotated[bool, typer.Option("--wait", help="Watch the job until it has ended.")] = False,
    url: options.Url = None,
    key: options.Key = None,
    as_json: options.Json = False,
) -> None:
    """Train ranking models on all histories; they serve unless they are worse than the active ones.

    With --wait the exit code is 1 if the job failed or was cancelled. A model that the gate refuses
    is not a failure: the previous model keeps serving.
    """
    parameters = settings(given or [])
    order: dict[str, Any] = {"model": meant(model, parameters), "parameters": parameters}
    if promote_unjudged:
        order["promote_unjudged"] = True
    if budget_s is not None:
        order["budget_s"] = budget_s
    with ServiceClient(options.service_url(url), key, tell=say) as client:
        job = client.post("/v1/retrain", order)
        if wait:
            job = watch(client, job)
    if as_json:
        typer.echo(json.dumps(job))
    else:
        _show(job)
    raise typer.Exit(1 if job["status"] in {"failed", "cancelled"} else 0)


def settings(given: list[str]) -> dict[str, float]:
    """Return NAME=NUMBER pairs as a mapping; whole numbers stay integers."""
    values: dict[str, float] = {}
    for pair in given:
        name, is_pair, text = pair.partition("=")
        try:
            values[name] = int(text) if text.lstrip("-").isdigit() else float(text)
        except ValueError:
            is_pair = ""
        if not is_pair:
            raise Misconfigured(f"--set must be NAME=NUMBER, such as factors=128, not {pair!r}")
    return values


def watch(client: ServiceClient, job: dict[str, Any]) -> dict[str, Any]:
    """Return the job when it has ended; show its progress as a bar, or as lines in a log."""
    console, pause, queued = Console(stderr=True), threading.Event(), Queued(client)
    columns = (
        TextColumn("{task.description:<21}"),
        BarColumn(),
        TaskProgressColumn(),
        TimeElapsedColumn(),
    )
    pace = LogPace()
    with Progress(*columns, console=console, disable=not console.is_terminal) as progress:
        bar = progress.add_task("queued", total=1.0)
        while job["status"] in UNFINISHED:
            says = " ".join(filter(None, (job["stage"] or job["status"], job["recipe"])))
            progress.update(bar, description=says, completed=job["progress"])
            far = f"{job['progress']:.0%}"
            if not console.is_terminal and pace.is_due(says, far):
                say(f"job {job['id']}: {says}, {far}")
            if job["status"] == "queued" and (waits := queued.reason()):
                say(waits)
            pause.wait(LOOK_S)
            job = client.get(f"/v1/jobs/{job['id']}")
        progress.update(bar, description=job["status"], completed=job["progress"])
    return job


class LogPace:
    """Decides which lines a log gets: each stage at once, its progress every LINE_S seconds."""

    def __init__(self) -> None:
        self._stage, self._far, self._at = "", "", 0.0

    def is_due(self, stage: str, far: str) -> bool:
        """Return whether to print a line now, and remember it as printed."""
        moved = far != self._far and monotonic() - self._at >= LINE_S
        if stage == self._stage and not moved:
            return False
        self._stage, self._far, self._at = stage, far, monotonic()
        return True


class Queued:
    """Explains once why a job may be waiting."""

    def __init__(self, client: ServiceClient) -> None:
        self._client, self._since, self._said = client, monotonic(), False

    def reason(self) -> str:
        """Return why the job still waits, "" if it is too early or was said before."""
        if self._said or monotonic() - self._since < PATIENCE_S:
            return ""
        self._said = True
        running = [
            job["id"] for job in self._client.get("/v1/jobs")["items"] if job["status"] == "running"
        ]
        if running:
            return f"queued: job {running[0]} is running first"
        return (
            "queued: no trainer seems to be running (`hedgerow serve` starts one unless "
            "HEDGEROW_TRAINER=false, or run `hedgerow trainer`); Ctrl-C leaves the job in the queue"
        )


def _show(job: dict[str, Any]) -> None:
    if job["status"] in UNFINISHED:
        say(
            f"job {job['id']} is {job['status']}: GET /v1/jobs/{job['id']} shows its progress, "
            "--wait watches it"
        )
        return
    if job["status"] != "succeeded":
        say(f"job {job['id']} {job['status']}: {job['error']}")
        return
    decision, metrics = job["decision"], job["metrics"]
    if job["model"] is None:
        _show_tried(job)
    else:
        say(f"{job['model']} {job['version'][:12]}: {outcome(job)}, {decision['reason']}")
        _show_quality(metrics)
    say(
        f"{metrics['pairs']:,} pairs of {metrics['users']:,} users and {metrics['items']:,} items, "
        f"{sum(metrics['seconds'].values()):.1f} s, {metrics['peak_bytes'] / 2**20:.0f} MB at most"
    )
    for line in left_out(metrics.get("features", {})):
        say(line)
    if job["parameters"].get("graph") and not metrics.get("links"):
        say(NO_LINKS)


def _show_tried(job: Mapping[str, Any]) -> None:
    """Print the outcome of each recipe, and why no more were trained."""
    trained = [one for one in job["tried"] if one["version"]]
    for one in trained:
        ended = {**one, "status": job["status"]}
        say(f"{one['model']} {one['version'][:12]}: {outcome(ended)}, {one['decision']['reason']}")
        say(f"    {_alone(one)}{one['why']}")
    others: dict[str, list[str]] = {}
    for one in job["tried"]:
        if not one["version"]:
            others.setdefault(f"{_alone(one)}{one['why']}", []).append(one["model"])
    for why, models in others.items():
        say(f"{', '.join(models)}: not trained, {why}")
    metrics = job["metrics"]
    if "ndcg@10" in metrics:
        say(
            f"{metrics['judges']:,} held-out users ({metrics['held_out']}), ndcg@10 of all "
            f"together: {metrics['ndcg@10']:.4f}; without training "
            f"{metrics['counted']['ndcg@10']:.4f}"
        )
    say(job["decision"]["reason"])


def _alone(one: Mapping[str, Any]) -> str:
    return "" if one["ndcg10"] is None else f"ndcg@10 {one['ndcg10']:.4f} alone, "


def _show_quality(metrics: Mapping[str, Any]) -> None:
    """Print how well a model ranks, and how well it predicts stars."""
    if "ndcg@10" in metrics:
        others = [
            f"{name} {metrics[key]['ndcg@10']:.4f}"
            for name, key in (("active model", "rival"), ("popularity", "popular"))
            if metrics[key]
        ]
        quality = (
            f"{metrics['judges']:,} held-out users ({metrics['held_out']}), "
            f"ndcg@10: {metrics['ndcg@10']:.4f}"
        )
        say("; ".join([quality, *others]))
    if "stars_mae" in metrics:
        say(
            f"later stars are predicted with a mean error of {metrics['stars_mae']:.2f}, "
            f"{metrics['stars_accuracy']:.0%} of them exactly"
        )


def left_out(features: Mapping[str, Any]) -> list[str]:
    """Return a sentence for items, and one for users, if some of their features have no column."""
    return [
        f"features of {side}: only the most frequent are read; "
        f"{report['left_out']['names']:,} more features and {report['left_out']['values']:,} more "
        f"values that several {side} share are left out"
        for side, report in features.items()
        if any(report["left_out"].values())
    ]
