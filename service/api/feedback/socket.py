"""Feedback through a WebSocket: each message is answered once its events are on the disk.

Messages are appended in the order in which they came; those that arrive during an append share the
next one. Nothing more is read while too much waits for its answer: memory is bounded, and a slow
store slows the sender.
"""

import asyncio
from collections import deque
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import msgspec
from fastapi import APIRouter
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from service.api.feedback.intake import Intake
from service.api.feedback.messages import Message, Together, decoded, share_out
from service.api.feedback.schemas import Feedback
from service.api.feedback.sender import Sender
from service.api.routing import FeedbackRoute
from service.errors import ServiceError, StoreUnavailable
from service.http.auth import ACCEPTED
from service.http.routing import check_caller
from service.http.sockets.codes import IDLE, LOST, RESTARTS, code_of, ends_socket, reason
from service.metrics.catalogue import SOCKETS_CLOSED

PATH = "/v1/events/ws"
PROTOCOL = "hedgerow.v1"
KEY = "hedgerow.key."
"""Before a key in the list of sub-protocols: browsers can send no other header with a socket."""
UNANSWERED = 1_000
"""Messages that may wait for their answer before no more is read."""
LOOK_S = 1.0
"""Seconds between two looks at the key of a socket that sends nothing."""

router = APIRouter(route_class=FeedbackRoute, tags=["feedback"])
_encode = msgspec.json.Encoder().encode


@router.get(PATH, summary="Send events through a WebSocket", include_in_schema=False)
async def open_event_socket(request: Request) -> Response:
    """Refuse a request that does not ask for a WebSocket."""
    raise HTTPException(
        426,
        "this path is a WebSocket: connect with a WebSocket client, and let a proxy pass on the "
        "headers Upgrade and Connection",
        headers={"Upgrade": "websocket", "Connection": "Upgrade"},
    )


async def take_events(scope: Scope, receive: Receive, send: Send) -> None:
    """Serve one socket, from its handshake to its end."""
    offered = scope["subprotocols"]
    keys = [one.removeprefix(KEY) for one in offered if one.startswith(KEY)]
    if keys and not any(name == b"authorization" for name, _ in scope["headers"]):
        scope["headers"] = [*scope["headers"], (b"authorization", b"Bearer " + keys[0].encode())]
    await check_caller(scope, "write", appends=True)
    if scope["query_string"]:
        detail = "a WebSocket has no parameters; send a key as a header or a sub-protocol"
        raise RequestValidationError([{"type": "value_error", "loc": ("query",), "msg": detail}])
    with scope["app"].state.sockets.taken():
        await receive()
        chosen = PROTOCOL if PROTOCOL in offered else None
        await send({"type": "websocket.accept", "subprotocol": chosen})
        code, why = await EventSocket(scope, receive, send).run()
        scope["app"].state.meters.count(SOCKETS_CLOSED, str(code) if why else "client").add()
        if why:
            await send({"type": "websocket.close", "code": code, "reason": reason(why)})


class EventSocket:
    """The messages of one open socket."""

    def __init__(self, scope: Scope, receive: Receive, send: Send) -> None:
        self._scope, self._receive, self._send = scope, receive, send
        self._state = scope["app"].state
        self._intake: Intake = self._state.intake
        self._waiting: deque[bytes] = deque()
        self._bytes = self._answered = 0
        self._changed = asyncio.Event()
        """Set when a message has come, or the client has left."""
        self._room = asyncio.Event()
        self._room.set()
        self._left: int | None = None
        """The code with which the client left, or the process ends."""

    async def run(self) -> tuple[int, str]:
        """Answer messages until the end; return the code to close with, "" if it is closed."""
        reading = asyncio.create_task(self._read())
        try:
            return await self._answer_all()
        finally:
            reading.cancel()
            with suppress(asyncio.CancelledError):
                await reading

    async def _read(self) -> None:
        try:
            await self._read_all()
        finally:
            self._left = self._left or LOST
            self._changed.set()

    async def _read_all(self) -> None:
        limits = self._state.settings.limits
        while self._left is None:
            message = await self._receive()
            if message["type"] == "websocket.disconnect":
                self._left = message["code"]
            else:
                body = message.get("bytes") or (message.get("text") or "").encode()
                self._waiting.append(body)
                self._bytes += len(body)
            self._changed.set()
            if len(self._waiting) >= UNANSWERED or self._bytes >= limits.message_bytes:
                self._room.clear()
                await self._room.wait()

    async def _answer_all(self) -> tuple[int, str]:
        clock = asyncio.get_running_loop().time
        pause_s = self._state.settings.limits.stream_pause_s
        since = clock()
        while self._waiting or self._left is None:
            if not self._waiting:
                if clock() - since > pause_s:
                    most = f"{pause_s:g} s (HEDGEROW_LIMITS__STREAM_PAUSE_S)"
                    return IDLE, f"no message came for {most}: connect when there is one"
                error = await self._look()
            else:
                error = await self._answer(await self._take())
                since = clock()
            if error is not None:
                return code_of(error), error.detail
        if self._left == RESTARTS:
            return RESTARTS, "this process ends: connect again, and send what was not answered"
        return self._left or 0, ""

    async def _take(self) -> list[Message]:
        """Decode what waits, but no more messages once they have ``max_array`` rows."""
        settings, messages, rows = self._state.settings, list[Message](), 0
        for _ in range(len(self._waiting)):
            body = self._waiting.popleft()
            self._bytes -= len(body)
            messages.append(decoded(self._answered, body, settings.max_array))
            self._answered += 1
            rows += len(messages[-1].events)
            if rows >= settings.max_array:
                break
            if not messages[-1].is_one:
                # many rows take a while: others have their turn
                await asyncio.sleep(0)
        if not self._waiting:
            self._changed.clear()
        if len(self._waiting) < UNANSWERED and self._bytes < settings.limits.message_bytes:
            self._room.set()
        return messages

    async def _look(self) -> ServiceError | None:
        """Wait a moment for a message; return an error if the sender may not write any more."""
        try:
            async with asyncio.timeout(LOOK_S):
                await self._changed.wait()
        except TimeoutError:
            return await self._checked()
        return None

    async def _checked(self) -> ServiceError | None:
        try:
            await self._state.key_check.check(self._scope, "write", appends=True)
        except StoreUnavailable:
            return None
        except ServiceError as error:
            return error
        return None

    async def _answer(self, messages: list[Message]) -> ServiceError | None:
        """Append and answer; return the error after which there is nothing to be accepted."""
        ended: ServiceError | None = None
        readable = [message for message in messages if self._is_readable(message)]
        try:
            await self._state.key_check.check(self._scope, "write", appends=True)
            counted = [message for message in readable if self._is_within_rates(message)]
            await self._append(await self._unrepeated(counted))
        except ServiceError as error:
            ended = error if ends_socket(error) else None
            for message in readable:
                message.error = message.error or error
        for message in messages:
            with suppress(OSError):
                # the client may have left; what it sent is stored all the same
                text = _encode(message.answer()).decode()
                await self._send({"type": "websocket.send", "text": text})
        return ended

    def _is_readable(self, message: Message) -> bool:
        if message.error is None:
            return True
        self._intake.counts.refused(message.error.code)
        return False

    def _is_within_rates(self, message: Message) -> bool:
        """Count a message as a request of its key."""
        key_id = self._scope[ACCEPTED]
        if key_id is None:
            return True
        self._scope["more_headers"] = []
        try:
            self._state.rates.count_key(self._scope, key_id)
        except ServiceError as error:
            message.error = error
            return False
        return True

    async def _unrepeated(self, messages: Sequence[Message]) -> list[Message]:
        """Return the messages whose ids did not come before with other events."""
        await asyncio.gather(*(self._check_id(m) for m in messages if m.key is not None))
        return [message for message in messages if message.error is None]

    async def _check_id(self, message: Message) -> None:
        rules, producer = self._intake.rules, Sender(self._scope, None).producer
        events: dict[int, Any] = {
            row: event
            for row, event in enumerate(message.events)
            if isinstance(event, Feedback) and rules.fault(event) is None
        }
        if not events or message.key is None:
            return
        try:
            await self._intake.request_keys.check(message.key, producer, events)
        except ServiceError as error:
            self._intake.counts.refused(error.code, len(message.events))
            message.error = error

    async def _append(self, messages: Sequence[Message]) -> None:
        if not messages:
            return
        events = [event for message in messages for event in message.events]
        sender, patience_s = Together(self._scope, messages), self._intake.patience_s
        share_out(await self._intake.accept(events, sender, patience_s=patience_s), messages)
