"""The stored state of a partition, and states that a learner refuses."""

import pytest

from service.errors import Misconfigured
from service.store.keys import PartitionKeys
from service.store.log.state import PartitionState, check_rows, read_deleted_items, read_state


def test_absent_state_is_zero(client, namespace):
    keys = PartitionKeys(namespace, 0)
    assert read_state(client, keys) == PartitionState()
    client.hset(keys.state, mapping={"epoch": 3, "fingerprint": "00ff", "of_a_later_version": 1})
    assert read_state(client, keys) == PartitionState(epoch=3, fingerprint="00ff")


def test_a_new_partition_fits_any_experts():
    check_rows(PartitionState(), b"ab", has_users=False)


def test_rows_fit_the_experts_that_made_them_alone():
    state = PartitionState(epoch=1, fingerprint=b"ab".hex())
    check_rows(state, b"ab", has_users=True)
    with pytest.raises(Misconfigured, match="HEDGEROW_EXPERTS"):
        check_rows(state, b"cd", has_users=True)


def test_deleted_items_come_with_their_sequences(client, namespace):
    keys = PartitionKeys(namespace, 0)
    assert read_deleted_items(client, keys) == {}
    client.hset(keys.deleted_items, mapping={"7": 70, "8": 81})
    assert read_deleted_items(client, keys) == {7: 70, 8: 81}
