"""`hedgerow rebuild`: options and output; ``service/learning/rebuild.py`` does the work."""

import json
from collections.abc import Callable
from dataclasses import asdict
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TaskProgressColumn, TextColumn

from service.cli import options
from service.cli.options import say
from service.learning import rebuild as rebuilding
from service.settings_loading import load_settings
from service.store.audit import acting
from service.store.connection import connect
from service.store.server.opening import open_store

app = options.verb()


@app.command()
def rebuild(
    into: Annotated[
        str | None,
        typer.Option(
            help="Write to this new namespace, for comparison; the current one does not change."
        ),
    ] = None,
    data_dir: options.DataDir = None,
    as_json: options.Json = False,
) -> None:
    """Learn everything again from the histories, with the experts in the settings.

    The service keeps reading and writing meanwhile. After a change of HEDGEROW_EXPERTS or
    HEDGEROW_AGGREGATOR, run this with the new settings, then restart api and learners with them.
    Until then predictions answer 503, and `hedgerow serve` with the old settings stops at the next
    event. With --into the exit code is 1 if the rows differ from those of the current namespace.
    """
    settings = load_settings(data_dir=data_dir)
    about = {} if into is None else {"into": into}
    with (
        open_store(settings) as url,
        connect(url, role="rebuild") as client,
        acting(client, settings.namespace, "rebuild", **about),
        _progress() as progress,
    ):
        results = rebuilding.rebuild(settings, url, into=into, progress=_shown(progress))
    if as_json:
        typer.echo(json.dumps([asdict(result) for result in results]))
    for result in results:
        say(
            f"partition {result.partition}: {result.learned:,} ratings learned up to event "
            f"{result.watermark:,}, generation {result.generation}"
        )
        for difference in result.differences or []:
            say(f"  differs: {difference}")
    differ = any(result.differences for result in results)
    if differ:
        say(
            "differences are expected if users or items were deleted or merged since the last "
            "rebuild: the current rows still contain what others learned from them; "
            "`hedgerow rebuild` without --into removes that, too"
        )
    raise typer.Exit(1 if differ else 0)


def _progress() -> Progress:
    console = Console(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn())
    return Progress(*columns, console=console, disable=not console.is_terminal)


def _shown(progress: Progress) -> Callable[[str, int, int], None]:
    """Return a callback that keeps one bar for each phase."""
    tasks: dict[str, TaskID] = {}

    def show(phase: str, done: int, total: int) -> None:
        if phase not in tasks:
            tasks[phase] = progress.add_task(phase)
        progress.update(tasks[phase], completed=done, total=total or None)

    return show
