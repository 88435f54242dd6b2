"""The brokers of librdkafka, the library of Kafka's Python client: real sockets, but no disk.

They speak the protocol of Kafka to clients in any process, and end with this one.
"""

import ctypes
from contextlib import closing
from pathlib import Path
from typing import Any, Self

import confluent_kafka
import pytest
from confluent_kafka import Consumer, Message, Producer, TopicPartition

FETCH, OFFSET_COMMIT = 1, 8
"""Requests of the protocol, for ``refuse``."""
_PRODUCER = 0
_TEXT = 512


_PATHS = [*(Path(confluent_kafka.__file__).parents[1] / "confluent_kafka.libs").glob("librdkafka*")]
needs_kafka = pytest.mark.skipif(
    not _PATHS, reason="the wheel of confluent-kafka has no librdkafka here, and so no brokers"
)


def _library() -> Any:
    library = ctypes.CDLL(str(_PATHS[0]))
    pointer, number, text = ctypes.c_void_p, ctypes.c_int, ctypes.c_char_p
    for name, result, arguments in (
        ("rd_kafka_conf_new", pointer, []),
        ("rd_kafka_conf_set", number, [pointer, text, text, text, ctypes.c_size_t]),
        ("rd_kafka_new", pointer, [number, pointer, text, ctypes.c_size_t]),
        ("rd_kafka_destroy", None, [pointer]),
        ("rd_kafka_mock_cluster_new", pointer, [pointer, number]),
        ("rd_kafka_mock_cluster_destroy", None, [pointer]),
        ("rd_kafka_mock_cluster_bootstraps", text, [pointer]),
        ("rd_kafka_mock_topic_create", number, [pointer, text, number, number]),
        ("rd_kafka_mock_broker_set_down", number, [pointer, ctypes.c_int32]),
        ("rd_kafka_mock_broker_set_up", number, [pointer, ctypes.c_int32]),
        ("rd_kafka_mock_broker_set_rtt", number, [pointer, ctypes.c_int32, number]),
        (
            "rd_kafka_mock_push_request_errors_array",
            None,
            [pointer, ctypes.c_int16, ctypes.c_size_t, ctypes.POINTER(number)],
        ),
        ("rd_kafka_mock_group_initial_rebalance_delay_ms", None, [pointer, ctypes.c_int32]),
    ):
        function = getattr(library, name)
        function.restype, function.argtypes = result, arguments
    return library


class KafkaBrokers:
    """One broker on a port that the system chose."""

    def __enter__(self) -> Self:
        self._library = _library()
        said = ctypes.create_string_buffer(_TEXT)
        self._client = self._library.rd_kafka_new(_PRODUCER, self._quiet_settings(), said, _TEXT)
        self._brokers = self._library.rd_kafka_mock_cluster_new(self._client, 1)
        # groups would wait for other members for three seconds
        self._library.rd_kafka_mock_group_initial_rebalance_delay_ms(self._brokers, 0)
        self.servers: str = self._library.rd_kafka_mock_cluster_bootstraps(self._brokers).decode()
        return self

    def __exit__(self, *_: object) -> None:
        self._library.rd_kafka_mock_cluster_destroy(self._brokers)
        self._library.rd_kafka_destroy(self._client)

    def _quiet_settings(self) -> Any:
        settings = self._library.rd_kafka_conf_new()
        said = ctypes.create_string_buffer(_TEXT)
        assert not self._library.rd_kafka_conf_set(settings, b"log_level", b"0", said, _TEXT)
        return settings

    def make_topic(self, name: str, partitions: int = 1) -> None:
        """Make a topic; nobody else does."""
        assert not self._library.rd_kafka_mock_topic_create(
            self._brokers, name.encode(), partitions, 1
        )

    def go_away(self) -> None:
        """End all connections and take no more."""
        self._library.rd_kafka_mock_broker_set_down(self._brokers, 1)

    def come_back(self) -> None:
        """Take connections again."""
        self._library.rd_kafka_mock_broker_set_up(self._brokers, 1)

    def answer_slowly(self, ms: int) -> None:
        """Answer each request after this time."""
        self._library.rd_kafka_mock_broker_set_rtt(self._brokers, 1, ms)

    def refuse(self, request: int, *codes: int) -> None:
        """Answer the next requests of a kind with these errors."""
        errors = (ctypes.c_int * len(codes))(*codes)
        self._library.rd_kafka_mock_push_request_errors_array(
            self._brokers, request, len(codes), errors
        )

    def publish(self, topic: str, bodies: list[bytes]) -> None:
        """Publish messages, spread over the partitions."""
        producer = Producer({"bootstrap.servers": self.servers, "log_level": 0})
        for n, body in enumerate(bodies):
            producer.produce(topic, body, key=str(n), on_delivery=_delivered)
            producer.poll(0)
        assert producer.flush(60) == 0

    def messages(self, topic: str, partitions: int = 1) -> list[Message]:
        """Return all messages of a topic."""
        found = []
        with closing(self._reader("reader")) as reader:
            for partition in range(partitions):
                low, high = reader.get_watermark_offsets(TopicPartition(topic, partition), 10)
                reader.assign([TopicPartition(topic, partition, low)])
                while low < high:
                    message = reader.poll(10)
                    assert message is not None
                    assert message.error() is None
                    found.append(message)
                    low += 1
        return found

    def left(self, topic: str, partitions: int = 1, group: str = "hedgerow") -> int:
        """Return how many messages the group has not committed."""
        with closing(self._reader(group)) as reader:
            wanted = [TopicPartition(topic, partition) for partition in range(partitions)]
            n = 0
            for one in reader.committed(wanted, 10):
                low, high = reader.get_watermark_offsets(one, 10)
                n += high - max(one.offset, low)
            return n

    def _reader(self, group: str) -> Consumer:
        return Consumer({"bootstrap.servers": self.servers, "group.id": group, "log_level": 0})


def _delivered(error: object, _: Message) -> None:
    assert error is None
