"""Messages of Kafka count once, through kills, rebalances and a broker that goes away."""

from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from confluent_kafka import KafkaError

from service.settings import Settings
from service.store.connection import connect
from tests.api import learning, served
from tests.flows.broker_messages import BAD, message
from tests.flows.recorded import recorded
from tests.flows.roles import Role
from tests.kafka_brokers import FETCH, OFFSET_COMMIT, KafkaBrokers, needs_kafka
from tests.server import wait_until
from tests.service.running import hedgerow

pytestmark = [pytest.mark.flow, needs_kafka]

PARTITIONS = 2


@pytest.fixture
def brokers() -> Iterator[KafkaBrokers]:
    with KafkaBrokers() as brokers:
        brokers.make_topic("events", PARTITIONS)
        brokers.make_topic("hedgerow.dead-letters")
        yield brokers


class Bringing:
    """A service and its store, and processes that bring messages to it."""

    def __init__(
        self, stack: ExitStack, room: Path, redis_url: str, namespace: str, brokers: KafkaBrokers
    ) -> None:
        self._stack, self._room, self._namespace, self._brokers = stack, room, namespace, brokers
        self._settings = Settings(
            namespace=namespace, data_dir=room / "data", history_limit=100_000
        )
        stack.enter_context(learning(self._settings, redis_url))
        host, port = stack.enter_context(served(self._settings, redis_url))
        self._url = f"http://{host}:{port}"
        self._direct = stack.enter_context(connect(redis_url, role="test"))

    def role(self, name: str = "ingest", *more: str) -> Role:
        """Start a process; the group notices within seconds that it was killed."""
        properties = self._room / "kafka.properties"
        usual = ["session.timeout.ms=1500", "# often", "heartbeat.interval.ms=300"]
        properties.write_text("\n".join([*usual, *more]))
        options = ["--topic", "events", "--kafka", self._brokers.servers, "--url", self._url]
        options += ["--kafka-properties", str(properties), "--batch", "50"]
        role = Role(self._room, name, self._settings, "ingest", *options)
        return self._stack.enter_context(role)

    def recorded(self) -> Counter[tuple[str, str]]:
        return recorded(self._direct, self._namespace)


@pytest.fixture
def bringing(
    room: Path, redis_url: str, namespace: str, brokers: KafkaBrokers
) -> Iterator[Bringing]:
    with ExitStack() as stack:
        yield Bringing(stack, room, redis_url, namespace, brokers)


def left(brokers: KafkaBrokers) -> int:
    return brokers.left("events", PARTITIONS)


@pytest.mark.parametrize(
    ("n", "kills"), [(2_000, 1), pytest.param(100_000, 10, marks=pytest.mark.slow)]
)
def test_each_message_counts_once_through_kills(
    brokers: KafkaBrokers, bringing: Bringing, n: int, kills: int
) -> None:
    told = [message(i) for i in range(n)]
    brokers.publish("events", [body for _, body in told] + list(BAD))
    role = bringing.role()
    for kill in range(kills):
        most = n * (kills - kill) // (kills + 1)
        wait_until(lambda most=most: left(brokers) <= most, 600)
        role.kill()
        role.start()
    wait_until(lambda: left(brokers) == 0, 600)
    role.stop()
    letters = brokers.messages("hedgerow.dead-letters")
    codes = {(one.value(), dict(one.headers() or [])["Hedgerow-Code"].decode()) for one in letters}
    assert codes == set(BAD.items())
    assert all(dict(one.headers() or [])["Hedgerow-Reason"] for one in letters)
    wait_until(lambda: bringing.recorded().total() >= n, 600)
    assert bringing.recorded() == Counter(pair for pair, _ in told)


def test_processes_share_the_partitions_and_a_broker_may_go_away(
    brokers: KafkaBrokers, bringing: Bringing
) -> None:
    told = [message(i) for i in range(300)]
    brokers.publish("events", [body for _, body in told[:100]])
    first = bringing.role("first")
    wait_until(lambda: left(brokers) == 0)
    second = bringing.role("second")
    wait_until(lambda: '"given": [' in second.log and '"given": []' not in second.log)
    brokers.publish("events", [body for _, body in told[100:200]])
    wait_until(lambda: left(brokers) == 0)
    brokers.go_away()
    wait_until(lambda: all("ingest_waits" in role.log for role in (first, second)))
    brokers.come_back()
    second.stop()
    brokers.publish("events", [body for _, body in told[200:]])
    wait_until(lambda: left(brokers) == 0)
    wait_until(lambda: bringing.recorded().total() >= len(told))
    assert bringing.recorded() == Counter(pair for pair, _ in told)


def test_a_commit_that_is_refused_is_made_again(brokers: KafkaBrokers, bringing: Bringing) -> None:
    told = [message(i) for i in range(60)]
    brokers.refuse(OFFSET_COMMIT, KafkaError.ILLEGAL_GENERATION)
    brokers.publish("events", [body for _, body in told])
    role = bringing.role()
    wait_until(lambda: left(brokers) == 0)
    assert role.log.count('"ingest_started"') == 2
    wait_until(lambda: bringing.recorded().total() >= len(told))
    assert bringing.recorded() == Counter(pair for pair, _ in told)


def test_a_batch_of_dead_letters_does_not_exclude_from_the_group(
    brokers: KafkaBrokers, bringing: Bringing
) -> None:
    n = 50
    brokers.publish("events", [b"{%d" % i for i in range(n)])
    # one by one the letters would take longer than a member may be without asking for messages
    brokers.answer_slowly(200)
    bringing.role("ingest", "max.poll.interval.ms=4000")
    wait_until(lambda: left(brokers) == 0)
    brokers.answer_slowly(0)
    letters = brokers.messages("hedgerow.dead-letters")
    assert {one.value() for one in letters} == {b"{%d" % i for i in range(n)}


def test_a_dead_letter_that_is_too_long_is_its_beginning(
    brokers: KafkaBrokers, bringing: Bringing
) -> None:
    long = b"{" + b" " * 5_000
    brokers.publish("events", [long])
    bringing.role("ingest", "message.max.bytes=4000")
    wait_until(lambda: left(brokers) == 0)
    [letter] = brokers.messages("hedgerow.dead-letters")
    headers = dict(letter.headers() or [])
    assert headers["Hedgerow-Length"] == b"%d" % len(long)
    assert headers["Hedgerow-Message"] in {b"events/0/0", b"events/1/0"}
    assert letter.value() == long[: len(long) // 2]


def test_what_kafka_does_not_allow_ends_it_with_what_to_do(
    brokers: KafkaBrokers, bringing: Bringing
) -> None:
    brokers.refuse(FETCH, *[KafkaError.TOPIC_AUTHORIZATION_FAILED] * 10)
    brokers.publish("events", [message(0)[1]])
    role = bringing.role()
    assert role.wait() == 2
    assert "allow the user to read the topic 'events'" in role.log.splitlines()[-1]


@pytest.mark.slow
def test_it_waits_for_a_broker_that_was_away_from_the_beginning(
    brokers: KafkaBrokers, bringing: Bringing
) -> None:
    brokers.publish("events", [message(0)[1]])
    brokers.go_away()
    role = bringing.role()
    wait_until(lambda: "ingest_waits" in role.log)
    brokers.come_back()
    wait_until(lambda: left(brokers) == 0)


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["--topic", "nowhere"], "Kafka has no topic 'nowhere': name one that exists"),
        (["--topic", "events", "--kafka-properties", "{bad}"], "line 2: write name=value"),
        (
            ["--topic", "events", "--kafka-properties", "{no}"],
            'No such configuration property: "x"',
        ),
        (["--topic", "events", "--ack-wait", "9"], "--ack-wait means nothing with --topic"),
        ([], "say what to read"),
    ],
)
def test_wrong_use_is_said_in_one_line(
    brokers: KafkaBrokers, tmp_path: Path, options: list[str], says: str
) -> None:
    files = {"bad": tmp_path / "bad", "no": tmp_path / "no"}
    files["bad"].write_text("# a comment\nno equals\n")
    files["no"].write_text("x=1\n")
    words = [word.format(**files) for word in options]
    servers = ["--kafka", brokers.servers] if words else []
    done = hedgerow("ingest", *servers, *words, HEDGEROW_DATA_DIR=str(tmp_path / "data"))
    assert done.returncode == 2
    assert says in done.stderr.splitlines()[-1]
