"""Options that several verbs share, their meaning, and messages to the operator."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import Progress, SpinnerColumn, TextColumn

from service.errors import Misconfigured
from service.processes.listening import address
from service.settings import API_KEY_NAME, Settings
from service.settings_loading import load_settings, secret_in_file

Host = Annotated[
    str | None,
    typer.Option(help="Address to listen on; other than loopback only once an API key exists."),
]
Port = Annotated[int | None, typer.Option(help="Port to listen on; 0 lets the system choose.")]
DataDir = Annotated[
    Path | None,
    typer.Option(help="Directory for the files of the private server.", file_okay=False),
]
Lifeline = Annotated[int | None, typer.Option(hidden=True)]
"""Read end of a pipe that closes when the process that started us is gone."""
Heartbeat = Annotated[int | None, typer.Option(hidden=True)]
"""Write end of a pipe for signs of life."""
Url = Annotated[
    str | None,
    typer.Option(
        help="Address of the service; by default the host and port of the settings, "
        "http://127.0.0.1:8000 if there are none."
    ),
]
Key = Annotated[
    str | None,
    typer.Option(
        help="API key, if the service needs one.",
        envvar=API_KEY_NAME,
        callback=lambda given: given or secret_in_file(API_KEY_NAME),
    ),
]
BUDGET_HELP = "Wall-clock seconds for the search of settings, without the final fit. 0: no search"
Json = Annotated[bool, typer.Option("--json", help="Print JSON for programs.")]


def verb() -> typer.Typer:
    """Return a typer app for one verb, or for one with verbs of its own."""
    return typer.Typer(
        add_completion=False,
        no_args_is_help=False,
        pretty_exceptions_enable=False,
        rich_markup_mode=None,
        context_settings={"help_option_names": ["-h", "--help"]},
    )


def moment(time_ms: int) -> str:
    """Return a moment as tables show it.

    >>> moment(1_795_003_200_000)
    '2026-11-18 12:00:00Z'
    """
    return f"{datetime.fromtimestamp(time_ms // 1_000, UTC):%Y-%m-%d %H:%M:%SZ}"


def service_url(given: str | None) -> str:
    """Return the URL of a running service, by default from the settings found here."""
    if given is not None:
        if not given.startswith(("http://", "https://")):
            raise Misconfigured(f"--url must begin with http:// or https://, not {given!r}")
        return given
    settings = load_settings()
    if settings.port == 0:
        raise Misconfigured(
            "HEDGEROW_PORT=0 lets the system choose the port: name the address that the service "
            "printed with --url http://127.0.0.1:PORT"
        )
    return address(settings.host, settings.port)


def given_redis(settings: Settings, role: str) -> str:
    """Return the URL of the given Redis; a role that runs alone needs one."""
    if settings.redis_url is None:
        raise Misconfigured(
            f"`hedgerow {role}` needs a Redis: set HEDGEROW_REDIS_URL "
            "(redis://host:6379/0); `hedgerow serve` starts its own"
        )
    return settings.redis_url


@contextmanager
def counting() -> Iterator[Callable[[str], None]]:
    """Yield what shows how far long work is, on a terminal; ends with the work."""
    console = Console(stderr=True)
    columns = (SpinnerColumn(), TextColumn("{task.fields[said]}"))
    with Progress(*columns, console=console, disable=not console.is_terminal) as progress:
        task = progress.add_task("", total=None, said="")
        yield lambda said: progress.update(task, said=said)


def say(text: str) -> None:
    """Print a message to the operator on stderr; it is not part of the output."""
    typer.echo(text, err=True)
