"""`hedgerow serve`."""

from typing import Annotated

import typer

from service.cli import options
from service.ending import follow_lifeline
from service.processes import supervisor
from service.settings_loading import load_settings
from service.telemetry import set_up_logs

app = options.verb()


@app.command()
def serve(
    host: options.Host = None,
    port: options.Port = None,
    data_dir: options.DataDir = None,
    ingest: Annotated[
        list[str] | None,
        typer.Option(
            help="Stream of a broker to bring in, nats://HOST:4222/STREAM; may be given several "
            "times."
        ),
    ] = None,
    lifeline: options.Lifeline = None,
) -> None:
    """Run the whole service on this machine: api, learners, trainer and, if none is given, Redis.

    It shuts down cleanly on Ctrl-C or SIGTERM. Everything that it stores is in the data directory.
    """
    settings = load_settings(host=host, port=port, data_dir=data_dir, ingest=ingest or None)
    set_up_logs("supervisor", settings.log_level)
    follow_lifeline(lifeline)
    supervisor.serve(settings)
