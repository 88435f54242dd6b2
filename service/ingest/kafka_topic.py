"""A topic of Kafka: a member of a consumer group, and the topic of what could not be accepted.

Kafka remembers the committed offset of each partition under the group's name. It is committed once
the service has stored everything before it; what came after it is delivered again to whoever reads
the partition next.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from confluent_kafka import (
    Consumer,
    KafkaError,
    KafkaException,
    Producer,
    TopicPartition,
)
from confluent_kafka import Message as Delivered

from service.errors import Misconfigured
from service.ingest.sending import Answer, Message
from service.ingest.source import dead_letter, said
from service.telemetry import logger

LOOK_S = 1.0
"""Seconds that we wait for the first message of a batch."""
ANSWER_S = 5.0
"""Seconds that Kafka may take for an answer."""
HOLD_S = 10.0
"""Seconds between two signs of life to the group; it excludes a member after minutes."""
LONGEST_TOPIC = 150
"""Characters of a topic's name in ids, which are bounded; of a longer one it is a digest."""
_DENIED = {
    KafkaError.TOPIC_AUTHORIZATION_FAILED,
    KafkaError.GROUP_AUTHORIZATION_FAILED,
    KafkaError.CLUSTER_AUTHORIZATION_FAILED,
}
_STRANGERS = {KafkaError._AUTHENTICATION, KafkaError._SSL}

T = TypeVar("T")


@dataclass(frozen=True)
class KafkaOptions:
    """Which messages are read, and how."""

    servers: str
    topic: str
    group: str = "hedgerow"
    batch: int = 500
    dead_topic: str = "hedgerow.dead-letters"
    properties: Path | None = None


class _Letter(NamedTuple):
    """A dead letter, as Kafka gets it."""

    body: bytes
    headers: dict[str, str]


class Away(Exception):
    """Kafka does not answer, or not as it should: all is read again from the last commit."""


class KafkaSource:
    """A topic of Kafka."""

    name = "Kafka"
    away: tuple[type[Exception], ...] = (Away,)

    def __init__(self, options: KafkaOptions) -> None:
        self._options = options
        self._properties = {} if options.properties is None else read_properties(options.properties)
        self.about: Mapping[str, str] = {"topic": options.topic, "group": options.group}

    @asynccontextmanager
    async def opened(self) -> AsyncIterator["KafkaTopic"]:
        """Join the group; Misconfigured if a topic cannot be used, Away if Kafka is."""
        options = self._options
        if options.dead_topic == options.topic:
            raise Misconfigured(
                f"bad messages would come again into the topic {options.topic!r}: name another "
                "with --dead-letters"
            )
        topic = KafkaTopic(options, self._properties)
        try:
            await topic.join()
            yield topic
        finally:
            await topic.leave()


class KafkaTopic:
    """Messages of the partitions that this member of the group has, in their order."""

    is_closed = True
    """After any error all is read again from the last commit."""

    def __init__(self, options: KafkaOptions, properties: Mapping[str, str]) -> None:
        self._options = options
        self._trouble: KafkaError | None = None
        self._kept: list[Delivered] = []
        self._is_paused = False
        given: dict[str, Any] = {
            "bootstrap.servers": options.servers,
            "client.id": "hedgerow-ingest",
        }
        # each error is told once a second instead, see ``next``
        given |= {"log_level": 0, "error_cb": self._note} | dict(properties)
        try:
            self._consumer = Consumer(
                {"auto.offset.reset": "earliest", **given}
                | {"group.id": options.group, "enable.auto.commit": False}
            )
            self._producer = Producer(
                {"message.timeout.ms": 30_000, **given, "linger.ms": 0, "acks": "all"}
            )
        except KafkaException as error:
            raise Misconfigured(
                f"Kafka's client does not take its settings ({said(error)}): correct --kafka or "
                "--kafka-properties"
            ) from None
        name = options.topic
        if len(name) > LONGEST_TOPIC:
            name = blake2b(name.encode(), digest_size=8).hexdigest()
        self._name = name

    async def join(self) -> None:
        """Look at the topics, and join the group."""
        await self._look(self._consumer, self._options.topic, "name one that exists with --topic")
        dead = self._options.dead_topic
        # a producer's question makes the topic, if Kafka makes topics by itself
        todo = "make it, or name one that exists with --dead-letters"
        await self._look(self._producer, dead, todo, tries=3)
        self._consumer.subscribe(
            [self._options.topic], on_assign=self._assigned, on_revoke=self._revoked
        )

    async def leave(self) -> None:
        """Leave the group, which gives the partitions to others at once."""
        with suppress(KafkaException):
            await asyncio.to_thread(self._consumer.close)

    async def next(self) -> list[Delivered]:
        """Return up to a batch of messages; none if none came for a moment."""
        found = await self._ask(self._next)
        if not found and self._trouble is not None:
            trouble, self._trouble = self._trouble, None
            logger().warning("ingest_waits", detail=f"Kafka: {trouble.str()}; it is tried again")
        return found

    def message(self, delivered: Delivered) -> Message:
        """Return what is sent of a message; its time tells it from one of a topic made anew."""
        where = f"{delivered.partition()}/{delivered.offset()}/{delivered.timestamp()[1]}"
        return Message(f"kafka/{self._name}/{where}", delivered.value() or b"")

    async def hold(self, delivered: Sequence[Delivered]) -> None:
        """Take part in the group, whose members must ask for messages every few minutes."""
        while True:
            await asyncio.sleep(HOLD_S)
            polling = asyncio.ensure_future(asyncio.to_thread(self._show_life))
            try:
                await asyncio.shield(polling)
            finally:
                await asyncio.wait([polling])

    async def finish(self, answered: Sequence[tuple[Delivered, Answer]]) -> AsyncIterator[Answer]:
        """Set aside what is not stored whole, and commit what lies before the next messages."""
        letters = [self._letter(*one) for one in answered if not one[1].is_whole]
        while letters:
            refused = await asyncio.to_thread(self._publish, letters)
            letters = [self._shorter(letter, error) for letter, error in refused]
        await self._ask(self._commit, [delivered for delivered, _ in answered])
        for _, answer in answered:
            yield answer

    # --- in a thread: the library waits ---------------------------------------------------------

    def _next(self) -> list[Delivered]:
        found, self._kept = self._kept, []
        if self._is_paused:
            # of one that is not paused, what is fetched already would be fetched again
            self._consumer.resume(self._consumer.assignment())
            self._is_paused = False
        if not found:
            first = self._consumer.poll(LOOK_S)
            found = [] if first is None else [first]
        if found:
            found += self._consumer.consume(self._options.batch, 0.0)
        return self._checked(found)

    def _show_life(self) -> None:
        self._is_paused = True
        self._consumer.pause(self._consumer.assignment())
        # partitions that come with this call are not paused
        message = self._consumer.poll(0.0)
        self._kept += [] if message is None else [message]

    def _checked(self, found: Sequence[Delivered]) -> list[Delivered]:
        """Return the messages; raise what Kafka says in the place of one, if it is to be mended."""
        messages = []
        for one in found:
            error = one.error()
            if error is None:
                messages.append(one)
            elif error.code() == KafkaError.UNKNOWN_TOPIC_OR_PART:
                raise Misconfigured(
                    f"the topic {self._options.topic!r} was deleted: make it and start again, or "
                    "name another with --topic"
                )
            else:
                self._raise_denied(error)
                self._trouble = error
        return messages

    def _commit(self, finished: Sequence[Delivered]) -> None:
        ours = {one.partition for one in self._consumer.assignment()}
        ends = {
            partition: offset + 1
            for one in finished
            if (partition := one.partition()) in ours and (offset := one.offset()) is not None
        }
        if ends:
            topic = self._options.topic
            offsets = [TopicPartition(topic, partition, end) for partition, end in ends.items()]
            for one in self._consumer.commit(offsets=offsets, asynchronous=False):
                if one.error is not None:
                    raise Away(one.error.str())

    def _letter(self, delivered: Delivered, answer: Answer) -> _Letter:
        letter = dead_letter(self.message(delivered), answer)
        where = f"{delivered.topic()}/{delivered.partition()}/{delivered.offset()}"
        headers = {
            "Hedgerow-Code": letter.code,
            "Hedgerow-Reason": letter.reason,
            "Hedgerow-Message": where,
        }
        return _Letter(letter.body, headers)

    def _shorter(self, letter: _Letter, error: KafkaError) -> _Letter:
        """Return the beginning of a letter that is too long; raise what else Kafka says of it."""
        if error.code() != KafkaError.MSG_SIZE_TOO_LARGE or not letter.body:
            self._raise_denied(error)
            raise Away(f"a dead letter is refused: {error.str()}")
        headers = {"Hedgerow-Length": str(len(letter.body))} | letter.headers
        return _Letter(letter.body[: len(letter.body) // 2], headers)

    def _publish(self, letters: Sequence[_Letter]) -> list[tuple[_Letter, KafkaError]]:
        """Publish dead letters; return those that are refused, and what Kafka says against them."""
        refused: list[tuple[_Letter, KafkaError]] = []
        for letter in letters:
            try:
                self._produce(letter, refused)
            except BufferError:
                # as many wait as the library takes
                self._producer.flush()
                self._produce(letter, refused)
        # all together: one by one each would wait for an answer
        self._producer.flush()
        return refused

    def _produce(self, letter: _Letter, refused: list[tuple[_Letter, KafkaError]]) -> None:
        def note(error: KafkaError | None, _: Delivered) -> None:
            if error is not None:
                refused.append((letter, error))

        headers: list[tuple[str, str | bytes | None]] = [*letter.headers.items()]
        topic = self._options.dead_topic
        try:
            self._producer.produce(topic, letter.body, headers=headers, on_delivery=note)
        except KafkaException as error:
            refused.append((letter, error.args[0]))

    # --- what the library tells ----------------------------------------------------------------

    async def _ask(self, ask: Callable[..., T], *arguments: Any) -> T:
        """Call the library in a thread; Away with what it says."""
        try:
            return await asyncio.to_thread(ask, *arguments)
        except KafkaException as error:
            raise Away(error.args[0].str()) from error

    async def _look(self, client: Any, topic: str, todo: str, tries: int = 1) -> None:
        """Look whether a topic is there."""
        error: KafkaError | None = None
        for left in reversed(range(tries)):
            try:
                found = await asyncio.to_thread(client.list_topics, topic, ANSWER_S)
            except KafkaException as away:
                # this lets the library say what it met
                await asyncio.to_thread(client.poll, 0.0)
                trouble = self._trouble or away.args[0]
                self._raise_denied(trouble)
                raise Away(
                    f"{self._options.servers} does not answer ({trouble.str()}): start it, or "
                    "correct --kafka; it is tried again"
                ) from away
            error = found.topics[topic].error
            if error is None:
                return
            self._raise_denied(error)
            if left:
                await asyncio.sleep(LOOK_S)
        if error is not None and error.code() != KafkaError.UNKNOWN_TOPIC_OR_PART:
            raise Away(error.str())
        raise Misconfigured(f"Kafka has no topic {topic!r}: {todo}")

    def _note(self, error: KafkaError) -> None:
        self._trouble = error

    def _raise_denied(self, error: KafkaError) -> None:
        if error.code() in _STRANGERS:
            raise Misconfigured(
                f"Kafka does not accept who we are ({error.str()}): correct --kafka-properties"
            )
        if error.code() in _DENIED:
            raise Misconfigured(
                f"Kafka does not allow this ({error.str()}): allow the user to read the topic "
                f"{self._options.topic!r} as the group {self._options.group!r}, and to write to "
                f"{self._options.dead_topic!r}"
            )

    def _assigned(self, _: Consumer, partitions: Sequence[TopicPartition]) -> None:
        logger().info("ingest_partitions", given=[one.partition for one in partitions])

    def _revoked(self, _: Consumer, partitions: Sequence[TopicPartition]) -> None:
        logger().info("ingest_partitions", taken=[one.partition for one in partitions])


def read_properties(path: Path) -> dict[str, str]:
    """Return the properties of a file, one ``name=value`` a line; Misconfigured for another."""
    try:
        lines = path.read_text().splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise Misconfigured(f"cannot read {path} ({error}): give another file") from error
    found = {}
    for number, line in enumerate(lines, 1):
        text = line.strip()
        if text and not text.startswith("#"):
            name, equals, value = text.partition("=")
            if not equals:
                raise Misconfigured(f"{path}, line {number}: write name=value, or # before it")
            found[name.strip()] = value.strip()
    return found
