"""The route that Prometheus reads."""

import asyncio

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from service.api.routing import RawRoute
from service.metrics.exposition import exposition
from service.metrics.gathering import gathered
from service.metrics.meters import Meters
from service.metrics.seats import metrics_folder
from service.settings import Settings

router = APIRouter(route_class=RawRoute, tags=["operations"])


# not in the OpenAPI document: its clients have no use for this text, and Prometheus knows it
@router.get("/metrics", summary="What has been counted?", include_in_schema=False)
async def get_metrics(request: Request) -> Response:
    """The counts of all processes that share the data directory, and figures of the store."""
    state = request.app.state
    settings: Settings = state.settings
    meters: Meters = state.meters
    folder = metrics_folder(settings.data_dir, settings.namespace)
    sums = await asyncio.to_thread(gathered, folder, meters)
    figures = await state.store_figures.current()
    text, content_type = exposition(sums, figures, request.headers.get("accept", ""))
    return Response(text, headers={"content-type": content_type})
