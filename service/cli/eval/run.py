"""Code that the verbs of ``hedgerow eval`` share: progress bar, output and error messages."""

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import typer
from rich.console import Console
from rich.progress import Progress, TaskID

from core.errors import ConfigError, CoreError
from service.cli.options import say
from service.errors import ServiceError

Report = dict[str, Any]
OnProgress = Callable[[str, float], None]
"""Called with the name of a step and the share of it that is done."""

_errors = Console(stderr=True)


def evaluated(
    work: Callable[[OnProgress], Report], show: Callable[[Report], None], *, as_json: bool
) -> None:
    """Print the report that ``work`` returns; for an error, one sentence and exit code 2."""
    try:
        with _bar() as on_progress:
            report = work(on_progress)
    except (CoreError, ServiceError) as error:
        say(f"hedgerow: {error}")
        raise typer.Exit(2) from error
    if as_json:
        typer.echo(json.dumps(report))
    else:
        show(report)


@contextmanager
def _bar() -> Iterator[OnProgress]:
    """Show a progress bar on stderr if that is a terminal."""
    if not _errors.is_terminal:
        yield lambda what, share: None
        return
    tasks: dict[str, TaskID] = {}
    with Progress(console=_errors, transient=True) as bar:

        def on_progress(what: str, share: float) -> None:
            if what not in tasks:
                tasks[what] = bar.add_task(what, total=1.0)
            bar.update(tasks[what], completed=share)

        yield on_progress


def settings_of(pairs: Sequence[str], example: str) -> dict[str, str]:
    """Return NAME=VALUE pairs as a mapping; raise ConfigError for malformed or repeated ones."""
    named = {}
    for pair in pairs:
        name, equals, value = pair.partition("=")
        if not equals:
            raise ConfigError(f"--set must be NAME=VALUE, such as {example}, not {pair!r}")
        if name.strip() in named:
            raise ConfigError(f"--set {name.strip()} is given twice: leave one out")
        named[name.strip()] = value.strip()
    return named
