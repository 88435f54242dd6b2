"""A stream sends events in batches, holds its sender back, and says what became of each event."""

import math
from collections.abc import Iterable, Iterator
from contextlib import closing
from datetime import UTC, datetime
from typing import Any

import pytest

from hedgerow_client import Batch, errors
from tests.clients.python.both import Opened
from tests.clients.python.full import full_service
from tests.proxy import LossyProxy


def views(n: int) -> Iterator[dict[str, Any]]:
    return ({"user": f"u{number % 7}", "item": f"i{number}", "kind": "view"} for number in range(n))


def test_all_events_of_a_stream_are_stored_in_their_order(client: Any) -> None:
    batches: list[Batch] = []
    with client.stream(rows=10, on_batch=batches.append) as stream:
        for event in views(95):
            stream.send(event)
    receipt = stream.receipt
    assert (receipt.acknowledged, receipt.refused_total) == (95, 0)
    assert max(len(batch.acknowledged) for batch in batches) == 10
    told = [event["item"] for batch in batches for event in batch.acknowledged]
    assert told == [f"i{n}" for n in range(95)]
    client.wait_until_learned(receipt.sequence)
    newest_first = [row["item"] for row in client.iterate_history("u3")]
    assert newest_first == [f"i{n}" for n in range(94, -1, -1) if n % 7 == 3]


def test_what_is_refused_is_told_with_its_event(client: Any) -> None:
    with client.stream(rows=3) as stream:
        for rating in (5, 99, 4, 98, 97, 96):
            stream.send({"user": "ada", "item": f"i{rating}", "rating": rating})
    receipt = stream.receipt
    assert (receipt.acknowledged, receipt.refused_total) == (2, 4)
    assert [one.event["item"] for one in receipt.refused] == ["i99", "i98", "i97", "i96"]
    assert {one.code for one in receipt.refused} == {"out_of_scale"}


def test_an_event_without_json_is_refused_where_it_is_given(client: Any) -> None:
    good = {"user": "ada", "item": "a", "kind": "view"}
    with client.stream() as stream:
        for bad in ({"timestamp": datetime.now(UTC)}, {"value": math.nan}, {"item": "\ud800"}):
            with pytest.raises((TypeError, ValueError)):
                stream.send(good | bad)
        stream.send(good)
    assert stream.receipt.acknowledged == 1


def test_a_batch_leaves_once_it_is_old_enough_and_a_flush_waits_for_no_more(client: Any) -> None:
    told: list[Batch] = []
    with client.stream(rows=500, age_s=0.05, on_batch=told.append) as young:
        young.send(next(views(1)))
        # no flush: the age alone sends it
        young.send({"user": "ada", "item": "a", "kind": "view"})
        assert young.flush(30).acknowledged == 2
    with client.stream(rows=500, age_s=3600) as patient:
        patient.send(next(views(1)))
        assert patient.flush(30).acknowledged == 1
        patient.send({"user": "ada", "item": "b", "kind": "view"})
    assert patient.receipt.acknowledged == 2
    with pytest.raises(ValueError, match="closed"):
        patient.send(next(views(1)))


def test_an_old_batch_leaves_by_itself(client: Any) -> None:
    with client.stream(rows=500, age_s=0.05) as stream:
        stream.send({"user": "ada", "item": "alone", "kind": "view"})
        # one waits in a queue of one: the second can be taken only once the first has left
        with client.stream(rows=500, age_s=0.05, waiting=1) as narrow:
            for event in views(3):
                narrow.send(event, timeout_s=30)
        assert narrow.receipt.acknowledged == 3


def give(stream: Any, events: Iterable[dict[str, Any]], timeout_s: float | None = None) -> None:
    for event in events:
        stream.send(event, timeout_s)


def test_a_full_queue_holds_the_sender_back(kind: str, namespace: str, redis_url: str) -> None:
    with full_service(namespace, redis_url) as url, Opened(kind, url) as client:
        stream = client.stream(rows=1, waiting=2, patience_s=3600)
        # one is on its way and two wait
        give(stream, views(3))
        with pytest.raises(errors.NotInTime, match="still full"):
            give(stream, views(1), timeout_s=0.5)
        with pytest.raises(errors.NotInTime, match="not all"):
            stream.flush(0.1)
        assert stream.receipt.acknowledged == 0
        # what is left can be had without waiting for the service
        assert [event["item"] for event in stream.abandon()] == ["i0", "i1", "i2"]
        with pytest.raises(errors.StreamFailed, match="abandoned"):
            stream.send(next(views(1)))


def test_a_stream_that_cannot_go_on_gives_back_what_is_not_acknowledged(
    kind: str, url: str
) -> None:
    # these are stored, but their answer is lost each time
    proxy = LossyProxy(url, None, lambda request: b'"i30"' in request)
    with closing(proxy), Opened(kind, proxy.url) as client:
        stream = client.stream(rows=10, patience_s=1)
        with pytest.raises(errors.StreamFailed, match="not acknowledged") as failed, stream:
            give(stream, views(50))
        left = failed.value.unacknowledged
        assert left[0]["item"] == "i30"
        assert isinstance(failed.value.cause, errors.Unreachable)
    with Opened(kind, url) as client:
        with client.stream() as again:
            give(again, left)
        client.wait_until_learned(again.receipt.sequence)
        [partition] = client.get_stats()["partitions"]
        sent = 30 + len(left)
        assert partition["other_events"] == sent
        assert partition["duplicates"] >= 10
