"""`hedgerow models list|changes|promote|pin|unpin|rollback`.

These use the store directly, so they work while no api process runs.
"""

import json
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from service.cli import options
from service.cli.options import say
from service.settings_loading import load_settings
from service.store.audit import COMMAND_LINE, acting
from service.store.connection import connect
from service.store.models.records import SHOWN, ModelChange, ModelRecord
from service.store.models.registry import Registry
from service.store.server.opening import open_store

Version = Annotated[
    str, typer.Argument(help="A version from `hedgerow models list`, or its first characters.")
]
Why = Annotated[str, typer.Option(help="Reason, for `hedgerow models changes`.")]
Strategy = Annotated[
    str | None,
    typer.Argument(help="As `hedgerow models changes` names it; needed if several are active."),
]

app = options.verb()


@app.callback()
def models() -> None:
    """List trained models, and choose which ones serve."""


@app.command("list")
def list_models(data_dir: options.DataDir = None, as_json: options.Json = False) -> None:
    """List all models, the newest first."""
    with _registry(data_dir) as registry:
        records, active, pinned = registry.records(), registry.active(), registry.pins()
    shown = [_shown(record, active, pinned) for record in records]
    if as_json:
        typer.echo(json.dumps(shown))
        return
    table = Table(box=None, padding=(0, 2, 0, 0))
    for name in ("version", "model", "created (UTC)", "gate", "ndcg@10", "MB", ""):
        # all of them fit into 80 columns; a version that is cut could not be copied
        table.add_column(name, no_wrap=True)
    for record, model in zip(records, shown, strict=True):
        table.add_row(*_row(record, model))
    Console().print(table if shown else "no models yet: `hedgerow retrain` makes the first one")


@app.command()
def changes(
    limit: Annotated[
        int, typer.Option(min=1, max=1_000, help="Number of changes, newest first.")
    ] = 20,
    data_dir: options.DataDir = None,
    as_json: options.Json = False,
) -> None:
    """List changes of the active models: when, who and why."""
    with _registry(data_dir) as registry:
        found = registry.changes(limit)
    if as_json:
        typer.echo(json.dumps([asdict(change) for change in found]))
        return
    console = Console(highlight=False)
    for change in found:
        console.print(*_lines(change), sep="\n", markup=False)
    if not found:
        console.print("no model has been promoted yet")


@app.command()
def promote(
    version: Version,
    why: Why = "",
    data_dir: options.DataDir = None,
    as_json: options.Json = False,
) -> None:
    """Make a model the active one of its strategy, whatever the gate decided."""
    with _registry(data_dir, "promoteModel", version=version, why=why) as registry:
        record = registry.named(version)
        expected = registry.active().get(record.strategy)
        registry.set_active(
            record.strategy, record.version, expected=expected, who=COMMAND_LINE, why=why
        )
        _tell(registry, record.version, as_json=as_json)


@app.command()
def pin(
    version: Version,
    why: Why = "",
    data_dir: options.DataDir = None,
    as_json: options.Json = False,
) -> None:
    """Make a model active until it is unpinned; no training replaces it."""
    with _registry(data_dir, "pinModel", version=version, why=why) as registry:
        record = registry.named(version)
        registry.pin(record.version, COMMAND_LINE, why)
        _tell(registry, record.version, as_json=as_json)


@app.command()
def unpin(
    version: Version,
    why: Why = "",
    data_dir: options.DataDir = None,
    as_json: options.Json = False,
) -> None:
    """Allow the next training to replace a model; until then it keeps serving."""
    with _registry(data_dir, "unpinModel", version=version, why=why) as registry:
        record = registry.named(version)
        registry.unpin(record.version, COMMAND_LINE, why)
        _tell(registry, record.version, as_json=as_json)


@app.command()
def rollback(
    strategy: Strategy = None,
    why: Why = "",
    data_dir: options.DataDir = None,
    as_json: options.Json = False,
) -> None:
    """Make the previous model active again; when repeated, the one before that."""
    about = {"strategy": strategy or "the only one", "why": why}
    with _registry(data_dir, "rollBackModel", **about) as registry:
        name = strategy or registry.only_strategy()
        _tell(registry, registry.roll_back(name, who=COMMAND_LINE, why=why), as_json=as_json)


@contextmanager
def _registry(data_dir: Path | None, act: str = "", **about: str) -> Iterator[Registry]:
    """Yield the registry; what is done with it is noted as ``act``, if that is given."""
    settings = load_settings(data_dir=data_dir)
    with open_store(settings) as url, connect(url, role="models") as client:
        name = settings.namespace
        with acting(client, name, act, **about) if act else nullcontext():
            yield Registry(client, name)


def _tell(registry: Registry, version: str, *, as_json: bool) -> None:
    """Print the state of a model."""
    record, active, pinned = registry.record(version), registry.active(), registry.pins()
    model = _shown(record, active, pinned)
    if as_json:
        typer.echo(json.dumps(model))
        return
    say(f"{record.strategy}: {version[:SHOWN]} {_state(model) or 'does not serve'}")


def _shown(record: ModelRecord, active: dict[str, str], pinned: dict[str, str]) -> dict[str, Any]:
    return asdict(record) | {
        "active": active.get(record.strategy) == record.version,
        "pinned": pinned.get(record.strategy) == record.version,
    }


def _lines(change: ModelChange) -> Iterator[str | Padding]:
    before = change.before if change.before != change.version else None
    instead = f" instead of {before[:SHOWN]}" if before else ""
    at, what = options.moment(change.at_ms), f"{change.action} {change.strategy}"
    yield f"{at}  {what} {change.version[:SHOWN]}{instead}"
    why = f": {change.why}" if change.why else ""
    yield Padding(Text(f"{change.who}{why}"), (0, 0, 0, 22), expand=False)


def _state(model: dict[str, Any]) -> str:
    if model["pinned"]:
        return "active, pinned"
    return "active" if model["active"] else ""


def _row(record: ModelRecord, model: dict[str, Any]) -> list[str]:
    ndcg = record.metrics.get("ndcg@10")
    return [
        record.version[:SHOWN],
        record.model,
        options.moment(record.created_ms)[:16],
        str(record.decision.get("outcome", "")).replace("_", " "),
        "" if ndcg is None else f"{ndcg:.4f}",
        f"{record.bytes / 2**20:.1f}",
        "pinned" if model["pinned"] else _state(model),
    ]
