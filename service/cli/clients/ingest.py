"""`hedgerow ingest`: brings messages of NATS JetStream to a running service."""

import asyncio
import importlib
import signal
from pathlib import Path
from typing import Annotated

import typer

from service.cli import options
from service.ending import follow_lifeline
from service.errors import Misconfigured
from service.metrics.seats import counting, metrics_folder
from service.settings_loading import load_settings
from service.telemetry import set_up_logs

app = options.verb()


@app.command()
def ingest(
    stream: Annotated[str, typer.Option(help="Stream of JetStream to read.")],
    nats: Annotated[str, typer.Option(help="Address of NATS.")] = "nats://127.0.0.1:4222",
    subject: Annotated[
        str | None, typer.Option(help="Only messages of this subject, which may hold * and >.")
    ] = None,
    durable: Annotated[
        str, typer.Option(help="Name under which NATS remembers what was read.")
    ] = "hedgerow",
    batch: Annotated[
        int, typer.Option(min=1, max=10_000, help="Most messages that are under way.")
    ] = 500,
    ack_wait: Annotated[
        float,
        typer.Option(
            min=1.0, help="Seconds after which NATS delivers again what a dead process held."
        ),
    ] = 30.0,
    dead_letters: Annotated[
        str,
        typer.Option(
            help="Subject for messages that cannot be accepted; a stream for it is made if there "
            "is none."
        ),
    ] = "hedgerow.dead-letters",
    credentials: Annotated[
        Path | None, typer.Option(exists=True, dir_okay=False, help="Credentials file of NATS.")
    ] = None,
    url: options.Url = None,
    key: options.Key = None,
    lifeline: options.Lifeline = None,
) -> None:
    """Bring messages of NATS JetStream to a running service, each of which counts once.

    A message is one event or an array of events, as POST /v1/events has them. It is acknowledged
    once it is stored. Needs the extra `nats`: pip install 'hedgerow[nats]'.
    """
    settings = load_settings()
    set_up_logs("ingest", settings.log_level)
    follow_lifeline(lifeline)
    try:
        loop = importlib.import_module("service.ingest.loop")
        streams = importlib.import_module("service.ingest.nats_stream")
    except ModuleNotFoundError as error:
        raise Misconfigured(
            f"`hedgerow ingest` needs {error.name}: pip install 'hedgerow[nats]'"
        ) from None
    from_service = importlib.import_module("service.ingest.sending").Service(
        options.service_url(url), key
    )
    wanted = streams.NatsOptions(
        url=nats,
        stream=stream,
        subject=subject,
        durable=durable,
        batch=batch,
        ack_wait_s=ack_wait,
        dead_subject=dead_letters,
        credentials=credentials,
    )

    async def run() -> None:
        stop = asyncio.Event()
        for number in (signal.SIGTERM, signal.SIGINT):
            asyncio.get_running_loop().add_signal_handler(number, stop.set)
        with counting(metrics_folder(settings.data_dir, settings.namespace), "ingest") as meters:
            await loop.ingest(wanted, from_service, meters, stop)

    asyncio.run(run())
