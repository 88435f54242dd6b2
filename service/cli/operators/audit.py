"""`hedgerow audit`: what operators did."""

import json
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from service.api.times import rfc3339
from service.cli import options
from service.settings_loading import load_settings
from service.store.audit import KEPT, Audit
from service.store.connection import connect
from service.store.namespaces import contents
from service.store.server.opening import open_store

app = options.verb()


@app.command()
def audit(
    limit: Annotated[
        int, typer.Option(min=1, max=KEPT, help="Number of acts, the newest first.")
    ] = 50,
    data_dir: options.DataDir = None,
    as_json: options.Json = False,
) -> None:
    """List what operators did: keys, models, deletions, backups, exports, and how each ended."""
    settings = load_settings(data_dir=data_dir)
    with open_store(settings) as url, connect(url, role="audit") as client:
        found = Audit(client, settings.namespace).entries(limit)
        if not found:
            # nothing was done in a namespace that is not there: say so
            contents(client, settings.namespace)
    shown = [
        {
            "time": rfc3339(entry.at_ms),
            "who": entry.act.who,
            "act": entry.act.act,
            "about": dict(entry.act.about),
            "result": entry.act.result,
        }
        for entry in found
    ]
    if as_json:
        typer.echo(json.dumps(shown))
        return
    table = Table("time (UTC)", "who", "act", "about", "result", box=None, padding=(0, 2, 0, 0))
    for entry in found:
        about = ", ".join(f"{name} {text}" for name, text in entry.act.about.items())
        act = entry.act
        table.add_row(options.moment(entry.at_ms)[:19], act.who, act.act, about, act.result)
    Console().print(table if found else "nothing is noted yet")
