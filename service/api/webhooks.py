"""Webhooks: made, tried, looked at and deleted by an admin."""

import asyncio
from collections import Counter
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Body, Path
from pydantic import Field
from starlette.requests import Request
from starlette.responses import Response

from service.api import schemas
from service.api.routing import Route, Runtime
from service.api.schemas import Answer, Page
from service.api.times import Time, rfc3339, rfc3339_or_none
from service.errors import Conflict
from service.http.acts import note_about
from service.http.documentation import problems
from service.http.faults import WEBHOOK_ID
from service.serving.webhooks.news import Event
from service.serving.webhooks.receivers import check_url
from service.serving.webhooks.sender import body_of
from service.store.clock import now_ms
from service.store.webhooks import records as stored
from service.store.webhooks.deliveries import new_delivery
from service.store.webhooks.records import EVENT_TYPES, TEST, EventType

router = APIRouter(route_class=Route, tags=["webhooks"])

MOST_URL = 2_000


class NewWebhook(schemas.Request):
    """A webhook to make."""

    url: Annotated[str, Field(min_length=1, max_length=MOST_URL)]
    """Where events are posted: an address by HTTPS, unless private addresses are allowed."""
    events: Annotated[list[EventType], Field(min_length=1, max_length=len(EVENT_TYPES))] | None = (
        None
    )
    """The types of events that it is told of; null: all."""
    name: Annotated[str, Field(max_length=100)] = ""
    """A name for people."""


class Webhook(Answer):
    """A webhook without its secret."""

    id: str
    """Names the webhook in routes and records."""
    name: str
    """A name for people."""
    url: str
    """Where events are posted."""
    events: list[str]
    """The types of events that it is told of."""
    created: Time
    """When it was made; it is told of what happens from then on."""
    disabled: str | None
    """Why nothing is sent any longer; null: it is in use."""


class CreatedWebhook(Webhook):
    """A webhook with its secret, which is shown only once."""

    secret: str
    """Checks the signatures of what is sent."""


class WebhookState(Webhook):
    """A webhook, and how its latest deliveries went."""

    waiting: int
    """Deliveries that wait to be sent, or to be sent again."""
    delivered: int
    """Those of the latest 200 that the receiver has."""
    given_up: int
    """Those of the latest 200 that it does not have, and will not be sent again."""


class WebhookPage(Page[WebhookState]):
    """Webhooks, the oldest first."""


class Delivery(Answer):
    """An event on its way to a webhook, or how that ended."""

    id: str
    """The header `webhook-id`, the same with every try."""
    type: str
    """The type of the event."""
    state: Literal["waiting", "delivered", "given_up"]
    """How far it is."""
    body: str
    """What is sent."""
    created: Time
    """When the event was queued."""
    tries: int
    """How often it was sent."""
    next: Time | None
    """When it is sent next; null: it has ended."""
    ended: Time | None
    """When it ended; null: it waits."""
    status: int | None
    """The status of the receiver's last answer; null: there was none."""
    error: str | None
    """Why the last try failed; null: it did not."""


class DeliveryPage(Page[Delivery]):
    """Deliveries, the newest first."""


NewWebhookInput = Annotated[
    NewWebhook,
    Body(
        openapi_examples={
            "alarms": {
                "value": {
                    "url": "https://ops.example/hedgerow",
                    "events": ["alarm.opened", "alarm.closed"],
                    "name": "on call",
                }
            }
        }
    ),
]
WebhookId = Annotated[str, Path(pattern=WEBHOOK_ID, description="The webhook's id.")]


@router.post(
    "/v1/webhooks",
    status_code=201,
    summary="Make a webhook",
    responses=problems("conflict", "invalid_webhook"),
)
async def create_webhook(
    request: Request, runtime: Runtime, body: NewWebhookInput, response: Response
) -> CreatedWebhook:
    """From now on events are posted to this address, signed with the secret of this answer.

    The secret is shown here and nowhere else. 409 `conflict` if there are 16 webhooks.
    """
    response.headers["cache-control"] = "no-store"
    check_url(body.url, to_private=runtime.settings.webhooks_to_private)
    events = [one for one in EVENT_TYPES if body.events is None or one in body.events]
    webhooks = runtime.webhooks.store.webhooks
    new = await asyncio.to_thread(webhooks.create, body.url, events, body.name)
    note_about(request, webhook=new.id)
    return CreatedWebhook(**_shown(new), secret=new.secret)


@router.get("/v1/webhooks", summary="List webhooks")
async def list_webhooks(runtime: Runtime) -> WebhookPage:
    """All webhooks without their secrets, and how their latest deliveries went."""
    store = runtime.webhooks.store

    def states() -> list[WebhookState]:
        return [_state(one, store.deliveries.of(one.id)) for one in store.webhooks.all()]

    return WebhookPage(items=await asyncio.to_thread(states), next_cursor=None)


@router.delete(
    "/v1/webhooks/{webhook}", summary="Delete a webhook", responses=problems("not_found")
)
async def delete_webhook(runtime: Runtime, webhook: WebhookId) -> Webhook:
    """Nothing is sent to it any longer; what waits for it is forgotten."""
    gone = await asyncio.to_thread(runtime.webhooks.store.webhooks.delete, webhook)
    return Webhook(**_shown(gone))


@router.post(
    "/v1/webhooks/{webhook}/test",
    status_code=202,
    summary="Try a webhook",
    responses=problems("not_found", "conflict"),
)
async def try_webhook(runtime: Runtime, webhook: WebhookId) -> Delivery:
    """Send it an event of the type `webhook.test`, within seconds and like all others.

    How it went stands in its deliveries. 409 `conflict` if the webhook is disabled.
    """
    store = runtime.webhooks.store
    found = await asyncio.to_thread(store.webhooks.named, webhook)
    if found.disabled:
        raise Conflict(f"{found.disabled}: delete the webhook and make another")
    body = body_of(Event(TEST, now_ms(), {"webhook": webhook}))
    delivery = new_delivery(webhook, TEST, body)
    await asyncio.to_thread(store.deliveries.queue_one, delivery)
    return _delivery(delivery)


@router.get(
    "/v1/webhooks/{webhook}/deliveries",
    summary="How deliveries to a webhook went",
    responses=problems("not_found"),
)
async def list_deliveries(runtime: Runtime, webhook: WebhookId) -> DeliveryPage:
    """The latest 200 deliveries: those that wait, those that arrived, and those given up."""
    store = runtime.webhooks.store
    await asyncio.to_thread(store.webhooks.named, webhook)
    found = await asyncio.to_thread(store.deliveries.of, webhook)
    return DeliveryPage(items=[_delivery(one) for one in found], next_cursor=None)


def _shown(one: stored.Webhook) -> dict[str, Any]:
    return {
        "id": one.id,
        "name": one.name,
        "url": one.url,
        "events": list(one.events),
        "created": rfc3339(one.created_ms),
        "disabled": one.disabled or None,
    }


def _state(one: stored.Webhook, deliveries: list[stored.Delivery]) -> WebhookState:
    states = Counter(delivery.state for delivery in deliveries)
    return WebhookState(
        **_shown(one),
        waiting=states["waiting"],
        delivered=states["delivered"],
        given_up=states["given_up"],
    )


def _delivery(one: stored.Delivery) -> Delivery:
    return Delivery(
        id=one.id,
        type=one.type,
        state=one.state,
        body=one.body,
        created=rfc3339(one.created_ms),
        tries=one.tries,
        next=rfc3339_or_none(one.next_ms),
        ended=rfc3339_or_none(one.ended_ms),
        status=one.status,
        error=one.error or None,
    )
