"""A store that loses what it acknowledged: nothing is ever stored under another item."""

import pytest

from service.store.connection import connect
from tests.flows.faulty_store import Store, all_learned, misplaced, stored, world
from tests.server import wait_until

pytestmark = pytest.mark.flow


def older_copy(store: Store, more) -> None:
    store.keep_a_copy()
    more()
    store.go_back_to_the_copy()


def lost_tail(store: Store, more) -> None:
    more()
    store.lose_the_tail()


def lagging_replica(store: Store, more) -> None:
    """The replica is promoted before the last events reach it."""
    store.promote_a_replica(more)


@pytest.mark.parametrize("fault", [older_copy, lost_tail, lagging_replica])
def test_a_store_that_went_back_is_noticed_and_never_corrupted(room, namespace, fault):
    with (
        Store(room) as store,
        world(room, store.url, namespace) as here,
        connect(store.url, role="test") as client,
    ):
        here.goes_on(100)
        fault(store, lambda: here.goes_on(100))
        before = len(here.posting.acknowledged)
        here.goes_on(100)
        after = here.posting.acknowledged[before + 1 :]
        here.posting.end()
        wait_until(lambda: all_learned(client, namespace))

        assert misplaced(client, namespace) == []
        found = {int(user[1:]) for user, _ in stored(client, namespace)}
        assert set(after) <= found
        assert not set(here.posting.acknowledged) <= found, "the fault has lost nothing"
        status, stats = here.get("/v1/stats")
        assert status == 200
        [lost] = stats["rollbacks"]
        assert lost["era"] == 1
        assert lost["known"]["sequences"] > lost["found"]["sequences"]
        assert here.get("/readyz")[0] == 200
