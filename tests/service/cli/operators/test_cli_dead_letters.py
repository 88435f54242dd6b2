"""`hedgerow dead-letters`: an operator decides about feedback that could not be learned."""

import json
from typing import Any
from zlib import crc32

import pytest
from click.testing import Result
from typer.testing import CliRunner

from service.cli.operators.dead_letters import app
from service.cli.operators.doctor import examine
from service.errors import Conflict, NotFound
from service.settings import Settings
from service.store.keys import NamespaceKeys
from service.store.log.codec import encode
from tests.feed import Event


@pytest.fixture
def operator(redis_url: str, namespace: str):
    environment = {"HEDGEROW_REDIS_URL": redis_url, "HEDGEROW_NAMESPACE": namespace}

    def type_in(*arguments: str, given: str | None = None) -> Result:
        environment["COLUMNS"] = "120"
        return CliRunner().invoke(app, arguments, env=environment, input=given)

    return type_in


def listed(operator) -> Any:
    return json.loads(operator("list", "--json").stdout)


def of_a_lost_item(feed) -> bytes:
    """Return the entry of a rating of an item whose number the store has lost."""
    packed = encode(feed.entry([Event("ann", "lost", 5)]))
    feed.client.rpop(NamespaceKeys(feed.namespace).item_ids)
    return packed


def test_what_was_set_aside_is_listed_with_its_reason(operator, learner_of, feed):
    learner_of().drain()
    assert listed(operator) == []
    assert "none" in operator("list").stdout
    feed.append_packed(b"nonsense", 3)
    learner_of().drain()
    [letter] = listed(operator)
    assert (letter["letter"], letter["events"], letter["bytes"]) == ("0:3", 3, 8)
    assert letter["reason"] in operator("list").stdout
    shown = json.loads(operator("show", "0:3", "--json").stdout)
    assert bytes.fromhex(shown["hex"]) == b"nonsense"


def test_a_letter_is_learned_once_its_cause_is_mended(operator, learner_of, feed):
    learner_of().drain()
    feed.append_packed(of_a_lost_item(feed), 1)
    learner_of().drain()
    refused = operator("replay", "0:1").exception
    assert isinstance(refused, Conflict)
    assert "hedgerow dead-letters discard 0:1" in refused.detail
    feed.client.rpush(NamespaceKeys(feed.namespace).item_ids, "lost")
    assert "1 events" in operator("replay", "0:1").stderr
    learner_of().drain()
    assert feed.history("ann") == [(2, "lost", 5.0)]
    assert listed(operator) == []


def test_a_damaged_letter_is_not_learned_though_it_can_be_read(operator, learner_of, feed, client):
    learner_of().drain()
    packed = encode(feed.with_items(2).entry([Event("ann", "i0", 5)]))
    feed.append_packed(packed, 1)
    client.delete(feed.keys.log)
    # another item than the one that was rated
    damaged = encode(feed.entry([Event("ann", "i1", 5)]))
    client.xadd(feed.keys.log, {"d": damaged, "c": crc32(packed)}, id="1-0")
    learner_of().drain()
    refused = operator("replay", "0:1").exception
    assert isinstance(refused, Conflict)
    assert "damaged in the store" in refused.detail
    assert len(listed(operator)) == 1


def test_a_letter_is_thrown_away_only_after_a_yes(operator, learner_of, feed):
    learner_of().drain()
    feed.append_packed(b"nonsense", 3)
    learner_of().drain()
    assert operator("discard", "0:3", given="n\n").exit_code == 1
    assert len(listed(operator)) == 1
    assert operator("discard", "0:3", given="y\n").exit_code == 0
    assert listed(operator) == []


@pytest.mark.parametrize("name", ["0:9", "9:3", "nonsense", "0:-1", ":"])
def test_a_letter_that_is_not_there_is_told(operator, learner_of, name):
    learner_of()
    told = operator("show", name).exception
    assert isinstance(told, NotFound)
    assert "hedgerow dead-letters list" in told.detail


def test_doctor_names_the_verb(operator, learner_of, feed, redis_url, namespace):
    learner_of().drain()
    feed.append_packed(b"nonsense", 3)
    learner_of().drain()
    wrong = {
        one.topic: one.wrong for one in examine(Settings(namespace=namespace, redis_url=redis_url))
    }
    assert "hedgerow dead-letters list" in str(wrong["partition 0"])
