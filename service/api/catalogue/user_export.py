"""Everything that is known of a user, in one answer: for people who ask for their data."""

import asyncio

from fastapi import APIRouter
from starlette.responses import Response

from service.api.catalogue.schemas import Link, UserBody
from service.api.feedback.past_events import Event, past_events
from service.api.routing import Route, Runtime, UserId
from service.api.schemas import Answer
from service.api.times import Time, rfc3339
from service.http.documentation import problems
from service.ids import sequence_token
from service.runtime.api import ApiRuntime
from service.store.clock import now_ms
from service.store.partitions import partition_of
from service.store.profiles.personal import read_stored

router = APIRouter(route_class=Route, tags=["users"])


class ExportedDocument(UserBody):
    """The document of a user."""

    version: int
    """Raised by each change of the document; 0: there is none."""


class ExportedTopic(Answer):
    """A topic of a user."""

    name: str
    """As in `GET /v1/topics`."""
    share: float
    """Its share in the user's positive feedback."""


class UserExport(Answer):
    """Everything that is known about a user."""

    user: str
    """The user."""
    exported: Time
    """When this was read."""
    seen_through: str
    """The last event that the answer reflects."""
    document: ExportedDocument
    """What you said about the user."""
    linked_by: list[Link]
    """Other users whose documents link to this one, and how strongly."""
    events: list[Event]
    """All stored events, the oldest first, those of deleted items too."""
    seen: list[str]
    """Items whose events were dropped to shorten the history (`HEDGEROW_HISTORY_LIMIT`)."""
    impressions: list[Event]
    """The latest events of the kind `impression`: of all users the newest 10 000 are kept."""
    row: list[float] | None
    """What the experts that predict ratings learned of the user; null: nothing."""
    topics: list[ExportedTopic]
    """Topics that the user likes, according to the active model; the largest share first."""


@router.get(
    "/v1/users/{user:id}/export",
    summary="Export all that is known of a user",
    responses=problems("not_ready"),
)
async def export_user(runtime: Runtime, user: UserId, response: Response) -> UserExport:
    """Document, links of others, events, impressions, and what was learned, as JSON.

    All documents are looked through for links, so with many users it takes some seconds. Of an
    unknown user everything is empty. Models that are trained hold nothing of a single user.
    """
    response.headers["cache-control"] = "no-store"
    stored = await read_stored(runtime.redis, runtime.namespace, user)
    [document] = await runtime.catalogue.users([user])
    body = UserBody.model_validate(document.body or {})
    rows = await runtime.profiles.rows(user, [])
    topics = await runtime.topics.of_user(user)
    partition = partition_of(user, runtime.namespace.partitions)
    return UserExport(
        user=user,
        exported=rfc3339(now_ms()),
        seen_through=sequence_token({partition: stored.watermark}),
        document=ExportedDocument(version=document.version, **body.model_dump()),
        linked_by=await _linked_by(runtime, user),
        events=await past_events(runtime, user, stored.history, stored.contexts),
        seen=await runtime.numbers.ids(stored.trimmed.tolist()),
        impressions=await past_events(runtime, user, stored.impressions, {}),
        row=None if rows.user_row is None else [float(str(one)) for one in rows.user_row],
        topics=[
            ExportedTopic(
                name=", ".join(one.topic.terms) or f"topic {one.topic.number}", share=one.share
            )
            for one in topics.topics
        ],
    )


async def _linked_by(runtime: ApiRuntime, user: str) -> list[Link]:
    found = await asyncio.to_thread(runtime.traces.linking, {user})
    names, links = found.users, []
    for name, document in zip(names, await runtime.catalogue.users(names), strict=True):
        body = UserBody.model_validate(document.body or {})
        links += [Link(user=name, weight=one.weight) for one in body.links if one.user == user]
    return links
