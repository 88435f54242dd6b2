"""The HTTP application: the routes, the edge around them, and the runtime that they use."""

import asyncio
import threading
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from functools import cached_property

from fastapi import FastAPI
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from service.api import alarms, audit, experiments, keys, metrics, operations, webhooks
from service.api import settings as settings_routes
from service.api.catalogue import bulk, categories, user_export
from service.api.catalogue import documents as catalogue
from service.api.documentation import ABOUT, INFO
from service.api.feedback import click_through, erasures, histories, merges, ratings, socket
from service.api.feedback.event_counts import EventCounts
from service.api.feedback.intake import PATIENCE_S, Intake
from service.api.gorse.application import PREFIX, GorseApi
from service.api.gorse.sorted_items import SortedItems
from service.api.models import experts, jobs, models, rankers, schedule, topics
from service.api.models.watched_jobs import WatchedJobs
from service.api.slates import audience, batch, popular, predictions, recommendations, similar
from service.api.store_figures import StoreFigures
from service.console.serving import add_console
from service.errors import ServiceError
from service.http.auth import FRESH_S, KeyCheck
from service.http.body_budget import BodyBudget
from service.http.document import document
from service.http.edge import Edge
from service.http.pages.error_page import error_page
from service.http.pages.interactive_page import add_interactive_page
from service.http.pages.llms import llms_txt
from service.http.pages.rendered import add_document, add_page
from service.http.pages.route_page import route_page
from service.http.problems import PAGE, answer, unforeseen
from service.http.rates import Rates
from service.http.raw_router import RawRouter
from service.http.request_ids import RequestIds
from service.http.sites import Sites
from service.http.sockets.edge import SocketEdge
from service.http.sockets.room import SocketRoom
from service.metrics.catalogue import KEPT_ANSWERS, TRAININGS, WEBHOOK_DELIVERIES
from service.metrics.meters import Meters
from service.runtime.api import ApiRuntime
from service.serving.webhooks.sender import OUTCOMES
from service.settings import Settings
from service.telemetry import logger

OpenRuntime = Callable[[], AbstractAsyncContextManager[ApiRuntime]]

ROUTERS = (
    ratings.router,
    socket.router,
    histories.router,
    recommendations.router,
    batch.router,
    similar.router,
    popular.router,
    audience.router,
    predictions.router,
    experts.router,
    topics.router,
    catalogue.router,
    merges.router,
    erasures.router,
    user_export.router,
    bulk.router,
    categories.router,
    jobs.router,
    schedule.router,
    models.router,
    rankers.router,
    experiments.router,
    operations.router,
    alarms.router,
    webhooks.router,
    metrics.router,
    settings_routes.router,
    click_through.router,
    keys.router,
    audit.router,
)
"""All routers, in the order of the OpenAPI document."""


class Application(FastAPI):
    """FastAPI with our edge as its outermost layer."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await super().__call__(scope, receive, send)
            return
        scope["app"] = self
        edge = self._socket_edge if scope["type"] == "websocket" else self._edge
        await edge(scope, receive, send)

    @cached_property
    def _sites(self) -> Sites:
        settings: Settings = self.state.settings
        return Sites(settings.host, settings.trusted_hosts, settings.trusted_origins)

    @cached_property
    def _edge(self) -> Edge:
        raw_router, meters = RawRouter(self.routes), self.state.meters
        ids = RequestIds(self.state.settings.log_requests)
        return Edge(super().__call__, raw_router, self._sites, ids, self._away_s, meters)

    @cached_property
    def _socket_edge(self) -> SocketEdge:
        ids = RequestIds(self.state.settings.log_requests, mark="ws")
        handlers = {socket.PATH: socket.take_events}
        return SocketEdge(handlers, self._sites, ids, self.state.meters)

    def _away_s(self) -> float | None:
        runtime: ApiRuntime | None = getattr(self.state, "runtime", None)
        return None if runtime is None else runtime.pulse.away_s


def create_app(
    open_runtime: OpenRuntime,
    settings: Settings,
    *,
    meters: Meters | None = None,
    keys_fresh_s: float = FRESH_S,
    patience_s: float = PATIENCE_S,
) -> FastAPI:
    """Return the application; its runtime opens when the server starts it.

    It counts with ``meters``, by default in its own memory alone.
    API keys are never older than ``keys_fresh_s`` seconds while the store answers. A stream waits
    at most ``patience_s`` seconds for room in a full log.
    """

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        async with open_runtime() as runtime:
            app.state.runtime = runtime
            app.state.key_check = KeyCheck(
                runtime.pulse,
                settings.host,
                had_keys=runtime.known.had_keys,
                kept_s=settings.keys_kept_s,
                fresh_s=keys_fresh_s,
            )
            runtime.watch.tell(app.state.key_check)
            runtime.jobs.records.on_buried = app.state.meters.count(TRAININGS, "failed").add
            tries = {one: app.state.meters.count(WEBHOOK_DELIVERIES, one) for one in OUTCOMES}
            runtime.webhooks.on_outcome = lambda outcome: tries[outcome].add()
            read, most = runtime.jobs.records.record, settings.limits.watchers
            app.state.watched_jobs = WatchedJobs(read, app.state.stopping, most)
            counts = EventCounts(app.state.meters)
            app.state.intake = Intake(runtime, counts, patience_s=patience_s)
            app.state.gorse_items = SortedItems()
            # in the background: of all requests, only predictions and slates wait for it
            warming = asyncio.create_task(_warm_up(runtime))
            warming.add_done_callback(_note_failure)
            app.state.store_figures = StoreFigures(runtime)
            yield
            await asyncio.wait([warming])

    app = Application(
        title=str(INFO["title"]),
        version=str(INFO["version"]),
        lifespan=lifespan,
        openapi_url=None,
        docs_url=None,
        redoc_url=None,
        swagger_ui_oauth2_redirect_url=None,
    )
    app.state.settings = settings
    app.state.meters = meters or Meters()
    app.state.kept_counts = tuple(app.state.meters.count(KEPT_ANSWERS, r) for r in ("hit", "miss"))
    app.state.bodies = BodyBudget(settings.limits.body_bytes_held)
    app.state.sockets = SocketRoom(settings.limits.sockets)
    app.state.rates = Rates(settings.limits, settings.trusted_proxies)
    # set when the server must stop: it ends the event streams
    app.state.stopping = threading.Event()
    app.router.redirect_slashes = False
    for error in (ServiceError, HTTPException, RequestValidationError, Exception):
        app.add_exception_handler(error, _answer)
    for router in ROUTERS:
        app.router.routes.extend(router.routes)
    if settings.gorse_api:
        app.mount(PREFIX, GorseApi())
    add_page(app, "/docs", lambda: route_page(app.openapi()))
    add_page(app, PAGE, error_page)
    add_page(app, "/llms.txt", llms_txt)
    add_document(app, "/openapi.json")
    add_interactive_page(app)
    add_console(app, settings)
    document(app, ABOUT)
    return app


async def _warm_up(runtime: ApiRuntime) -> None:
    await runtime.recommender.warm_up()
    await runtime.online_predictions.warm_up()
    logger().info("kernels_loaded")


def _note_failure(warming: asyncio.Task[None]) -> None:
    error = None if warming.cancelled() else warming.exception()
    if error is not None:
        logger().error("warm_up_failed", exc_info=error)


async def _answer(request: Request, error: Exception) -> Response:
    request_id = request.scope["request_id"]
    return answer(request_id, error) or unforeseen(request_id)
