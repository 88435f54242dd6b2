"""`hedgerow trainer`: runs the trainer, and does a job in the process that is forked for it."""

import importlib
import os
import signal
import threading
from functools import partial

import typer

from service.cli import options
from service.ending import end_with_parent, ended_by_sigterm, follow_lifeline, yield_to_others
from service.errors import Superseded
from service.metrics.seats import counting, metrics_folder
from service.processes.commands import ONE_THREAD, SUPERSEDED
from service.settings import Settings
from service.settings_loading import load_settings
from service.store.connection import connect
from service.store.jobs.queue import Work
from service.store.jobs.schedule import Schedules
from service.store.server.given import check_given
from service.telemetry import logger, set_up_logs
from service.tracing import tracing
from service.training import trainer as trainers
from service.training.reporter import Reporter

app = options.verb()


@app.command()
def trainer(lifeline: options.Lifeline = None) -> None:
    """Run the trainer with a Redis of yours (HEDGEROW_REDIS_URL).

    A second trainer of the namespace waits as a standby. The exit code is 75 if another one took
    over.
    """
    try:
        run_trainer(lifeline, train)
    except Superseded:
        logger().warning("trainer_superseded")
        raise typer.Exit(SUPERSEDED) from None


def run_trainer(lifeline: int | None, work: Work) -> None:
    """Run a trainer whose jobs ``work`` does; raise Superseded if another trainer took over."""
    settings = load_settings()
    set_up_logs("trainer", settings.log_level)
    follow_lifeline(lifeline)
    url = options.given_redis(settings, "trainer")
    if lifeline is None:
        with ended_by_sigterm():
            check_given(settings)
    stop = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stop.set())
    folder = metrics_folder(settings.data_dir, settings.namespace)
    with tracing("trainer", settings.traces_url), counting(folder, "trainer") as meters:
        trainers.run(settings, url, stop, work, meters)


def train(job: str, reporter: type[Reporter] = Reporter) -> None:
    """Do one job in this process, which was forked for it."""
    settings = load_settings()
    _set_up(settings)
    give_way = partial(yield_to_others, settings.trainer_nice)
    with connect(options.given_redis(settings, "trainer"), role="training") as client:
        # until something serves, everybody waits for this training: it takes a full share
        if Schedules(client, settings).anything_serves():
            give_way()
        # imported late: numerical libraries read the number of threads when they are imported
        training = importlib.import_module("service.training.work")
        training.run(settings, client, job, reporter, give_way)


def _set_up(settings: Settings) -> None:
    """End with the trainer, and leave a processor to the serving processes."""
    if (tie := end_with_parent()) is not None:
        tie()
    threads = settings.trainer_threads or max(1, (os.cpu_count() or 2) - 1)
    os.environ.update(ONE_THREAD)
    os.environ["NUMBA_NUM_THREADS"] = str(threads)
