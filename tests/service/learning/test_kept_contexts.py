"""Where an event happened is kept beside the history, as long as the event itself."""

from collections.abc import Callable
from typing import Any

import pytest

from service.learning.learner import Learner
from service.settings import KINDS, Settings
from service.store.connection import Client
from service.store.log.codec import DELETE_RATING, DELETE_USER
from service.store.partitions import partition_of
from service.store.profiles.contexts import BYTES_KEPT, read_contexts
from tests.api import Api, learning
from tests.feed import Event, Feed

VIEW, IMPRESSION = KINDS["view"].code, KINDS["impression"].code
PHONE, DESKTOP = b"device=phone", b"device=desktop\npage=home"

LearnerOf = Callable[..., Learner]


def view(user: str, item: str, context: bytes = b"", event_id: str | None = None) -> Event:
    return Event(user, item, 0, VIEW, event_id=event_id, context=context)


def kept(feed: Feed, user: str = "ann") -> dict[int, dict[str, str]]:
    packed: bytes | None = feed.client.get(feed.keys.contexts(user))
    return {at: dict(context) for at, context in read_contexts(packed).items()}


def test_the_contexts_of_a_history_are_kept_once(learner_of: LearnerOf, feed: Feed) -> None:
    feed.append(
        [
            view("ann", "a", PHONE, "1"),
            view("ann", "b"),
            Event("ann", "a", 0, IMPRESSION, context=PHONE),
            view("bob", "a", DESKTOP),
        ]
    )
    feed.append([view("ann", "a", PHONE, "1"), Event("ann", "a", 5, context=DESKTOP)])
    learner_of().drain()
    home = {"device": "desktop", "page": "home"}
    assert kept(feed) == {1: {"device": "phone"}, 6: home}
    assert kept(feed, "bob") == {4: home}


@pytest.mark.parametrize("text", [200, 20])
def test_the_bound_and_what_is_kept_do_not_depend_on_where_batches_end(
    learner_of: LearnerOf, feed: Feed, client: Client, text: int
) -> None:
    n = 3 * BYTES_KEPT // text
    events = [
        view("ann", f"i{at % 50}", f"page={at}".ljust(text - 8, "x").encode()) for at in range(n)
    ]
    at_once = Feed(client, f"{feed.namespace}-2")
    at_once.append(events)
    learner_of(at_once.namespace, history_limit=100_000).drain()
    learner = learner_of(history_limit=100_000)
    for start in range(0, n, 777):
        feed.append(events[start : start + 777])
        learner.drain()
    stored = client.get(feed.keys.contexts("ann"))
    assert stored == client.get(at_once.keys.contexts("ann"))
    assert stored is not None
    assert BYTES_KEPT * 7 // 8 - text < len(stored) <= BYTES_KEPT
    assert list(read_contexts(stored)) == list(range(n - len(stored) // text + 1, n + 1))


@pytest.mark.parametrize("batch", [1, 7, 60])
def test_a_compaction_keeps_the_contexts_of_what_it_keeps(
    learner_of: LearnerOf, feed: Feed, batch: int
) -> None:
    learner = learner_of(history_limit=16)
    events = [view("ann", f"i{at % 13}", f"page=p{at}".encode()) for at in range(60)]
    for start in range(0, len(events), batch):
        feed.append(events[start : start + batch])
        learner.drain()
    sequences = [sequence for sequence, _, _ in feed.history("ann")]
    assert len(sequences) <= 16
    assert kept(feed) == {at: {"page": f"p{at - 1}"} for at in sequences}


def test_contexts_go_with_their_events(learner_of: LearnerOf, feed: Feed, client: Client) -> None:
    feed.append([view("ann", "a", PHONE), view("ann", "b", DESKTOP), view("bob", "a", PHONE)])
    learner = learner_of()
    learner.drain()
    feed.append([Event("ann", "a", 0, DELETE_RATING)])
    learner.drain()
    assert list(kept(feed)) == [2]
    feed.append([Event("bob", "a", 0, DELETE_USER)])
    learner.drain()
    assert not client.exists(feed.keys.contexts("bob"))
    feed.append([Event("ann", "b", 0, DELETE_RATING)])
    learner.drain()
    assert not client.exists(feed.keys.contexts("ann"))


def test_a_merge_takes_the_contexts_along_in_order(learner_of: LearnerOf, feed: Feed) -> None:
    feed.append([view("anon", "a", PHONE), view("ann", "b", b"page=own"), view("anon", "c")])
    feed.append([view("anon", "d", DESKTOP)])
    feed.merge("anon", "ann")
    feed.append([view("ann", "e", PHONE)])
    learner_of().drain()
    assert list(kept(feed).items()) == [
        (1, {"device": "phone"}),
        (2, {"page": "own"}),
        (4, {"device": "desktop", "page": "home"}),
        (6, {"device": "phone"}),
    ]
    assert kept(feed, "anon") == {}


def test_a_damaged_end_stops_no_commit(learner_of: LearnerOf, feed: Feed, client: Client) -> None:
    client.set(feed.keys.contexts("ann"), b"\1\2\3")
    feed.append([view("ann", f"i{at}", b"page=" + b"x" * 60) for at in range(2_000)])
    feed.merge("ann", "bob")
    learner_of().drain()
    assert feed.is_learned()


def history(api: Api, user: str, **asked: Any) -> list[tuple[str, dict[str, str]]]:
    answer = api("GET", f"/v1/users/{user}/ratings", params=asked)
    assert answer.status_code == 200, answer.text
    return [(one["item"], one["context"]) for one in answer.json()["items"]]


def test_histories_and_counts_say_where_events_happened_also_after_a_move(
    redis_url: str, namespace: str
) -> None:
    settings = Settings(namespace=namespace, partitions=2, min_sequence_wait_ms=60_000)
    source, target = (
        next(f"u{n}" for n in range(100) if partition_of(f"u{n}", 2) == home) for home in (1, 0)
    )
    placed = {"context": {"device": "phone", "page": "home"}}
    rows = [
        {"user": source, "item": "a", "rating": 5, **placed},
        {"user": source, "item": "b", "kind": "view"},
        {"user": target, "item": "c", "kind": "click", "context": {"device": "phone"}},
    ]
    with learning(settings, redis_url), Api(settings, redis_url) as api:
        answer = api("POST", "/v1/events?wait=learned", json=rows)
        assert answer.status_code == 200, answer.text
        assert history(api, source) == [("b", {}), ("a", placed["context"])]
        assert counted(api) == (phone := {"click": 1, "rating": 1}, {"rating": 1})
        for _ in range(2):
            merged = api("POST", f"/v1/users/{target}/merge", json={"source": source})
            assert merged.status_code == 200, merged.text
        found = dict(history(api, target))
        assert found == {"a": placed["context"], "b": {}, "c": {"device": "phone"}}
        assert history(api, source) == []
        assert counted(api) == (phone, {"rating": 1})
        asked = api("GET", "/v1/stats/contexts", params={"context": "page=home"}).json()
        assert asked["contexts"] == [{"context": "page=home", "events": {"rating": 1}}]
        none = api("GET", "/v1/stats/contexts", params={"context": "page=none"}).json()
        assert none["contexts"] == []
        assert api("GET", "/v1/stats").json()["memory"]["contexts"] > 0


def counted(api: Api) -> tuple[dict[str, int], dict[str, int]]:
    """Return the events on phones and on the home page, the only contexts there are."""
    contexts = api("GET", "/v1/stats/contexts").json()["contexts"]
    assert [one["context"] for one in contexts] == ["device=phone", "page=home"]
    phone, home = [one["events"] for one in contexts]
    return phone, home
