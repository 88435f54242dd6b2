"""`hedgerow demo`: a whole service, ratings that stream into it, and a view of what it learns."""

import shutil
import signal
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from service.cli import options
from service.client import ndjson, segment
from service.demo.stream import Demo
from service.demo.worlds import World, file_world, sample_world
from service.processes.child import ServiceProcess
from service.settings import Settings
from service.settings_loading import load_settings

FASTEST = 900
"""Maximum number of ratings a second."""
TRAINER_NICE = 10
"""Niceness of trainings, less than the usual 19 because the user waits for them."""

app = options.verb()


@app.command()
def demo(
    ratings: Annotated[
        Path | None, typer.Option(help="Stream this CSV or NDJSON instead of the sample world.")
    ] = None,
    rate: Annotated[float, typer.Option(min=0.1, max=FASTEST, help="Ratings a second.")] = 50.0,
    port: options.Port = None,
    data_dir: options.DataDir = None,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the sample world.")] = 0,
    seconds: Annotated[
        float | None, typer.Option(min=0, help="End after this many seconds.")
    ] = None,
) -> None:
    """Watch the service learn from a stream of ratings, a sample world or your own, until Ctrl-C.

    The data directory is a temporary one unless you name one.
    """
    # SIGTERM ends the demo as Ctrl-C does
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    console = Console()
    world = file_world(ratings) if ratings is not None else sample_world(seed)
    with _directory(data_dir) as directory:
        console.print("Starting the service ...")
        with (
            ServiceProcess(_settings(world, port, directory)) as service,
            service.client() as client,
        ):
            service.wait_until_ready(client)
            _say_where_to_look(console, service.url, world, rate)
            if world.documents:
                client.upload("/v1/items", ndjson(world.documents))
            Demo(service, client, world, rate=rate, console=console).run(seconds)
    console.print("The demo has ended; nothing is left running.")


def _settings(world: World, port: int | None, directory: Path) -> Settings:
    """Return settings for a service whose trainings the demo starts, with a user who waits."""
    return load_settings(
        port=port,
        data_dir=directory,
        scale=world.scale,
        retrain_after_events=0,
        trainer_nice=TRAINER_NICE,
    )


@contextmanager
def _directory(given: Path | None) -> Iterator[Path]:
    if given is not None:
        yield given
        return
    directory = Path(tempfile.mkdtemp(prefix="hedgerow-demo-"))
    try:
        yield directory
    finally:
        shutil.rmtree(directory, ignore_errors=True)


def _say_where_to_look(console: Console, url: str, world: World, rate: float) -> None:
    user, item = map(segment, world.pair)
    lines = [
        f"Open {url}/console in a browser: rate a few items, and see the list change.",
        f"The service answers at {url}; {url}/docs lists every route. Try, in another terminal:",
        f"  curl {url}/v1/experts",
        f"  curl {url}/v1/users/{user}/predictions/{item}",
        f"  curl {url}/v1/users/{user}/ratings",
        f"  curl {url}/v1/users/{user}/recommendations",
        f"  curl {url}/v1/topics",
    ]
    if world.total is not None:
        minutes = world.total / rate / 60.0
        lines.append(
            f"{world.total:,} ratings, {rate:g} a second, take {minutes:,.0f} min; "
            f"set --rate to change that, up to {FASTEST}."
        )
    console.print("\n".join(lines), highlight=False, soft_wrap=True, markup=False)
