"""`hedgerow retrain`: order a training of a running service and, if asked, watch it."""

import json
from collections.abc import Mapping
from typing import Annotated, Any

import typer

from service.cli import options
from service.cli.clients.watching import watch
from service.cli.options import say
from service.client import UNFINISHED, ServiceClient, outcome
from service.errors import Misconfigured
from service.ranking.strategies import meant

RECIPES = (
    "fbgd, ocmf-lr-wsq, ocmf-sq-wsq, ocmf-sq-sq, exmlds, ordinal, sequence, neighbours, content "
    "or here"
)
"""All recipes in words; their table loads numba, which this verb does not need."""
LONGEST_BUDGET_S = 3_600.0
"""Longest budget that the service accepts, in seconds."""
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
        typer.Option(help="Let the model serve even if nobody can judge it."),
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
