"""Documents of items and users, and the result of a bulk upload."""

from datetime import datetime
from typing import Annotated, Any, Self

import msgspec
from pydantic import BaseModel, Field, model_validator

from service.api.schemas import Answer, Extra, Features, Id, Moment, Page, Request, Text
from service.api.times import Time
from service.errors import TooLarge

MAX_DOCUMENT_BYTES = 64 << 10


class ItemBody(Request):
    """The document of an item."""

    categories: Annotated[list[Annotated[Text, Field(min_length=1)]], Field(max_length=64)] = Field(
        default=[]
    )
    """Names of the groups that the item belongs to."""
    features: Features = Field(default={})
    """Typed facts: numbers, strings, booleans, lists of strings."""
    hidden: bool = False
    """A hidden item is never recommended."""
    available_from: Moment | None = None
    """Not recommended before this moment."""
    available_until: Moment | None = None
    """Not recommended from this moment on."""
    extra: Extra = Field(default={})
    """Anything else that you keep with the item, as JSON: no list, ranker or filter reads it."""

    @model_validator(mode="after")
    def _is_available_at_all(self) -> Self:
        since, until = self.available_from, self.available_until
        # a fraction of a second is not always there: as texts they do not compare
        if since and until and datetime.fromisoformat(since) >= datetime.fromisoformat(until):
            raise ValueError(
                "`available_from` must be before `available_until`, or it would never be shown"
            )
        return self


class ItemLine(ItemBody):
    """One line of a bulk upload."""

    item: Id
    """Your own id of the item."""


class Item(Answer):
    """An item's document; version 0: known from feedback alone."""

    item: str
    """Your own id of the item."""
    version: int
    """Raised by each change of the document; the `ETag` of an answer about one item."""
    categories: list[str]
    """Names of the groups that the item belongs to."""
    features: dict[str, Any]
    """Typed facts: numbers, strings, booleans, lists of strings."""
    hidden: bool
    """A hidden item is never recommended."""
    available_from: Time | None
    """Not recommended before this moment."""
    available_until: Time | None
    """Not recommended from this moment on."""
    created: Time | None
    """When the document was first written; null if there is no document, or if the time was not
    recorded."""
    extra: dict[str, Any]
    """What was written as `extra`."""


class ItemPage(Page[Item]):
    """A page of the items, the oldest first."""


class Link(Request):
    """A neighbour in the graph of users."""

    user: Id
    """The neighbour."""
    weight: Annotated[float, Field(gt=0, le=1e6, allow_inf_nan=False)] = 1.0
    """How close the two are."""


class UserBody(Request):
    """The document of a user."""

    features: Features = Field(default={})
    """Typed facts: numbers, strings, booleans, lists of strings."""
    links: Annotated[list[Link], Field(max_length=1_000)] = Field(default=[])
    """The user's neighbours: friends, household, colleagues. Only trainings with the parameter
    `graph` use them; recommendations use history and features."""
    extra: Extra = Field(default={})
    """Anything else that you keep with the user, as JSON: no list, ranker or filter reads it."""


class UserLine(UserBody):
    """One line of a bulk upload."""

    user: Id
    """Your own id of the user."""


class User(Answer):
    """A user's document; version 0: known from feedback alone."""

    user: str
    """Your own id of the user."""
    version: int
    """Raised by each change of the document; the `ETag` of an answer about one user."""
    features: dict[str, Any]
    """Typed facts: numbers, strings, booleans, lists of strings."""
    links: list[Link]
    """The user's neighbours: friends, household, colleagues."""
    extra: dict[str, Any]
    """What was written as `extra`."""


class UserPage(Page[User]):
    """A page of the users, ordered by the bytes of their ids."""


class BulkRejected(Answer):
    """A line that was not accepted."""

    index: int
    """The number of the line, from 0."""
    line: int
    """The number of the line, from 1, as editors count."""
    code: str
    """The error code, for programs."""
    detail: str
    """The explanation for people: what is wrong and what to do."""


class BulkWritten(Answer):
    """The result of a bulk upload, with the first 1 000 rejected lines."""

    accepted: int
    """Lines that were written."""
    rejected: list[BulkRejected]
    """The first 1 000 lines that were rejected."""
    rejected_total: int
    """How many lines were not written."""
    lines: int
    """Lines of the body, empty ones included."""


def stored(body: BaseModel) -> dict[str, Any]:
    """Return what is stored of a document: only what was said; TooLarge."""
    said = body.model_dump(exclude_defaults=True)
    if len(msgspec.json.encode(said)) > MAX_DOCUMENT_BYTES:
        raise TooLarge(f"a document has at most {MAX_DOCUMENT_BYTES} bytes: say less")
    return said
