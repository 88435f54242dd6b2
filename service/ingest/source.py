"""What a broker has to offer, so that its messages can be brought to the service."""

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Any, NamedTuple, Protocol, TypeVar

import msgspec

from service.ingest.sending import Answer, Message
from service.telemetry import logger

REASON_LENGTH = 500

D = TypeVar("D")
"""A message as the broker's library has it."""


class Stream(Protocol[D]):
    """Messages of a broker, while the connection lasts."""

    @property
    def is_closed(self) -> bool:
        """Whether it must be opened again after an error."""
        ...

    async def next(self) -> list[D]:
        """Return up to a batch of messages; none if none came for a moment."""
        ...

    def message(self, delivered: D) -> Message:
        """Return what is sent of a message, under an id that stays the same."""
        ...

    async def hold(self, delivered: Sequence[D]) -> None:
        """Keep the broker from giving these to somebody else, until cancelled."""
        ...

    def finish(self, answered: Sequence[tuple[D, Answer]]) -> AsyncIterator[Answer]:
        """Set aside what is not stored whole, acknowledge, and yield what will not come again."""
        ...


class Source(Protocol):
    """A broker, and what is read from it."""

    name: str
    away: tuple[type[Exception], ...]
    """Errors after which it is worth trying again."""
    about: Mapping[str, str]
    """What is read, for the log."""

    def opened(self) -> AbstractAsyncContextManager[Stream[Any]]:
        """Open the stream; Misconfigured if it cannot be used as it is."""
        ...


class DeadLetter(NamedTuple):
    """What is set aside of a message, and why."""

    code: str
    reason: str
    body: bytes


def dead_letter(message: Message, answer: Answer) -> DeadLetter:
    """Return what becomes of a message that is not stored whole, and log it."""
    code = answer.code or "rows_rejected"
    reason = answer.detail or "; ".join(f"row {r.index}: {r.detail}" for r in answer.rejected)
    body = message.body if answer.code else _rows(message.body, answer)
    logger().warning("message_set_aside", message=message.id, code=code)
    return DeadLetter(code, reason[:REASON_LENGTH], body)


def said(error: BaseException) -> str:
    """Return what an error says, or its name: some libraries say nothing."""
    return str(error) or type(error).__name__


def _rows(body: bytes, answer: Answer) -> bytes:
    """Return the rows that were rejected: the others are stored, and would count again."""
    rows = msgspec.json.decode(body, type=list[msgspec.Raw])
    return b"[" + b",".join(bytes(rows[r.index]) for r in answer.rejected) + b"]"
