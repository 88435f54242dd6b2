"""The messages of a WebSocket: events as a request's body has them, and the answer to each."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import count
from typing import Any

import msgspec
from msgspec import UNSET, UnsetType

from service.api.feedback.intake import Accepted
from service.api.feedback.schemas import (
    DECODE_ERRORS,
    Fault,
    Feedback,
    Rejected,
    Warned,
    decode_array,
    decode_fault,
    decode_one,
)
from service.api.feedback.sender import MAX_KEY_LENGTH, Sender
from service.errors import InvalidEvent, ServiceError
from service.http.faults import of_msgspec
from service.ids import is_id, sequence_token


class _Head(msgspec.Struct):
    """Tells an envelope from an event."""

    events: msgspec.Raw | UnsetType = UNSET


class _Envelope(msgspec.Struct, forbid_unknown_fields=True):
    """Events with the producer's own id of the message."""

    events: msgspec.Raw
    id: str | UnsetType = UNSET


class MessageAnswer(msgspec.Struct, omit_defaults=True):
    """What became of a message: ``code`` and ``detail`` if nothing of it was stored."""

    message: int
    """The number of the message in its socket, from 0."""
    id: str | UnsetType = UNSET
    """The producer's id of the message."""
    accepted: int | UnsetType = UNSET
    """Rows that are stored."""
    rejected: list[Rejected] | UnsetType = UNSET
    """The rows that are rejected, and why."""
    warnings: list[Warned] | UnsetType = UNSET
    """What was accepted but does not count as sent."""
    sequence: str | UnsetType = UNSET
    """The place of the rows in the order of events."""
    repeats: list[int] | UnsetType = UNSET
    """The rows that came lately before, by their ids; absent if none is known."""
    code: str | UnsetType = UNSET
    """The error code, for programs."""
    detail: str | UnsetType = UNSET
    """The explanation for people."""
    retry_after: int | UnsetType = UNSET
    """Seconds after which to send the message again; absent if that would not help."""


@dataclass
class Message:
    """A message and what becomes of its rows."""

    number: int
    id: str | UnsetType = UNSET
    is_one: bool = False
    """Whether it holds an event, not an array of them."""
    events: Sequence[Feedback | Fault] = ()
    error: ServiceError | None = None
    """Why nothing of it is stored."""
    rejected: list[Rejected] = field(default_factory=list)
    warnings: list[Warned] = field(default_factory=list)
    sequences: dict[int, int] = field(default_factory=dict)
    repeats: list[int] = field(default_factory=list)
    accepted: int = 0

    @property
    def key(self) -> str | None:
        """What stands for an `Idempotency-Key`."""
        return None if self.id is UNSET else self.id

    def answer(self) -> MessageAnswer:
        """Return what its producer is told."""
        error = self.error or self._nothing_accepted()
        if error is None:
            return MessageAnswer(
                self.number,
                self.id,
                accepted=self.accepted,
                rejected=self.rejected,
                warnings=self.warnings,
                sequence=sequence_token(self.sequences),
                repeats=self.repeats or UNSET,
            )
        return MessageAnswer(
            self.number,
            self.id,
            rejected=UNSET if self.is_one or not self.rejected else self.rejected,
            code=error.code,
            detail=error.detail,
            retry_after=error.retry_after_s or UNSET,
        )

    def _nothing_accepted(self) -> ServiceError | None:
        if self.accepted:
            return None
        if self.is_one:
            only = self.rejected[0]
            return InvalidEvent(only.detail, code=only.code)
        return InvalidEvent(
            "no row was accepted: `rejected` says why for each; an empty array is refused too",
            code="nothing_accepted",
        )


def decoded(number: int, body: bytes, most: int) -> Message:
    """Return a message of at most ``most`` rows; one that cannot be read has an ``error``."""
    message = Message(number)
    try:
        _decode(message, body, most)
    except ServiceError as error:
        message.error = error
    return message


def _decode(message: Message, body: bytes, most: int) -> None:
    if body.lstrip()[:1] == b"{" and _has_events(body):
        body = _opened(message, body)
    if body.lstrip()[:1] == b"[":
        message.events = decode_array(body, most)
        return
    message.is_one = True
    try:
        message.events = [decode_one(body)]
    except DECODE_ERRORS as error:
        code, detail = decode_fault(error)
        raise InvalidEvent(detail, code=code) from None


def _has_events(body: bytes) -> bool:
    try:
        return _head.decode(body).events is not UNSET
    except DECODE_ERRORS:
        # whatever it is, the decoder of an event says what is wrong with it
        return False


def _opened(message: Message, body: bytes) -> bytes:
    try:
        envelope = _envelope.decode(body)
    except DECODE_ERRORS as error:
        where, words = of_msgspec(error, _Envelope)
        raise InvalidEvent(f"`{where}` {words}") from None
    if envelope.id is not UNSET and (not is_id(envelope.id) or len(envelope.id) > MAX_KEY_LENGTH):
        limits = f"1 to {MAX_KEY_LENGTH} characters, none of them a control character"
        raise InvalidEvent(f"`id` of a message: {limits}", code="invalid_id")
    message.id = envelope.id
    return bytes(envelope.events)


class Together(Sender):
    """The sender of several messages whose rows are appended together."""

    def __init__(self, scope: Any, messages: Sequence[Message]) -> None:
        super().__init__(scope, None)
        self._of = [(Sender(scope, m.key), row) for m in messages for row in range(len(m.events))]

    def digest(self, user: str, event_id: str | UnsetType, index: int) -> bytes:
        sender, row = self._of[index]
        return sender.digest(user, event_id, row)


def share_out(result: Accepted, messages: Sequence[Message]) -> None:
    """Give each message what became of its rows, which were appended one after another."""
    places = [(message, row) for message in messages for row in range(len(message.events))]
    for rejected in result.rejected:
        message, row = places[rejected.index]
        message.rejected.append(Rejected(row, rejected.code, rejected.detail))
    for warned in result.warnings:
        message, row = places[warned.index]
        message.warnings.append(Warned(row, warned.code, warned.detail))
    for index in result.repeats:
        message, row = places[index]
        message.repeats.append(row)
    for partition, indexes in result.indexes.items():
        first = result.sequences[partition] - len(indexes) + 1
        for index, sequence in zip(indexes, count(first), strict=False):
            message, _ = places[index]
            message.accepted += 1
            message.sequences[partition] = sequence


_head = msgspec.json.Decoder(_Head)
_envelope = msgspec.json.Decoder(_Envelope)
