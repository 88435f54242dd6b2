"""`hedgerow learner`: runs the learner of one partition."""

import signal
import threading
from typing import Annotated

import typer

from service.cli import options
from service.ending import ended_by_sigterm, follow_lifeline
from service.errors import Superseded
from service.learning.partition_loop import learn_partition
from service.metrics.seats import counting, metrics_folder
from service.processes.commands import SUPERSEDED
from service.processes.heartbeat import beat
from service.processes.interpreter import take_short_turns
from service.settings_loading import load_settings
from service.store.connection import connect
from service.store.namespace import open_namespace
from service.store.server.given import check_given
from service.telemetry import logger, set_up_logs
from service.tracing import tracing

app = options.verb()


@app.command()
def learner(
    partition: Annotated[int, typer.Option(min=0, help="Partition to learn.")] = 0,
    lifeline: options.Lifeline = None,
    heartbeat: options.Heartbeat = None,
) -> None:
    """Run the learner of one partition with a Redis of yours (HEDGEROW_REDIS_URL).

    A second learner of the partition waits as a standby. The exit code is 75 if another one took
    over.
    """
    settings = load_settings()
    set_up_logs(f"learner-{partition}", settings.log_level)
    follow_lifeline(lifeline)
    beat(heartbeat)
    take_short_turns()
    url = options.given_redis(settings, "learner")
    if lifeline is None:
        # started by hand: an unreachable store is an error at once; a later outage is waited out
        with ended_by_sigterm():
            check_given(settings)
        with connect(url, role=f"learner-{partition}") as client:
            open_namespace(client, settings)
    stop = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stop.set())
    try:
        folder = metrics_folder(settings.data_dir, settings.namespace)
        with tracing("learner", settings.traces_url), counting(folder, "learner") as meters:
            learn_partition(settings, url, partition, stop, meters)
    except Superseded:
        logger().warning("learner_superseded", partition=partition)
        raise typer.Exit(SUPERSEDED) from None
