"""`hedgerow api`: one uvicorn process with our app on a socket of our own."""

import gc
import socket
import threading
from collections.abc import Callable
from functools import partial
from types import FrameType
from typing import Annotated

import typer
import uvicorn

from service.app import create_app
from service.cli import options
from service.ending import ended_by_sigterm, follow_lifeline
from service.errors import StoreRolledBack, StoreUnavailable
from service.http.connections import server_config
from service.metrics.seats import counting, metrics_folder
from service.processes.commands import STORE_LOST
from service.processes.heartbeat import beat
from service.processes.interpreter import take_short_turns
from service.processes.listening import STARTED, listen, refuse_open_bind, room_for, url_of
from service.runtime.api import api_runtime
from service.settings import Settings
from service.settings_loading import load_settings
from service.store.connection import Client, connect
from service.store.namespace import open_namespace
from service.store.server.given import check_given
from service.telemetry import Outage, logger, set_up_logs
from service.tracing import tracing

PAUSE_S = 0.25
"""Seconds between two tries while the store does not answer."""
STOP_S = 10
"""Seconds that requests under way may take once we are told to stop."""

app = options.verb()


class Server(uvicorn.Server):
    """A server that tells the application to stop at once, before the last answers are sent."""

    def __init__(self, config: uvicorn.Config, stopping: threading.Event) -> None:
        super().__init__(config)
        self._stopping = stopping

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        self._stopping.set()
        super().handle_exit(sig, frame)


@app.command()
def api(
    host: options.Host = None,
    port: options.Port = None,
    listen_fd: Annotated[int | None, typer.Option(hidden=True)] = None,
    lifeline: options.Lifeline = None,
    heartbeat: options.Heartbeat = None,
) -> None:
    """Run one api process with a Redis of yours (HEDGEROW_REDIS_URL)."""
    settings = load_settings(host=host, port=port)
    set_up_logs("api", settings.log_level)
    follow_lifeline(lifeline)
    beat(heartbeat)
    take_short_turns()
    url = options.given_redis(settings, "api")
    if lifeline is None:
        with ended_by_sigterm():
            check_given(settings)
    with connect(url, role="api-start") as client:
        # here, where a message can still be plain: inside the app it would be a traceback
        if lifeline is None:
            _open(settings, client)
        else:
            # others of its kind may serve from memory, and the store may come back
            _once_answered(partial(_recognise, settings, client))
    listener = (
        listen(settings.host, settings.port)
        if listen_fd is None
        else socket.socket(fileno=listen_fd)
    )
    if listen_fd is None:
        # as `serve` does: programs that start us read the address from stdout
        print(f"{STARTED}{url_of(listener)}", flush=True)  # noqa: T201
    serve_app(settings, url, listener)


def _once_answered(attempt: Callable[[], None]) -> None:
    """Try until the store answers to all of it: it may go away between any two calls."""
    outage, pause = Outage(), threading.Event()
    while True:
        try:
            attempt()
        except StoreUnavailable as error:
            outage.lasts(error.detail)
            pause.wait(PAUSE_S)
        else:
            outage.over()
            return


def _open(settings: Settings, client: Client) -> None:
    """Open the namespace; raise Misconfigured if strangers could reach a service without keys."""
    open_namespace(client, settings)
    refuse_open_bind(settings, client)


def _recognise(settings: Settings, client: Client) -> None:
    """*Same as* ``_open``, but end in a way that lets a supervisor try again at another store."""
    try:
        _open(settings, client)
    except StoreRolledBack as error:
        logger().error("store_refused", detail=error.detail)
        raise typer.Exit(STORE_LOST) from None


def serve_app(settings: Settings, url: str, listener: socket.socket) -> None:
    """Answer requests until SIGTERM or SIGINT."""
    wanted = settings.limits.connections
    room = room_for(wanted)
    if room < wanted:
        detail = "the system lets this process open too few files: raise `ulimit -Hn`"
        logger().warning("fewer_connections", wanted=wanted, room=room, detail=detail)
        limits = settings.limits.model_copy(update={"connections": room})
        settings = settings.model_copy(update={"limits": limits})
    folder = metrics_folder(settings.data_dir, settings.namespace)
    with tracing("api", settings.traces_url), counting(folder, "api") as meters:
        application = create_app(partial(api_runtime, settings, url), settings, meters=meters)
        config = server_config(application, settings, meters, timeout_graceful_shutdown=STOP_S)
        # everything loaded so far is permanent: scanning it would block the event loop for 0.1 s
        gc.collect()
        gc.freeze()
        Server(config, application.state.stopping).run(sockets=[listener])
