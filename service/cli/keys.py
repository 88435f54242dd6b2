"""`hedgerow keys create|list|revoke`."""

import json
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from service.cli import options
from service.cli.options import say
from service.processes.listening import keys_create
from service.settings import load_settings
from service.store.api_keys import ApiKey, Role, create_key, read_ring, revoke_key
from service.store.connection import connect
from service.store.identity.memory import Memory
from service.store.server.opening import open_store

app = options.verb()


@app.callback()
def keys() -> None:
    """Create, list and revoke API keys. A secret is shown once; the store keeps only its digest."""


@app.command()
def create(
    role: Annotated[Role, typer.Option(help="read < write < admin.")] = "admin",
    name: Annotated[str, typer.Option(help="Name of the owner, for the list.")] = "",
    data_dir: options.DataDir = None,
    as_json: options.Json = False,
) -> None:
    """Create a key and print it; it is never shown again."""
    settings = load_settings(data_dir=data_dir)
    with open_store(settings, create=True) as url, connect(url, role="keys") as client:
        key, secret = create_key(client, settings.namespace, role, name)
        ring = read_ring(client, settings.namespace)
        Memory(settings.data_dir).remember_keys(settings.namespace)
    if not any(one.role == "admin" and one.revoked is None for one in ring.keys.values()):
        say(
            "from now on every request needs a key; there is no admin key yet: "
            f"`{keys_create(settings, '--role', 'admin')}`"
        )
    if as_json:
        typer.echo(json.dumps({"id": key.id, "role": key.role, "name": key.name, "key": secret}))
        return
    typer.echo(secret)
    say("It is shown only now. Send it as the header: Authorization: Bearer <key>")


@app.command("list")
def list_keys(data_dir: options.DataDir = None, as_json: options.Json = False) -> None:
    """List all keys, including revoked ones."""
    settings = load_settings(data_dir=data_dir)
    with open_store(settings) as url, connect(url, role="keys") as client:
        known = sorted(
            read_ring(client, settings.namespace).keys.values(), key=lambda key: key.created
        )
    if as_json:
        typer.echo(json.dumps([_shown(key) for key in known]))
        return
    table = Table("id", "role", "name", "created", "revoked")
    for key in known:
        table.add_row(*(str(value or "") for value in _shown(key).values()))
    Console().print(table if known else "no keys yet: `hedgerow keys create` makes the first one")


@app.command()
def revoke(
    key_id: Annotated[str, typer.Argument(help="An id from `hedgerow keys list`.")],
    data_dir: options.DataDir = None,
) -> None:
    """Revoke a key; it stops working within two seconds."""
    settings = load_settings(data_dir=data_dir)
    with open_store(settings) as url, connect(url, role="keys") as client:
        revoke_key(client, settings.namespace, key_id)
    say(f"key {key_id} is revoked")


def _shown(key: ApiKey) -> dict[str, str | None]:
    return {
        "id": key.id,
        "role": key.role,
        "name": key.name,
        "created": key.created,
        "revoked": key.revoked,
    }
