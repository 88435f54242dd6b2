"""`hedgerow learner`."""

import signal
import threading
from typing import Annotated

import typer

from service.cli import options
from service.errors import Superseded
from service.learning import learner as learners
from service.processes import follow_lifeline
from service.settings import load_settings
from service.supervisor import SUPERSEDED
from service.telemetry import logger, set_up_logs

app = options.verb()


@app.command()
def learner(
    partition: Annotated[int, typer.Option(min=0, help="Which partition to learn.")] = 0,
    lifeline: options.Lifeline = None,
) -> None:
    """Run the learner of one partition beside a given Redis (HEDGEROW_REDIS_URL).

    A second one for the same partition waits as a standby. The exit code is 75 when another one took over.
    """
    settings = load_settings()
    set_up_logs(f"learner-{partition}", settings.log_level)
    stop = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stop.set())
    follow_lifeline(lifeline)
    try:
        learners.run(settings, options.given_redis(settings, "learner"), partition, stop)
    except Superseded:
        logger().warning("learner_superseded", partition=partition)
        raise typer.Exit(SUPERSEDED) from None
