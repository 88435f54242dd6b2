"""Showings of items: counted once by the learner, shown in statistics, and what is new in lists."""

from typing import Any

import numpy as np
import pytest

from service.learning.learner import Learner
from service.ranking.strategies import EXPLORE
from service.settings import KINDS, Settings
from service.store.log.codec import DELETE_ITEM
from service.store.namespace import open_namespace
from service.store.profiles.showings import read_showings
from tests.api import Api, learning
from tests.feed import Event, Feed
from tests.server import wait_until

CLICK, IMPRESSION = KINDS["click"].code, KINDS["impression"].code


def showings(feed: Feed) -> dict[str, list[int]]:
    rows = read_showings(feed.client, feed.keys)
    return {item: rows[n].tolist() for item, n in feed.numbers.items() if n < len(rows)}


def test_impressions_and_clicks_count_for_their_items(learner_of, feed):
    learner = learner_of()
    shown = [Event("ada", item, kind=IMPRESSION) for item in ("a", "b", "a")]
    feed.append([*shown, Event("ada", "a", kind=CLICK), Event("ada", "c", 5)])
    feed.append([Event("bob", "b", kind=IMPRESSION, event_id="1")] * 2)
    learner.drain()
    assert showings(feed) == {"a": [2, 1], "b": [2, 0]}
    feed.append([Event("", "a", kind=DELETE_ITEM), Event("bob", "b", kind=CLICK)])
    learner.drain()
    assert showings(feed) == {"a": [0, 0], "b": [2, 1]}


def test_showings_do_not_depend_on_batches_and_survive_a_restart(
    learner_of, feed, client, namespace
):
    rng = np.random.default_rng(0)
    kinds = rng.choice([0, CLICK, IMPRESSION], 600)
    events = [
        Event(f"u{n % 7}", f"i{item}", kind=int(kind))
        for n, (item, kind) in enumerate(zip(rng.integers(0, 90, 600), kinds, strict=True))
    ]
    feed.append(events)
    learner_of().drain()
    other = Feed(client, f"{namespace}-b", process="other")
    settings = Settings(namespace=other.namespace)
    for first in range(0, len(events), 70):
        other.append(events[first : first + 70])
        learner = Learner(settings, client, open_namespace(client, settings), 0)
        learner.drain()
        learner.close()
    assert showings(feed) == showings(other)
    assert sum(map(sum, showings(feed).values())) == np.count_nonzero(kinds)


@pytest.fixture
def curious(redis_url, namespace, tmp_path):
    """A shop whose lists show new items in half of the places, with a learner beside it."""
    settings = Settings(
        namespace=namespace,
        data_dir=tmp_path,
        wait_timeout_ms=60_000,
        exploration_share=0.5,
    )
    with learning(settings, redis_url), Api(settings, redis_url) as api:
        api.ready()
        yield api


def told(api: Api, rows: list[dict[str, object]]) -> None:
    """Send feedback and wait until it is learned."""
    for first in range(0, len(rows), 100):
        part = rows[first : first + 100]
        assert api("POST", "/v1/ratings?wait=learned", json=part).status_code == 200


def fresh(api: Api) -> Any:
    """Return the statistics of new items as of now."""
    look_again(api)
    return api("GET", "/v1/stats").json()["new_items"]


def stocked(api: Api) -> None:
    """Give the shop 30 items with events and 20 described ones without."""
    rows = [
        {"user": f"u{n}", "item": f"old{item}", "rating": 5} for item in range(30) for n in range(6)
    ]
    told(api, rows)
    for item in range(30):
        about = {"categories": ["red" if item % 2 else "blue"]}
        assert api("PUT", f"/v1/items/old{item}", json=about).is_success
    for item in range(20):
        about = {"categories": ["red" if item % 2 else "blue"]}
        assert api("PUT", f"/v1/items/new{item}", json=about).is_success
    wait_until(lambda: fresh(api)["items"] == 20)


def look_again(api: Api) -> None:
    for follower in (api.runtime.popularity, api.runtime.online_items, api.runtime.new_items):
        api.run(follower.refresh())


def new_in(answer) -> list[str]:
    assert answer.status_code == 200, answer.text
    return [one["item"] for one in answer.json()["items"] if one["strategy"] == EXPLORE]


def test_new_items_are_shown_and_their_showings_and_clicks_counted(curious):
    stocked(curious)
    seen = curious("GET", "/v1/stats").json()["new_items"]
    assert seen == {"items": 20, "shown": 0, "clicked": 0, "share": 0.5}
    path = "/v1/users/eve/recommendations?k=30"
    found = new_in(curious("GET", path))
    assert 5 < len(found) <= 20
    assert all(item.startswith("new") for item in found)
    assert found == new_in(curious("GET", path))
    for asks in ("model=popular", "max_per_category=20", "filter=category = 'green'"):
        assert not new_in(curious("GET", f"{path}&{asks}"))
    red = new_in(curious("GET", f"{path}&category=red"))
    assert red
    assert all(int(item.removeprefix("new")) % 2 for item in red)
    # what was shown and clicked on counts at once; what was shown enough is new no more
    rows = [{"user": "eve", "item": item, "kind": "impression"} for item in found]
    rows += [{"user": "eve", "item": found[0], "kind": "click"}]
    rows += [{"user": f"v{n}", "item": found[1], "kind": "impression"} for n in range(100)]
    told(curious, rows)
    seen = fresh(curious)
    assert (seen["items"], seen["shown"], seen["clicked"]) == (19, len(found) - 1, 1)
    assert found[1] not in new_in(curious("GET", "/v1/users/ann/recommendations?k=50"))


def test_an_item_with_events_is_new_no_more_and_hidden_ones_never_are(curious):
    stocked(curious)
    told(curious, [{"user": f"u{n}", "item": "new3", "rating": 5} for n in range(5)])
    assert fresh(curious)["items"] == 19
    assert curious("PUT", "/v1/items/new4", json={"categories": ["red"], "hidden": True}).is_success
    assert curious("DELETE", "/v1/items/new6").is_success
    assert curious("PUT", "/v1/items/new7", json={"categories": []}).is_success
    wait_until(lambda: fresh(curious)["items"] == 16)


@pytest.mark.parametrize("share", ["-0.1", "0.6", "much"])
def test_a_share_has_bounds(share, monkeypatch):
    monkeypatch.setenv("HEDGEROW_EXPLORATION_SHARE", share)
    with pytest.raises(ValueError, match="exploration_share"):
        Settings()


def test_without_a_share_nothing_new_is_shown(redis_url, namespace, tmp_path):
    settings = Settings(namespace=namespace, data_dir=tmp_path, exploration_share=0.0)
    with learning(settings, redis_url), Api(settings, redis_url) as api:
        api.ready()
        stocked(api)
        assert api.runtime.new_items.current.new.items.size == 20
        assert not new_in(api("GET", "/v1/users/eve/recommendations?k=30"))
