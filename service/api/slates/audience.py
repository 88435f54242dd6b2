"""The audience of an item: users who would like it."""

from typing import Annotated, Any, Literal

import msgspec
from fastapi import APIRouter, Body
from fastapi.exceptions import RequestValidationError
from pydantic import Field
from pydantic.config import JsonDict

from service.api.figures import Figure
from service.api.routing import Route, Runtime
from service.api.schemas import Answer, Features, Id, OfModel, Request, Text
from service.http.cursors import CURSOR, InvalidCursor, seal, unseal
from service.http.documentation import problems
from service.ids import sequence_token
from service.ranking.families import AudienceStrategy
from service.serving.audience import AudiencePosition

MAX_K = 1_000

_CURSOR: JsonDict = {"pattern": CURSOR}
_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(AudiencePosition).decode

router = APIRouter(route_class=Route, tags=["recommendations"])


class AudienceBody(Request):
    """An item by its id, or a new item by its features and categories."""

    item: Id | None = None
    """The item's id; left out for a new item."""
    features: Features = Field(default_factory=dict)
    """As in an item's document; not together with `item`."""
    categories: Annotated[list[Text], Field(max_length=64)] = Field(default_factory=list)
    """As in an item's document; not together with `item`."""
    k: Annotated[int, Field(ge=1, le=MAX_K)] = 10
    """Maximum number of users in the answer."""
    exclude_seen: bool = True
    """Leave out users who have rated, bought, ... the item."""
    cursor: Annotated[str, Field(max_length=8_192, json_schema_extra=_CURSOR)] | None = None
    """`next_cursor` of the answer before: the next users."""


class FeaturePart(Answer):
    """A feature of a user that raises the score above the average of the considered users."""

    feature: str
    """The feature and its value."""
    part: Figure
    """What it adds to the score."""


class AudienceMember(Answer):
    """A user; compare scores only within one answer."""

    user: str
    """The user."""
    score: Figure
    """How well the item fits; only compare scores of one answer."""
    because: list[FeaturePart]
    """The features that raise the score most, the largest first."""


class AudienceAnswer(OfModel):
    """Users with features; those who would most probably like the item come first."""

    item: str | None
    """The item that was asked for; null for a new one."""
    users: list[AudienceMember]
    """Those who would most probably like the item come first."""
    known_by: Literal["feedback", "features"] | None
    """The source of the item's vector: its feedback or its features."""
    considered: int
    """Users with features that were compared: at most 10 000, later pages continue with others."""
    next_cursor: str | None
    """Send it back as `cursor` for the next users; null at the end. A page may be shorter than
    `k`."""
    model_version: str | None
    """The version of the model that compared them; null without one."""
    strategy: AudienceStrategy | None
    """The strategy of the model."""
    trained_through: str | None
    """The last events that the model was trained on."""
    reason: str | None
    """Why the list is empty."""


_Input = Annotated[
    AudienceBody,
    Body(
        openapi_examples={
            "known": {"value": {"item": "tt0111161", "k": 20}},
            "new": {"value": {"features": {"year": 2026}, "categories": ["drama"]}},
        }
    ),
]


@router.post(
    "/v1/items/audience",
    summary="Find who would like an item",
    responses=problems("not_found", "cursor_expired", "invalid_cursor"),
)
async def find_audience(runtime: Runtime, body: _Input) -> AudienceAnswer:
    """Users with documents, ranked for one item by their features; needs an active `exmlds` model.

    If the model has no feedback for the item, it uses the item's features. Nothing is stored.
    """
    document = _document(body)
    of = f"audience {body.model_dump_json(exclude={'k', 'cursor'})}".encode()
    after = None if body.cursor is None else _position(unseal(of, body.cursor))
    found = await runtime.audience.find(
        body.item, document, body.k, exclude_seen=body.exclude_seen, after=after
    )
    model = found.model
    return AudienceAnswer(
        item=body.item,
        users=[
            AudienceMember(
                user=member.user,
                score=member.score,
                because=[FeaturePart(feature=name, part=part) for name, part in member.because],
            )
            for member in found.members
        ],
        known_by=found.known_by,
        considered=found.considered,
        next_cursor=None if found.position is None else seal(of, _encode(found.position)),
        model_version=None if model is None else model.version,
        strategy=None if model is None else model.strategy,
        trained_through=None if model is None else sequence_token(model.trained_through),
        reason=found.reason,
    )


def _position(content: bytes) -> AudiencePosition:
    try:
        return _decode(content)
    except msgspec.DecodeError:
        raise InvalidCursor from None


def _document(body: AudienceBody) -> dict[str, Any]:
    is_new = bool(body.features or body.categories)
    if (body.item is None) != is_new:
        message = "give either `item` or `features` and `categories`"
        raise RequestValidationError(
            [{"type": "value_error", "loc": ("body", "item"), "msg": message}]
        )
    return {"features": body.features, "categories": body.categories}
