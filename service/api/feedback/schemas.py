"""Feedback as clients send it: one strict schema, the checks of a row, the row of the log.

msgspec parses: it refuses NaN, overflow, booleans or strings as numbers, lone surrogates and
unknown fields.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any

import msgspec
from msgspec import UNSET, UnsetType

from core.meaning import RATING
from core.scale import Scale
from service.api.contexts import Context, context_fault
from service.api.feedback.sender import IDENTIFIED
from service.api.times import is_moment, milliseconds, rfc3339
from service.arms import joined, parted
from service.errors import InvalidEvent, TooLarge
from service.http.faults import of_msgspec
from service.ids import id_fault, is_id
from service.rec_ids import LENGTH, context_of_list, source_of
from service.rec_ids import decode as decode_rec_id
from service.settings import Settings
from service.store.clock import now_ms
from service.store.log.append_queue import Row
from service.store.log.codec import (
    AWAITED,
    HAS_CONTEXT,
    HAS_SOURCE,
    packed_context,
)
from service.store.profiles.contexts import context_of

Fault = tuple[str, str]
"""(code, detail) of a row that cannot be accepted."""


class Feedback(msgspec.Struct, forbid_unknown_fields=True, gc=False):
    """One event: a user, an item, and either a rating or a kind."""

    user: str
    """Your own id of the user; no other write is needed before."""
    item: str
    """Your own id of the item; no other write is needed before."""
    rating: float | UnsetType = UNSET
    """On the scale of the namespace; not together with `kind`."""
    kind: str | UnsetType = UNSET
    """What happened, if it was not a rating: `view`, `click`, `purchase`, ...; `GET /v1/stats`
    lists all kinds."""
    timestamp: Annotated[datetime, msgspec.Meta(tz=True)] | float | UnsetType = UNSET
    """When it happened: RFC 3339, Unix seconds, or milliseconds from 1e11 on; by default now."""
    event_id: str | UnsetType = UNSET
    """Your own id of the event: a repeat of it counts once."""
    rec_id: str | UnsetType = UNSET
    """The `rec_id` of the slate that showed the item: the event counts for its click-through."""
    context: Context | UnsetType = UNSET
    """Where it happened: `{"device": "phone", "page": "home"}`, names and short texts of your own.
    It is kept with the event and counted; put nothing in it that names a person."""

    @property
    def number(self) -> float:
        """What the history keeps as the event's value."""
        return 0.0 if self.rating is UNSET else self.rating


class Rejected(msgspec.Struct):
    """A row that was not accepted, and why."""

    index: int
    """The number of the row, from 0."""
    code: str
    """The error code, for programs."""
    detail: str
    """The explanation for people: what is wrong and what to do."""


class Warned(msgspec.Struct):
    """A row that was accepted although something in it has no effect."""

    index: int
    """The number of the row, from 0."""
    code: str
    """`unreadable_rec_id` or `foreign_rec_id`."""
    detail: str
    """What does not count and what to send, for people."""


class Learned(msgspec.Struct):
    """The prediction for a row just before it was learned."""

    index: int
    """The number of the row, from 0."""
    rating: float
    """The predicted rating."""
    low: float
    """Where the central 80 % interval begins."""
    high: float
    """Where the central 80 % interval ends."""


class Written(msgspec.Struct, omit_defaults=True):
    """The result of a write; to read what you wrote, send `sequence` as `min_sequence`."""

    accepted: int
    """Rows that are stored."""
    rejected: list[Rejected]
    """The rows that are rejected, and why."""
    warnings: list[Warned]
    """Rows that are stored although something in them has no effect: a `rec_id` that names no list
    of the user."""
    sequence: str
    """The place of the rows in the order of events."""
    predictions: list[Learned] | UnsetType = UNSET
    """With `wait=learned`: what was predicted for each rating just before it was learned."""
    repeats: list[int] | UnsetType = UNSET
    """The numbers, from 0, of the rows whose ids (`event_id`, or from the idempotency key) the
    service knew already. Each of these events counts once. With `wait=learned` all are listed.
    Otherwise only recent ids are noticed, and the property is absent if there are none."""


@dataclass(frozen=True)
class Rules:
    """The scale and the kinds that rows are checked against."""

    scale: Scale
    kinds: dict[str, int]
    ahead_ms: int
    """How far ahead of now an event may be dated."""

    @classmethod
    def of(cls, settings: Settings, scale: Scale) -> "Rules":
        kinds = {name: kind.code for name, kind in settings.kinds.items()}
        return cls(scale, kinds, int(1_000 * settings.future_tolerance_s))

    def fault(self, event: Feedback) -> Fault | None:
        """Return the (code, detail) of an event's fault; None if it has none."""
        if not is_id(event.user):
            return "invalid_id", id_fault("user", event.user)
        if not is_id(event.item):
            return "invalid_id", id_fault("item", event.item)
        if event.event_id is not UNSET and not is_id(event.event_id):
            return "invalid_id", id_fault("event_id", event.event_id)
        # one that an answer held may be longer than other ids
        if (
            event.rec_id is not UNSET
            and not is_id(event.rec_id)
            and decode_rec_id(event.rec_id) is None
        ):
            return "invalid_id", id_fault("rec_id", event.rec_id)
        if event.context is not UNSET and (fault := context_fault(event.context)):
            return "invalid_event", fault
        return self._time_fault(event) or self._value_fault(event)

    def are_dated(self, times: Sequence[datetime | float | UnsetType]) -> bool:
        """Return whether no event has a fault of its timestamp."""
        until_ms = now_ms() + self.ahead_ms
        return all(t is UNSET or (is_moment(t) and milliseconds(t) <= until_ms) for t in times)

    def _time_fault(self, event: Feedback) -> Fault | None:
        time = event.timestamp
        if time is UNSET:
            return None
        if not is_moment(time):
            return "invalid_event", "`timestamp` must lie in the years 1 to 9999 of UTC"
        if milliseconds(time) <= now_ms() + self.ahead_ms:
            return None
        return "future_timestamp", (
            f"`timestamp` means {rfc3339(milliseconds(time))}, which lies more than "
            f"{self.ahead_ms / 1_000:g} s ahead of the service's clock: correct it (is the "
            "sender's clock right?), or leave it out to let the event count as of now"
        )

    def _value_fault(self, event: Feedback) -> Fault | None:
        rating, kind = event.rating, event.kind
        if rating is not UNSET:
            if kind is not UNSET:
                return "invalid_event", "give `rating` or `kind`, not both"
            if self.scale.low <= rating <= self.scale.high:
                return None
            low, high = self.scale.low, self.scale.high
            return "out_of_scale", f"`rating` must be from {low:g} to {high:g}"
        if kind is UNSET:
            return "invalid_event", "give a `rating`, or a `kind` of feedback"
        if kind not in self.kinds:
            return "unknown_kind", f"`kind` must be one of: {', '.join(sorted(self.kinds))}"
        return None

    def row(
        self, event: Feedback, item: int, *, now_ms: int, digest: bytes = b"", awaited: bool = False
    ) -> Row:
        """Return a checked event as a row of the log; for ``digest`` see ``Sender``."""
        source = b"" if event.rec_id is UNSET else source_of(event.rec_id, event.user)
        context = placed(event)
        return Row(
            user=event.user,
            item=item,
            value=event.number,
            time_ms=now_ms if event.timestamp is UNSET else milliseconds(event.timestamp),
            kind=RATING if event.kind is UNSET else self.kinds[event.kind],
            flags=(IDENTIFIED if digest else 0)
            | (AWAITED if awaited else 0)
            | (HAS_SOURCE if source else 0)
            | (HAS_CONTEXT if context else 0),
            digest=digest,
            source=source,
            context=context,
        )


def placed(event: Feedback) -> bytes:
    """Return where an event happened, as the log keeps it: what it says itself, and its list."""
    if event.context is UNSET and event.rec_id is UNSET:
        return b""
    own = {} if event.context is UNSET else event.context
    if event.rec_id is UNSET or len(event.rec_id) <= LENGTH:
        return packed_context(own)
    where, arm = parted(context_of_list(event.rec_id, event.user))
    asked = context_of(where.decode(errors="replace"))
    # an id may be forged
    return joined(packed_context(own if context_fault(asked) else {**asked, **own}), arm)


UNREADABLE_REC_ID = (
    "unreadable_rec_id",
    (
        "`rec_id` is none that an answer ever held, so that the event counts for no list: "
        "send the `rec_id` of the list as you received it"
    ),
)
FOREIGN_REC_ID = (
    "foreign_rec_id",
    (
        "`rec_id` names a list for another user, so that the event counts for no list: "
        "send the `rec_id` of a list that this user got"
    ),
)


def source_warning(event: Feedback) -> Fault | None:
    """Return (code, detail) if an event has a `rec_id` that names no list of its user."""
    if event.rec_id is UNSET or source_of(event.rec_id, event.user):
        return None
    return UNREADABLE_REC_ID if decode_rec_id(event.rec_id) is None else FOREIGN_REC_ID


_one = msgspec.json.Decoder(Feedback)
_many = msgspec.json.Decoder(list[Feedback])

DECODE_ERRORS = (msgspec.DecodeError, UnicodeDecodeError)
"""What msgspec raises for bytes that are not the wanted JSON."""

decode_one = _one.decode
decode_lines = _one.decode_lines


def decode_fault(error: Exception) -> Fault:
    """Return (code, detail) of a decoding error."""
    if isinstance(error, UnicodeError):
        return "malformed_json", "the text is not UTF-8, or holds a lone surrogate"
    if not isinstance(error, msgspec.ValidationError):
        early = (
            "the JSON ends too early: send one complete value, "
            "with all its brackets and quotes closed"
        )
        return "malformed_json", early if "truncated" in str(error) else str(error)
    field, words = of_msgspec(error, Feedback)
    off = field == "rating" and "Number out of range" in str(error)
    code = "out_of_scale" if off else "invalid_event"
    return code, f"`{field}` {words}" if field else f"a row of feedback {words}"


def decode_array(body: bytes, most: int) -> list[Feedback | Fault]:
    """Return each row of a JSON array: the event, or (code, detail) of why it is none."""
    try:
        events: Sequence[Any] = _many.decode(body)
        faulty = False
    except DECODE_ERRORS:
        events, faulty = _lenient(body), True
    if len(events) > most:
        raise TooLarge(f"an array has at most {most} rows: send it in parts, or as a stream")
    return [_converted(event) for event in events] if faulty else list(events)


def _lenient(body: bytes) -> list[Any]:
    """Parse with Python's parser, which accepts NaN and 1e999, so that only these rows are bad."""
    try:
        rows = json.loads(body)
    except (ValueError, RecursionError) as error:
        reason = "it is nested too deeply" if isinstance(error, RecursionError) else str(error)
        raise InvalidEvent(f"the body is not JSON: {reason}", code="malformed_json") from None
    if not isinstance(rows, list):
        raise InvalidEvent("the body must be an object or an array of objects")
    return rows


def _converted(row: Any) -> Feedback | Fault:
    try:
        return msgspec.convert(row, Feedback)
    except (msgspec.ValidationError, UnicodeEncodeError) as error:
        return decode_fault(error)
