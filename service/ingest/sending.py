"""Messages to a running service through its WebSocket, each sent until it is answered."""

import asyncio
from collections.abc import Sequence
from http import HTTPStatus
from typing import NamedTuple

import msgspec
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed, InvalidStatus, WebSocketException

from service.errors import Misconfigured
from service.telemetry import logger

PAUSE_S = 1.0
"""Seconds between two tries while the service is away."""
ANSWER_S = 60.0
"""Seconds without an answer after which messages are sent again; a full log takes half of that."""
TOO_LONG = 1009
AWAY = frozenset({HTTPStatus.TOO_MANY_REQUESTS, *(s for s in HTTPStatus if s >= 500)})
"""Statuses of a handshake that may be another one later."""
NO_MORE = frozenset({"unauthorised", "forbidden"})


class Message(NamedTuple):
    """What a broker delivered."""

    id: str
    body: bytes


class Rejected(msgspec.Struct):
    """An event of an array that is not stored."""

    index: int
    detail: str


class Answer(msgspec.Struct):
    """What the service says of a message; ``code``: nothing of it is stored."""

    code: str = ""
    detail: str = ""
    retry_after: float | None = None
    accepted: int = 0
    rejected: list[Rejected] = []

    @property
    def is_whole(self) -> bool:
        """Whether every event of the message is stored."""
        return not (self.code or self.rejected)


class Service:
    """The socket of a service; it is opened again whenever it ends."""

    def __init__(self, url: str, key: str | None) -> None:
        self._url = "ws" + url.removeprefix("http").rstrip("/") + "/v1/events/ws"
        self._headers = {"authorization": f"Bearer {key}"} if key else {}
        self._socket: ClientConnection | None = None

    async def close(self) -> None:
        """End the socket."""
        if self._socket is not None:
            socket, self._socket = self._socket, None
            await socket.close()

    async def answers(self, messages: Sequence[Message]) -> list[Answer]:
        """Return the answer to each message; Misconfigured if the service takes none from us."""
        answers = {i: fault for i, one in enumerate(messages) if (fault := _fault(one)) is not None}
        while left := [i for i in range(len(messages)) if i not in answers]:
            pause_s = PAUSE_S
            try:
                pause_s = await self._exchange(messages, left, answers)
            except ConnectionClosed as error:
                if (why := _too_long(error)) is not None:
                    # if any is too long, the longest is
                    unanswered = [i for i in left if i not in answers]
                    longest = max(unanswered, key=lambda i: len(_envelope(messages[i])))
                    answers[longest] = Answer("too_large", why)
                self._lost(error)
            except (OSError, WebSocketException) as error:
                self._lost(error)
            if len(answers) < len(messages):
                await asyncio.sleep(pause_s)
        return [answers[i] for i in range(len(messages))]

    async def _exchange(
        self, messages: Sequence[Message], left: Sequence[int], answers: dict[int, Answer]
    ) -> float:
        """Send what is left and note the final answers; return when to send the others again."""
        socket, pause_s = await self._opened(), 0.0
        sending = asyncio.ensure_future(_send(socket, [messages[i] for i in left]))
        try:
            for i in left:
                async with asyncio.timeout(ANSWER_S):
                    answer = _answer.decode(await socket.recv(decode=False))
                if answer.code in NO_MORE:
                    raise Misconfigured(f"the service takes no events any more: {answer.detail}")
                if answer.retry_after is None:
                    answers[i] = answer
                else:
                    pause_s = max(pause_s, answer.retry_after)
        finally:
            # it has ended by itself, unless the socket is of no more use
            sending.cancel()
            await asyncio.gather(sending, return_exceptions=True)
        return pause_s

    async def _opened(self) -> ClientConnection:
        if self._socket is None:
            try:
                # all answers have room, so that the service never waits for us to read them; one
                # that rejects each row of an array is longer than what the library takes by itself
                self._socket = await connect(
                    self._url,
                    additional_headers=self._headers,
                    max_size=None,
                    max_queue=None,
                    compression=None,
                )
            except InvalidStatus as error:
                if error.response.status_code in AWAY:
                    raise
                said = bytes(error.response.body or b"").decode(errors="replace")
                raise Misconfigured(f"{self._url} refuses us: {said}") from None
        return self._socket

    def _lost(self, error: Exception) -> None:
        if self._socket is not None:
            self._socket.transport.abort()
            self._socket = None
        logger().warning("ingest_waits", detail=f"the service at {self._url}: {error}")


async def _send(socket: ClientConnection, messages: Sequence[Message]) -> None:
    for message in messages:
        await socket.send(_envelope(message), text=True)


def _too_long(error: ConnectionClosed) -> str | None:
    """Return why the service finds a message too long; None if it ended for another reason."""
    if error.rcvd is None or error.rcvd.code != TOO_LONG or error.rcvd_then_sent is False:
        return None
    return error.rcvd.reason


def _fault(message: Message) -> Answer | None:
    """Return the answer to what is not JSON: an envelope with it could mean something else."""
    try:
        msgspec.json.decode(message.body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        return Answer("malformed_json", f"the message is not JSON: {error}")
    return None


def _envelope(message: Message) -> bytes:
    return b'{"id":%b,"events":%b}' % (msgspec.json.encode(message.id), message.body)


_answer = msgspec.json.Decoder(Answer)
