"""`hedgerow bench`: the speed of the service on this machine, measured in half a minute."""

import json
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from itertools import islice
from pathlib import Path
from time import perf_counter
from typing import Annotated

import numpy as np
import typer
from rich.console import Console
from rich.table import Table

from service.cli import options
from service.client import ServiceClient, ndjson
from service.demo.sample_world import Event, SampleWorld
from service.processes.child import ServiceProcess
from service.settings_loading import load_settings

PART = 50_000

app = options.verb()


@dataclass(frozen=True)
class Figures:
    """The result; latencies in milliseconds, of one caller that waits for each answer."""

    ratings: int
    ingest_ratings_per_second: float
    post_p50_ms: float
    post_p99_ms: float
    prediction_p50_ms: float
    prediction_p99_ms: float
    durability: str


@app.command()
def bench(
    ratings: Annotated[int, typer.Option(min=1_000, help="Number of ratings to send.")] = 200_000,
    requests: Annotated[int, typer.Option(min=10, help="Number of single requests to time.")] = 500,
    as_json: options.Json = False,
) -> None:
    """Measure this machine with a temporary service: ingest, writes and predictions one by one."""
    console = Console(stderr=True)
    with tempfile.TemporaryDirectory(prefix="hedgerow-bench-") as directory:
        settings = load_settings(port=0, data_dir=Path(directory), scale="1:5")
        with (
            console.status("starting a temporary service") as status,
            ServiceProcess(settings) as service,
            service.client() as client,
        ):
            service.wait_until_ready(client)
            figures = measure(client, ratings, requests, settings.durability, status.update)
    if as_json:
        typer.echo(json.dumps(asdict(figures)))
        return
    table = Table("what", "figure")
    table.add_row(
        "ratings a second, sent as NDJSON, stored and learned",
        f"{figures.ingest_ratings_per_second:,.0f}",
    )
    table.add_row("POST of one rating, p50 / p99", _both(figures.post_p50_ms, figures.post_p99_ms))
    table.add_row(
        "prediction, p50 / p99", _both(figures.prediction_p50_ms, figures.prediction_p99_ms)
    )
    Console().print(table)


def measure(
    client: ServiceClient,
    ratings: int,
    requests: int,
    durability: str,
    say: Callable[[str], None],
) -> Figures:
    """Send a sample world, then single ratings, then ask for single predictions."""
    world = SampleWorld(n_users=2_000, n_items=2_000)
    events = world.events()
    say(f"making {ratings:,} ratings")
    parts = [ndjson(_row(e) for e in islice(events, PART)) for _ in range(ratings // PART)]
    parts.append(ndjson(_row(e) for e in islice(events, ratings % PART)))
    say(f"sending {ratings:,} ratings")
    started = perf_counter()
    sequence = ""
    for part in parts:
        sequence = client.upload("/v1/events/stream", part).sequence or sequence
    client.wait_until_learned(sequence)
    rate = ratings / (perf_counter() - started)
    say("posting ratings one by one")
    some = list(islice(events, requests))
    posts = list(_milliseconds(lambda e: client.post("/v1/events", _row(e)), some))
    say("asking for predictions one by one")
    gets = list(
        _milliseconds(lambda e: client.get(f"/v1/users/{e.user}/predictions/{e.item}"), some)
    )
    (post_p50, post_p99), (get_p50, get_p99) = (
        np.percentile(times, (50, 99)).tolist() for times in (posts, gets)
    )
    return Figures(
        ratings=ratings,
        ingest_ratings_per_second=rate,
        post_p50_ms=post_p50,
        post_p99_ms=post_p99,
        prediction_p50_ms=get_p50,
        prediction_p99_ms=get_p99,
        durability=durability,
    )


def _row(event: Event) -> dict[str, object]:
    return {"user": event.user, "item": event.item, "rating": event.rating}


def _milliseconds(call: Callable[[Event], object], events: list[Event]) -> Iterator[float]:
    for event in events:
        started = perf_counter()
        call(event)
        yield 1000.0 * (perf_counter() - started)


def _both(p50: float, p99: float) -> str:
    return f"{p50:.1f} / {p99:.1f} ms"
