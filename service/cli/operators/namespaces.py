"""`hedgerow namespaces list|delete`."""

import json
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from service.cli import options
from service.cli.options import say
from service.errors import Misconfigured
from service.settings_loading import load_settings
from service.store.audit import acting
from service.store.connection import Client, connect
from service.store.identity.memory import Memory
from service.store.namespace import read_namespace, scale_text
from service.store.namespaces import Contents, contents, delete_namespace
from service.store.namespaces import namespaces as all_of
from service.store.server.opening import open_store

app = options.verb()


@app.callback()
def namespaces() -> None:
    """List the namespaces of a store, or delete one with all its data."""


@app.command("list")
def list_namespaces(data_dir: options.DataDir = None, as_json: options.Json = False) -> None:
    """List all namespaces."""
    with _store(data_dir) as client:
        shown = [_shown(one) for one in all_of(client)]
    if as_json:
        typer.echo(json.dumps(shown))
        return
    table = Table("name", "partitions", "scale", "users", "items", "created", "in use")
    for one in shown:
        table.add_row(*map(str, one.values()))
    Console().print(table if shown else "no namespaces yet: `hedgerow serve` makes the first one")


@app.command()
def delete(
    name: Annotated[str, typer.Argument(help="A name from `hedgerow namespaces list`.")],
    yes: Annotated[bool, typer.Option("--yes", help="Delete it; this cannot be undone.")] = False,
    data_dir: options.DataDir = None,
) -> None:
    """Delete a namespace: histories, documents, models, keys.

    It is refused while a learner or trainer works for the namespace.
    """
    settings = load_settings(data_dir=data_dir)
    with _store(data_dir) as client:
        found = contents(client, name)
        if not yes:
            raise Misconfigured(
                f"this deletes {found.users:,} users with their histories and {found.items:,} "
                "items for ever: add --yes to confirm (`hedgerow export` saves the histories)"
            )
        with _noted(client, settings.namespace, name):
            deleted = delete_namespace(client, name)
        Memory(settings.data_dir).forget(name)
    say(f"the namespace {name} is deleted, {deleted:,} keys")


def _noted(client: Client, noting: str, name: str) -> AbstractContextManager[object]:
    """Note a deletion in the namespace of the settings: the log of the deleted one goes with it."""
    if noting == name or read_namespace(client, noting) is None:
        return nullcontext()
    return acting(client, noting, "deleteNamespace", deleted=name)


@contextmanager
def _store(data_dir: Path | None) -> Iterator[Client]:
    settings = load_settings(data_dir=data_dir)
    with open_store(settings) as url, connect(url, role="namespaces") as client:
        yield client


def _shown(found: Contents) -> dict[str, Any]:
    namespace = found.namespace
    return {
        "name": namespace.name,
        "partitions": namespace.partitions,
        "scale": scale_text(namespace.scale),
        "users": found.users,
        "items": found.items,
        "created": namespace.created[:10],
        "in_use": bool(found.workers),
    }
