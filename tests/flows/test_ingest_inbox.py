"""Entries of the inbox in Redis count once, through kills of the process that brings them."""

import re
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
import redis

from service.settings import Settings
from service.store.connection import connect
from service.store.inbox import GROUP
from service.store.keys import PartitionKeys
from tests.api import learning, served
from tests.flows.broker_messages import BAD, message
from tests.flows.recorded import recorded
from tests.flows.roles import Role
from tests.server import wait_until
from tests.service.running import hedgerow

pytestmark = pytest.mark.flow

PAGE = Path(__file__).parents[2] / "docs/how-to/bring-events-from-redis.md"


class Bringing:
    """A service, its inbox, and a process that empties it."""

    def __init__(self, stack: ExitStack, room: Path, redis_url: str, namespace: str) -> None:
        self.keys = PartitionKeys(namespace, 0)
        self.client: Any = stack.enter_context(connect(redis_url, role="test"))
        settings = Settings(
            namespace=namespace,
            redis_url=redis_url,
            data_dir=room / "data",
            history_limit=100_000,
        )
        stack.enter_context(learning(settings, redis_url))
        host, port = stack.enter_context(served(settings, redis_url))
        options = ["--inbox", "--url", f"http://{host}:{port}", "--ack-wait", "1", "--batch", "50"]
        self.role = stack.enter_context(Role(room, "ingest", settings, "ingest", *options))

    def leave(self, bodies: list[bytes]) -> None:
        pipeline = self.client.pipeline(transaction=False)
        for body in bodies:
            pipeline.xadd(self.keys.inbox, {"event": body})
        pipeline.execute()

    def left(self) -> int:
        return int(self.client.xlen(self.keys.inbox))

    def refused(self) -> list[dict[bytes, bytes]]:
        return [fields for _, fields in self.client.xrange(self.keys.inbox_refused)]


@pytest.fixture
def bringing(room: Path, redis_url: str, namespace: str) -> Iterator[Bringing]:
    with ExitStack() as stack:
        yield Bringing(stack, room, redis_url, namespace)


@pytest.mark.parametrize(
    ("n", "kills"), [(2_000, 1), pytest.param(100_000, 10, marks=pytest.mark.slow)]
)
def test_each_entry_counts_once_through_kills(
    bringing: Bringing, namespace: str, n: int, kills: int
) -> None:
    told = [message(i) for i in range(n)]
    bringing.leave([body for _, body in told] + list(BAD))
    bringing.client.xadd(bringing.keys.inbox, {"other": "field"})
    for kill in range(kills):
        most = n * (kills - kill) // (kills + 1)
        wait_until(lambda most=most: bringing.left() <= most, 600)
        bringing.role.kill()
        bringing.role.start()
    wait_until(lambda: bringing.left() == 0, 600)
    bringing.role.stop()
    # the one that was killed is still named; it holds nothing
    consumers = bringing.client.xinfo_consumers(bringing.keys.inbox, GROUP)
    assert sum(one["pending"] for one in consumers) == 0
    refused = bringing.refused()
    codes = Counter((one[b"event"], one[b"code"].decode()) for one in refused)
    assert codes == Counter({**BAD, b"": "malformed_json"}.items())
    assert all(one[b"reason"] for one in refused)
    wait_until(lambda: recorded(bringing.client, namespace).total() >= n, 600)
    assert recorded(bringing.client, namespace) == Counter(pair for pair, _ in told)


def test_an_inbox_that_is_removed_is_made_again(bringing: Bringing, namespace: str) -> None:
    bringing.leave([message(0)[1]])
    wait_until(lambda: recorded(bringing.client, namespace).total() == 1)
    bringing.client.delete(bringing.keys.inbox)
    bringing.leave([message(1)[1]])
    wait_until(lambda: recorded(bringing.client, namespace).total() == 2)
    assert bringing.role.alive


def test_a_program_may_add_to_the_inbox_and_nothing_else(redis_url: str, namespace: str) -> None:
    [line] = re.findall(r"^ACL SETUSER shop (.+)$", PAGE.read_text(), re.MULTILINE)
    words = [word.replace("main", namespace) for word in line.split()]
    key = PartitionKeys(namespace, 0).inbox
    with ExitStack() as stack:
        admin: Any = stack.enter_context(connect(redis_url, role="test"))
        admin.execute_command("ACL", "SETUSER", f"shop-{namespace}", *words)
        stack.callback(admin.execute_command, "ACL", "DELUSER", f"shop-{namespace}")
        who = {"username": f"shop-{namespace}", "password": "secret"}
        shop: Any = stack.enter_context(redis.Redis.from_url(redis_url, **who))
        assert shop.xadd(key, {"event": "{}"})
        for forbidden in (
            lambda: shop.xrange(key),
            lambda: shop.xadd(PartitionKeys(namespace, 0).log, {"d": "x"}),
            lambda: shop.delete(key),
        ):
            with pytest.raises(redis.exceptions.NoPermissionError):
                forbidden()


def test_an_inbox_needs_a_store_and_a_namespace(tmp_path: Path, redis_url: str) -> None:
    room = {"HEDGEROW_DATA_DIR": str(tmp_path)}
    done = hedgerow("ingest", "--inbox", **room)
    assert (done.returncode, "there is no store" in done.stderr) == (2, True)
    nowhere = room | {"HEDGEROW_REDIS_URL": redis_url, "HEDGEROW_NAMESPACE": "no-such"}
    done = hedgerow("ingest", "--inbox", **nowhere)
    assert done.returncode == 2
    assert "the store has no namespace 'no-such'" in done.stderr.splitlines()[-1]
