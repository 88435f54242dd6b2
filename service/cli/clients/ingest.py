"""`hedgerow ingest`: brings the messages of a broker to a running service."""

import asyncio
import signal
from pathlib import Path
from typing import Annotated

import typer

from service.cli import options
from service.ending import follow_lifeline
from service.errors import Misconfigured
from service.extras import load
from service.ingest import loop
from service.ingest.inbox import InboxOptions, InboxSource
from service.ingest.sending import Service
from service.ingest.source import Source
from service.metrics.seats import counting, metrics_folder
from service.settings import Settings
from service.settings_loading import load_settings
from service.store.server.embedded import running_server
from service.telemetry import set_up_logs

NATS, KAFKA = "NATS JetStream", "Kafka"
OPTIONS = {
    "--stream": {"nats", "subject", "durable", "credentials", "ack_wait", "dead_letters"},
    "--topic": {"kafka", "group", "kafka_properties", "dead_letters"},
    "--inbox": {"ack_wait"},
}
"""The options that mean something to each source."""

app = options.verb()


@app.command()
def ingest(
    context: typer.Context,
    stream: Annotated[
        str | None, typer.Option(help="Stream of JetStream to read.", rich_help_panel=NATS)
    ] = None,
    nats: Annotated[
        str, typer.Option(help="Address of NATS.", rich_help_panel=NATS)
    ] = "nats://127.0.0.1:4222",
    subject: Annotated[
        str | None,
        typer.Option(
            help="Only messages of this subject, which may hold * and >.", rich_help_panel=NATS
        ),
    ] = None,
    durable: Annotated[
        str,
        typer.Option(help="Name under which NATS remembers what was read.", rich_help_panel=NATS),
    ] = "hedgerow",
    credentials: Annotated[
        Path | None,
        typer.Option(
            exists=True, dir_okay=False, help="Credentials file of NATS.", rich_help_panel=NATS
        ),
    ] = None,
    topic: Annotated[
        str | None, typer.Option(help="Topic of Kafka to read.", rich_help_panel=KAFKA)
    ] = None,
    kafka: Annotated[
        str,
        typer.Option(
            help="Addresses of Kafka, HOST:PORT, with commas between them.", rich_help_panel=KAFKA
        ),
    ] = "127.0.0.1:9092",
    group: Annotated[
        str,
        typer.Option(
            help="Consumer group, under which Kafka remembers what was read.",
            rich_help_panel=KAFKA,
        ),
    ] = "hedgerow",
    kafka_properties: Annotated[
        Path | None,
        typer.Option(
            exists=True,
            dir_okay=False,
            help="File with more properties of Kafka's client, name=value a line: "
            "security.protocol, sasl.username, ...",
            rich_help_panel=KAFKA,
        ),
    ] = None,
    inbox: Annotated[
        bool, typer.Option("--inbox", help="Read the inbox in the Redis of the service.")
    ] = False,
    batch: Annotated[
        int, typer.Option(min=1, max=10_000, help="Most messages that are under way.")
    ] = 500,
    ack_wait: Annotated[
        float,
        typer.Option(
            min=1.0,
            help="Seconds after which NATS or the inbox delivers again what a dead process held.",
        ),
    ] = 30.0,
    dead_letters: Annotated[
        str, typer.Option(help="Subject, or topic, for messages that cannot be accepted.")
    ] = "hedgerow.dead-letters",
    url: options.Url = None,
    key: options.Key = None,
    lifeline: options.Lifeline = None,
) -> None:
    """Bring messages to a running service: of NATS (--stream), Kafka (--topic) or Redis (--inbox).

    Each of them counts once. A message is one event or an array of events, as POST /v1/events has
    them. It is acknowledged once it is stored. NATS and Kafka need an extra, `nats` or `kafka`:
    pip install 'hedgerow[nats]'.

    The inbox is that of HEDGEROW_NAMESPACE in HEDGEROW_REDIS_URL, or else in the private server
    that a service runs in HEDGEROW_DATA_DIR.
    """
    settings = load_settings()
    set_up_logs("ingest", settings.log_level)
    follow_lifeline(lifeline)
    given = {"--stream": stream is not None, "--topic": topic is not None, "--inbox": inbox}
    if sum(given.values()) != 1:
        raise Misconfigured("say what to read: one of --stream, --topic and --inbox")
    _refuse_others(context, next(name for name in given if given[name]))
    source: Source
    if stream is not None:
        module = load("service.ingest.nats_stream", extra="nats", for_what="--stream")
        source = module.NatsSource(
            module.NatsOptions(
                url=nats,
                stream=stream,
                subject=subject,
                durable=durable,
                batch=batch,
                ack_wait_s=ack_wait,
                dead_subject=dead_letters,
                credentials=credentials,
            )
        )
    elif topic is not None:
        module = load("service.ingest.kafka_topic", extra="kafka", for_what="--topic")
        source = module.KafkaSource(
            module.KafkaOptions(
                servers=kafka,
                topic=topic,
                group=group,
                batch=batch,
                dead_topic=dead_letters,
                properties=kafka_properties,
            )
        )
    else:
        store = _store(settings)
        source = InboxSource(InboxOptions(store, settings.namespace, batch, ack_wait))
    service = Service(options.service_url(url), key)

    async def run() -> None:
        stop = asyncio.Event()
        for number in (signal.SIGTERM, signal.SIGINT):
            asyncio.get_running_loop().add_signal_handler(number, stop.set)
        with counting(metrics_folder(settings.data_dir, settings.namespace), "ingest") as meters:
            await loop.ingest(source, service, meters, stop)

    asyncio.run(run())


def _refuse_others(context: typer.Context, source: str) -> None:
    """Refuse the options of another source, which would be ignored."""
    for option in context.command.params:
        others = any(option.name in names for names in OPTIONS.values())
        if others and option.name not in OPTIONS[source] and _is_given(context, option.name):
            raise Misconfigured(f"{option.opts[0]} means nothing with {source}: leave it out")


def _store(settings: Settings) -> str:
    """Return the url of the store; it is never started here."""
    url = settings.redis_url or running_server(settings.data_dir)
    if url is None:
        raise Misconfigured(
            "there is no store: set HEDGEROW_REDIS_URL, or HEDGEROW_DATA_DIR to that of a running "
            "`hedgerow serve`"
        )
    return url


def _is_given(context: typer.Context, name: str | None) -> bool:
    source = None if name is None else context.get_parameter_source(name)
    return source is not None and source.name == "COMMANDLINE"
