"""Click-through of models, from slate ids in feedback: counted once, by the learner, bounded."""

import json
from contextlib import closing

import numpy as np
import pytest

from service.learning.learner import Learner, LearnerLimits
from service.rec_ids import encode, source_of
from service.settings import KINDS, Settings
from service.store.connection import Client, connect
from service.store.keys import PartitionKeys
from service.store.log.codec import HAS_DIGEST, HAS_PRODUCER, HAS_SOURCE, decode
from service.store.namespace import open_namespace
from tests.api import NDJSON, Api, learning
from tests.feed import Event, Feed

NEW, OLD = 64 * "a", 64 * "b"
CLICK, IMPRESSION = KINDS["click"].code, KINDS["impression"].code


def rec_id(version: str = NEW, user: str | None = "ada") -> str:
    return encode("fbgd", version, 1_763_000_000_000, user)


def said(rec: str, kind: str = "click", **more: str) -> dict[str, str]:
    return {"user": "ada", "item": "x", "kind": kind, "rec_id": rec, **more}


def click_through(api: Api) -> dict[tuple[str, str | None], dict[str, object]]:
    answer = api("GET", "/v1/stats/click-through")
    assert answer.status_code == 200, answer.text
    return {(one.pop("strategy"), one.pop("model_version")): one for one in answer.json()["slates"]}


def test_impressions_and_clicks_are_counted_for_the_model_that_made_the_slate(
    redis_url: str, namespace: str
) -> None:
    settings = Settings(namespace=namespace, partitions=2, wait_timeout_ms=60_000)
    with learning(settings, redis_url), Api(settings, redis_url) as api:
        assert click_through(api) == {}
        rows = [said(rec_id(), "impression") for _ in range(4)]
        rows += [said(rec_id()), said(rec_id(), event_id="1"), said(rec_id(), event_id="1")]
        rows += [{"user": "ada", "item": "x", "rating": 4, "rec_id": rec_id(OLD)}]
        # another user's id, and none of ours: feedback like any other
        rows += [said(rec_id(user="bob")), said("r"), {"user": "ada", "item": "x", "kind": "click"}]
        rows += [{**said(rec_id(user="bob"), "impression"), "user": "bob"}]
        anonymous = encode("popular", "popular", 0, None)
        rows += [said(anonymous), {**said(anonymous), "user": "bob"}]
        assert api("POST", "/v1/ratings?wait=learned", json=rows).status_code == 200
        assert click_through(api) == {
            ("fbgd", "a" * 12): {
                "impressions": 5,
                "clicks": 2,
                "click_through": 0.4,
                "events": {"click": 2, "impression": 5},
            },
            ("fbgd", "b" * 12): {
                "impressions": 0,
                "clicks": 0,
                "click_through": None,
                "events": {"rating": 1},
            },
            ("popular", None): {
                "impressions": 0,
                "clicks": 2,
                "click_through": None,
                "events": {"click": 2},
            },
        }


def test_feedback_to_a_slate_counts_as_impressions_and_a_click(learned_api: Api) -> None:
    learned_api.ready()
    for item in ("x", "y"):
        sequence = learned_api.rate("bob", item, 5)
    path = f"/v1/users/ada%20L/recommendations?min_sequence={sequence}"
    slate = learned_api("GET", path).json()
    items = [one["item"] for one in slate["items"]]
    back = {"user": "ada L", "rec_id": slate["rec_id"]}
    rows = [{**back, "item": item, "kind": "impression"} for item in items]
    rows += [{**back, "item": items[0], "kind": "click"}]
    learned_api("POST", "/v1/ratings?wait=learned", json=rows)
    [(strategy, _)], [counted] = zip(*click_through(learned_api).items(), strict=True)
    assert strategy == slate["strategy"]
    assert (counted["impressions"], counted["click_through"]) == (len(items), 1 / len(items))


@pytest.mark.parametrize("stream", [False, True])
def test_the_log_keeps_what_made_the_slate(api: Api, stream: bool) -> None:
    rows = [said("r"), said(rec_id(), event_id="1"), {"user": "b", "item": "y", "rating": 3}]
    lines = "\n".join(json.dumps(row) for row in rows)
    if stream:
        answer = api("POST", "/v1/ratings/stream", content=lines, headers=NDJSON)
    else:
        answer = api("POST", "/v1/ratings", json=rows)
    assert answer.json()["accepted"] == 3
    key = PartitionKeys(api.settings.namespace, 0).log
    [(_, fields)] = api.run(api.runtime.redis.xrange(key))
    entry = decode(fields[b"d"])
    assert entry.flags.tolist() == [0, HAS_DIGEST | HAS_PRODUCER | HAS_SOURCE, 0]
    assert entry.sources == source_of(rec_id(), "ada")


def learn(client: Client, namespace: str) -> None:
    """Learn all that waits, as a learner that has just started and remembers four sources."""
    settings = Settings(namespace=namespace)
    opened = open_namespace(client, settings)
    with closing(Learner(settings, client, opened, 0, LearnerLimits(max_sources=4))) as learner:
        learner.drain()


def test_only_so_many_sources_are_remembered_wherever_batches_end(
    redis_url: str, namespace: str
) -> None:
    rng = np.random.default_rng(0)
    ids = [encode("ocmf", f"{n:064x}"[::-1], 0, None) for n in range(9)]
    kinds = rng.choice([CLICK, IMPRESSION], 200).tolist()
    events = [
        Event("ann", "a", 0, kind, rec_id=ids[n])
        for kind, n in zip(kinds, rng.integers(9, size=200), strict=True)
    ]
    with connect(redis_url, role="test") as client:
        feed, at_once = Feed(client, namespace), Feed(client, f"{namespace}-2")
        for start in range(0, 200, 23):
            feed.append(events[start : start + 23])
            learn(client, namespace)
        at_once.append(events)
        learn(client, at_once.namespace)
        stored = client.hgetall(feed.keys.responses)
        assert stored == client.hgetall(at_once.keys.responses)
    newest = dict.fromkeys(event.source.hex().encode() for event in reversed(events))
    assert stored.keys() == set(list(newest)[:4])
    assert json.loads(stored[next(iter(newest))])["last"] == 200
