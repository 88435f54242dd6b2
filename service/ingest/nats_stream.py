"""A stream of NATS JetStream: a durable consumer, and the stream of what could not be accepted.

NATS remembers what was acknowledged under the consumer's name. What a process held when it died is
delivered again after ``ack_wait_s``; what is newer may come before it, though no more than a batch
may be without an acknowledgement.
"""

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import Any

import nats
from nats.aio.client import Client
from nats.aio.msg import Msg
from nats.errors import Error, NoServersError
from nats.js import JetStreamContext
from nats.js.api import AckPolicy, ConsumerConfig
from nats.js.errors import APIError, NotFoundError, ServiceUnavailableError

from service.errors import Misconfigured
from service.ingest.sending import Answer, Message
from service.ingest.source import dead_letter, said
from service.telemetry import logger

LOOK_S = 1.0
"""Seconds that NATS waits for the first message of a batch."""
HEADER_LENGTH = 500


@dataclass(frozen=True)
class NatsOptions:
    """Which messages are read, and how."""

    url: str
    stream: str
    subject: str | None = None
    durable: str = "hedgerow"
    batch: int = 500
    ack_wait_s: float = 30.0
    dead_subject: str = "hedgerow.dead-letters"
    credentials: Path | None = None


class NatsSource:
    """A stream of JetStream."""

    name = "NATS"
    away: tuple[type[Exception], ...] = (Error, OSError)

    def __init__(self, options: NatsOptions) -> None:
        self._options = options
        self.about: Mapping[str, str] = {"stream": options.stream, "durable": options.durable}

    def opened(self) -> AbstractAsyncContextManager["NatsStream"]:
        """Wait for NATS; raise Misconfigured if the stream or the consumer cannot be used."""
        return _opened(self._options)


class NatsStream:
    """Messages of a stream, in their order unless some are delivered again."""

    def __init__(self, options: NatsOptions, client: Client, source: Any, name: str) -> None:
        self._options, self._client, self._jetstream = options, client, client.jetstream()
        self._source, self._name = source, name

    @property
    def is_closed(self) -> bool:
        """Whether the connection has ended for good: so it does after each error of the server."""
        return self._client.is_closed

    async def next(self) -> list[Msg]:
        """Return up to a batch of messages; none if none came for a moment.

        Misconfigured if the consumer was deleted: a new one would begin at the first message.
        """
        messages: list[Msg] = []
        with suppress(TimeoutError):
            messages = await self._source.fetch(self._options.batch, timeout=LOOK_S)
        if not messages:
            # the library says the same of a consumer that is gone as of one that has no message
            await self._look()
        return messages

    async def _look(self) -> None:
        durable, stream = self._options.durable, self._options.stream
        try:
            await self._jetstream.consumer_info(stream, durable)
        except NotFoundError:
            raise Misconfigured(
                f"the consumer {durable!r} of {stream!r} was deleted: start again to read the "
                "stream from its first message, or with another --durable or --stream"
            ) from None

    def message(self, delivered: Msg) -> Message:
        """Return what is sent of a message, under an id that stays the same."""
        return Message(f"nats/{self._name}/{delivered.metadata.sequence.stream}", delivered.data)

    async def hold(self, messages: Sequence[Msg]) -> None:
        """Tell NATS again and again that these are being worked on, until cancelled."""
        while True:
            await asyncio.sleep(self._options.ack_wait_s / 3)
            for message in messages:
                if not message.is_acked:
                    await message.in_progress()

    async def finish(self, answered: Sequence[tuple[Msg, Answer]]) -> AsyncIterator[Answer]:
        """Acknowledge messages; one whose dead letter is refused comes again."""
        # what is stored comes first: it does not wait for a dead letter that cannot be published
        for delivered, answer in sorted(answered, key=_is_set_aside):
            if await self._finish(delivered, answer):
                yield answer

    async def _finish(self, delivered: Msg, answer: Answer) -> bool:
        if not answer.is_whole:
            try:
                await self._set_aside(delivered, answer)
            except APIError as error:
                detail = f"NATS refuses a dead letter: {said(error)}"
                logger().warning("ingest_waits", detail=detail)
                return False
        await delivered.ack()
        return True

    async def _set_aside(self, delivered: Msg, answer: Answer) -> None:
        message = self.message(delivered)
        letter = dead_letter(message, answer)
        headers = {
            "Nats-Msg-Id": message.id,
            "Hedgerow-Code": letter.code,
            "Hedgerow-Reason": _plain(letter.reason),
            "Hedgerow-Subject": _plain(delivered.subject),
        }
        body = letter.body
        room = self._client.max_payload - _size(headers)
        if len(body) > room:
            # NATS would end the connection
            headers["Hedgerow-Length"] = str(len(body))
            body = body[: max(0, self._client.max_payload - _size(headers))]
        await self._jetstream.publish(self._options.dead_subject, body, headers=headers)


def _is_set_aside(answered: tuple[Msg, Answer]) -> bool:
    return not answered[1].is_whole


@asynccontextmanager
async def _opened(options: NatsOptions) -> AsyncIterator[NatsStream]:
    client = await _connected(options)
    try:
        jetstream = client.jetstream()
        try:
            info = await jetstream.stream_info(options.stream)
        except NotFoundError:
            raise Misconfigured(
                f"NATS has no stream {options.stream!r}: name one that exists with --stream"
            ) from None
        await _dead_letters(jetstream, options)
        config = ConsumerConfig(
            durable_name=options.durable,
            ack_policy=AckPolicy.EXPLICIT,
            ack_wait=options.ack_wait_s,
            max_ack_pending=options.batch,
            filter_subject=options.subject,
        )
        await _consumer(jetstream, options.stream, config)
        source = await jetstream.pull_subscribe_bind(options.durable, options.stream)
        # a stream that is made anew counts from 1 again
        made = f"{options.stream}/{info.created}".encode()
        name = blake2b(made, digest_size=8).hexdigest()
        yield NatsStream(options, client, source, name)
    finally:
        await client.close()


async def _consumer(jetstream: JetStreamContext, stream: str, config: ConsumerConfig) -> None:
    """Make the consumer, or set its waits and bounds; raise Misconfigured if it reads otherwise."""
    name = str(config.durable_name)
    try:
        there = (await jetstream.consumer_info(stream, name)).config
    except NotFoundError:
        there = config
    problem = ""
    if (there.filter_subject or None) != (config.filter_subject or None):
        problem = f"it reads {there.filter_subject or 'all subjects'}"
    try:
        if not problem:
            await jetstream.add_consumer(stream, config)
    except ServiceUnavailableError:
        raise
    except APIError as error:
        problem = str(error.description)
    if problem:
        raise Misconfigured(
            f"NATS has another consumer {name!r} than is wanted here ({problem}): give another "
            "name with --durable, or delete that one"
        )


async def _connected(options: NatsOptions) -> Client:
    credentials = None if options.credentials is None else str(options.credentials)
    try:
        return await nats.connect(
            options.url,
            name="hedgerow ingest",
            user_credentials=credentials,
            max_reconnect_attempts=-1,
            error_cb=_say,
        )
    except (OSError, NoServersError, ValueError, Error) as error:
        raise Misconfigured(f"cannot connect to NATS at --nats: {said(error)}") from error


async def _say(error: Exception) -> None:
    logger().warning("ingest_waits", detail=f"NATS: {said(error)}")


async def _dead_letters(jetstream: Any, options: NatsOptions) -> None:
    """Make a stream for what cannot be accepted, unless there is one."""
    subject = options.dead_subject
    try:
        where = await jetstream.find_stream_name_by_subject(subject)
    except NotFoundError:
        name = subject.replace(".", "-")
        try:
            await jetstream.add_stream(name=name, subjects=[subject])
        except ServiceUnavailableError:
            raise
        except APIError as error:
            raise Misconfigured(
                f"NATS makes no stream for {subject!r} ({error.description}): name a subject that "
                "a stream keeps with --dead-letters"
            ) from error
        return
    if where == options.stream:
        raise Misconfigured(
            f"the stream {where!r} keeps {subject!r} too, so that its bad messages would come "
            "again: name a subject of another stream with --dead-letters"
        )


def _plain(text: str) -> str:
    """Return a text as a header can hold it."""
    return text.encode("ascii", "backslashreplace").decode().replace("\n", " ")[:HEADER_LENGTH]


def _size(headers: dict[str, str]) -> int:
    """Return the bytes of headers as they are sent, which count against the largest payload."""
    return len("NATS/1.0\r\n\r\n") + sum(len(f"{k}: {v}\r\n") for k, v in headers.items())
