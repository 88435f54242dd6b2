"""`hedgerow keys create|list|revoke`."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from service.cli import options
from service.cli.options import say
from service.errors import Misconfigured
from service.settings import Settings
from service.settings_loading import load_settings
from service.store.api_keys import (
    MOST_DAYS,
    ApiKey,
    Role,
    create_key,
    ends_after,
    read_ring,
    revoke_key,
)
from service.store.audit import acting
from service.store.connection import Client, connect
from service.store.identity.memory import Memory
from service.store.namespace import read_namespace
from service.store.namespaces import names
from service.store.server.opening import open_store

app = options.verb()


@app.callback()
def keys() -> None:
    """Create, list and revoke API keys. A secret is shown once; the store keeps only its digest."""


@app.command()
def create(
    role: Annotated[Role, typer.Option(help="read < write < admin.")] = "admin",
    name: Annotated[str, typer.Option(help="Name of the owner, for the list.")] = "",
    days: Annotated[
        float | None,
        typer.Option(help=f"Days after which it stops working, at most {MOST_DAYS}."),
    ] = None,
    data_dir: options.DataDir = None,
    as_json: options.Json = False,
) -> None:
    """Create a key and print it; it is never shown again.

    The first must have the role admin and no end.
    """
    if days is not None and not 0.0 < days <= MOST_DAYS:
        raise Misconfigured(
            f"--days must be more than 0 and at most {MOST_DAYS} (it is {days:g}): leave it out "
            "for a key that lasts"
        )
    settings = load_settings(data_dir=data_dir)
    with _keys_of(settings, create=True) as client:
        with acting(client, settings.namespace, "createKey", role=role) as about:
            key, secret = create_key(client, settings.namespace, role, name, ends_after(days))
            about["key"] = key.id
        Memory(settings.data_dir).remember_keys(settings.namespace)
    if as_json:
        made = {"id": key.id, "role": key.role, "name": key.name, "expires": _end(key)}
        typer.echo(json.dumps(made | {"key": secret}))
        return
    typer.echo(secret)
    if key.expires_ms is not None:
        say(f"It works until {options.moment(key.expires_ms)}.")
    say("It is shown only now. Send it as the header: Authorization: Bearer <key>")


@app.command("list")
def list_keys(data_dir: options.DataDir = None, as_json: options.Json = False) -> None:
    """List all keys, including revoked ones."""
    settings = load_settings(data_dir=data_dir)
    with _keys_of(settings) as client:
        known = sorted(
            read_ring(client, settings.namespace).keys.values(), key=lambda key: key.created
        )
    if as_json:
        typer.echo(json.dumps([_shown(key) for key in known]))
        return
    table = Table("id", "role", "name", "created", "revoked", "expires")
    for key in known:
        table.add_row(*(str(value or "") for value in _shown(key).values()))
    Console().print(table if known else "no keys yet: `hedgerow keys create` makes the first one")


@app.command()
def revoke(
    key_id: Annotated[str, typer.Argument(help="An id from `hedgerow keys list`.")],
    data_dir: options.DataDir = None,
) -> None:
    """Revoke a key; it stops working within 250 ms."""
    settings = load_settings(data_dir=data_dir)
    name = settings.namespace
    with _keys_of(settings) as client, acting(client, name, "revokeKey", key=key_id):
        revoke_key(client, name, key_id)
    say(f"key {key_id} is revoked")


@contextmanager
def _keys_of(settings: Settings, *, create: bool = False) -> Iterator[Client]:
    """Yield a client of the store; say so if the namespace, whose keys are meant, is not there."""
    with open_store(settings, create=create) as url, connect(url, role="keys") as client:
        if read_namespace(client, settings.namespace) is None:
            there = ", ".join(names(client))
            say(
                f"warning: the store has no namespace {settings.namespace} "
                f"({f'there are: {there}' if there else 'it has none yet'}). A key opens one "
                "namespace only, that of HEDGEROW_NAMESPACE; `hedgerow serve` makes it"
            )
        yield client


def _end(key: ApiKey) -> str | None:
    """Return when a key stops working, in the form of its other times; None for one that lasts."""
    return None if key.expires_ms is None else options.moment(key.expires_ms).replace(" ", "T")


def _shown(key: ApiKey) -> dict[str, str | None]:
    return {
        "id": key.id,
        "role": key.role,
        "name": key.name,
        "created": key.created,
        "revoked": key.revoked,
        "expires": _end(key),
    }
