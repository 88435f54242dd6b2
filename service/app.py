"""The HTTP application: routes, their edge, and the runtime that its lifespan opens."""

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from importlib.metadata import version

from fastapi import FastAPI
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException

from service.api import ratings
from service.api.auth import Gate
from service.api.documentation import document
from service.api.edge import Edge
from service.api.intake import Intake
from service.api.problems import (
    answer_http_exception,
    answer_service_error,
    answer_validation_error,
)
from service.api.routing import Route
from service.errors import ServiceError
from service.runtime import ApiRuntime
from service.settings import Settings

OpenRuntime = Callable[[], AbstractAsyncContextManager[ApiRuntime]]

ROUTERS = (ratings.router,)


def create_app(open_runtime: OpenRuntime, settings: Settings) -> FastAPI:
    """Return the application; it opens its runtime when the server starts it."""

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        async with open_runtime() as runtime:
            app.state.runtime = runtime
            app.state.gate = Gate(runtime.keys, settings.host)
            app.state.intake = Intake(runtime)
            yield

    app = FastAPI(
        title="Hedgerow",
        version=version("hedgerow"),
        summary="Ratings in, learned within milliseconds, predictions out.",
        lifespan=lifespan,
        docs_url="/docs",
        redoc_url=None,
        swagger_ui_oauth2_redirect_url=None,
    )
    app.state.settings = settings
    app.router.redirect_slashes = False
    app.router.route_class = Route
    app.add_middleware(Edge)
    app.add_exception_handler(ServiceError, answer_service_error)
    app.add_exception_handler(HTTPException, answer_http_exception)
    app.add_exception_handler(RequestValidationError, answer_validation_error)
    for router in ROUTERS:
        app.router.routes.extend(router.routes)
    document(app)
    return app
