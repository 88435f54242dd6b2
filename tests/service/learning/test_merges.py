import asyncio
from itertools import pairwise

import numpy as np
import pytest

from service.api.feedback.merges import _entry, _move, _Pair, _rows
from service.api.times import rfc3339
from service.errors import Backlogged, NotReady
from service.learning.learner import Learner
from service.learning.rebuild import rebuild
from service.settings import KINDS, Settings
from service.store.log.codec import MOVE_USER, encode
from service.store.log.last_move import LastMove, last_move
from service.store.namespace import open_namespace
from service.store.partitions import partition_of
from service.store.profiles.counters import read_counts
from service.store.progress import partition_progress
from tests.api import Api, learning
from tests.feed import NOW_MS, Event, Feed, some_ratings
from tests.server import wait_until

VIEW = KINDS["view"].code
NO_MERGE = LastMove("no-merge", b"")


def test_a_merge_gives_all_events_once_in_their_order(learner_of, feed, client):
    learner = learner_of()
    feed.append([Event("anon", "a", 5), Event("ann", "b", 2), Event("anon", "c", 0, VIEW)])
    feed.append([Event("ann", "a", 3)])
    feed.merge("anon", "ann")
    feed.append([Event("ann", "d", 4)])
    learner.drain()
    assert feed.history("ann") == [
        (1, "a", 5.0),
        (2, "b", 2.0),
        (3, "c", 0.0),
        (4, "a", 3.0),
        (6, "d", 4.0),
    ]
    assert feed.history("anon") == []
    assert client.zrange(feed.keys.users, 0, -1) == [b"ann"]
    assert b"user:anon" not in feed.online_state()


def test_the_row_with_more_ratings_stays(learner_of, feed):
    learner = learner_of()
    feed.append([Event("anon", item, 5) for item in "abc"] + [Event("ann", "d", 1)])
    learner.drain()
    before = feed.online_state()
    feed.merge("anon", "ann")
    feed.merge("ann", "bob")
    learner.drain()
    assert feed.online_state()[b"user:bob"] == before[b"user:anon"]
    assert feed.client.zrange(feed.keys.users, 0, -1) == [b"bob"]


def test_merging_again_or_merging_nobody_changes_nothing(learner_of, feed, client):
    learner = learner_of()
    feed.append([Event("anon", "a", 5), Event("ann", "b", 2)])
    feed.merge("anon", "ann")
    learner.drain()
    before = feed.online_state(), feed.history("ann")
    feed.merge("anon", "ann")
    feed.merge("nobody", "else")
    learner.drain()
    assert (feed.online_state(), feed.history("ann")) == before
    assert client.zrange(feed.keys.users, 0, -1) == [b"ann"]


def test_a_merged_history_keeps_to_its_bound(learner_of, feed):
    learner = learner_of(history_limit=16)
    feed.append([Event("anon", f"a{n}", 5) for n in range(12)])
    feed.append([Event("ann", f"b{n}", 5) for n in range(12)])
    feed.merge("anon", "ann")
    learner.drain()
    assert len(feed.history("ann")) == 14
    trimmed = np.frombuffer(feed.client.get(feed.keys.trimmed("ann")), "<u4")
    assert trimmed.size == 10


def test_a_replay_with_merges_gives_the_same_bits_wherever_batches_end(
    learner_of, feed, client, namespace
):
    other = Feed(client, f"{namespace}-b", process="other")
    events = some_ratings(600)
    pairs = {200: ("u1", "u2"), 400: ("u3", "u9")}
    for one in (feed, other):
        for at, event in enumerate(events):
            one.number(event.item)
            if at in pairs:
                one.merge(*pairs[at])
            one.append([event])
    learner_of().drain()
    settings = Settings(namespace=other.namespace, commit_max_bytes=1 << 16)
    learner = Learner(settings, client, open_namespace(client, settings), 0)
    while learner.step(block_ms=0):
        learner.settle()
    learner.close()
    assert feed.online_state() == other.online_state()
    assert feed.history("u2") == other.history("u2")


def test_a_rebuild_learns_the_merged_history_as_the_users_own(
    learner_of, feed, redis_url, namespace
):
    feed.append([Event("anon", "a", 5), Event("ann", "b", 2), Event("bob", "a", 4)])
    feed.merge("anon", "ann")
    learner_of().drain()
    (report,) = rebuild(Settings(namespace=namespace), redis_url)
    assert report.learned == 3
    assert b"user:anon" not in feed.online_state()
    assert feed.history("ann") == [(1, "a", 5.0), (2, "b", 2.0)]


@pytest.fixture
def two_partitions(redis_url, namespace):
    settings = Settings(
        namespace=namespace, partitions=2, wait_timeout_ms=60_000, min_sequence_wait_ms=60_000
    )
    with learning(settings, redis_url), Api(settings, redis_url) as api:
        yield api


def user_of(partition: int) -> str:
    return next(f"u{n}" for n in range(100) if partition_of(f"u{n}", 2) == partition)


def items_of(api, user):
    return [row["item"] for row in api("GET", f"/v1/users/{user}/ratings").json()["items"]]


def test_a_merge_over_the_api(learned_api):
    learned_api.rate("anon", "a", 5)
    learned_api.rate("ann", "b", 4)
    learned_api("PUT", "/v1/users/anon", json={"features": {"age": 3}})
    answer = learned_api("POST", "/v1/users/ann/merge", json={"source": "anon"})
    assert answer.status_code == 200, answer.text
    body = answer.json()
    assert (body["user"], body["source"], body["learned"]) == ("ann", "anon", True)
    assert sorted(items_of(learned_api, "ann")) == ["a", "b"]
    assert body["reason"] is None
    assert learned_api("GET", "/v1/users/anon").status_code == 404
    for source in ("anon", "a typing error"):
        again = learned_api("POST", "/v1/users/ann/merge", json={"source": source})
        assert again.status_code == 200
        assert "nothing was known of the source" in again.json()["reason"]


def test_a_merge_across_partitions_moves_everything_once(two_partitions, client, namespace):
    source, target = user_of(1), user_of(0)
    for n in range(5):
        two_partitions.rate(source, f"i{n}", 5)
    two_partitions.rate(target, "own", 4)
    for _ in range(2):
        answer = two_partitions("POST", f"/v1/users/{target}/merge", json={"source": source})
        assert answer.status_code == 200, answer.text
    found = sorted(items_of(two_partitions, target))
    assert found == ["i0", "i1", "i2", "i3", "i4", "own"]
    assert two_partitions("GET", f"/v1/users/{source}").status_code == 404
    rows = [read_counts(client, Feed(client, namespace, p).keys.counts(0)) for p in (0, 1)]
    assert [float(part[:, 0].sum()) for part in rows] == [6.0, 0.0]


DAY_MS = 86_400_000


@pytest.mark.parametrize("own_days", [-100, 0, 100])
def test_the_later_of_two_ratings_counts_in_any_partitions(two_partitions, own_days):
    """The time of the events decides, whatever the order in which they arrived."""
    users = [f"v{n}" for n in range(12)]
    pairs = list(pairwise(users))[::2]
    homes = {tuple(partition_of(user, 2) for user in pair) for pair in pairs}
    assert len(homes) > 2
    for first in (True, False):
        for source, target in pairs:
            told = [(f"{source}-{first}", 1, 0), (f"{target}-{first}", 5, own_days)]
            for user, rating, days in told if first else reversed(told):
                when = rfc3339(NOW_MS + days * DAY_MS)
                two_partitions.rate(user, "181", rating, timestamp=when)
            two_partitions.rate(f"{source}-{first}", "182", 4)
            body = {"source": f"{source}-{first}"}
            answer = two_partitions("POST", f"/v1/users/{target}-{first}/merge", json=body)
            assert (answer.status_code, answer.json()["reason"]) == (200, None), answer.text
            assert latest(two_partitions, f"{target}-{first}", "181") == (5 if own_days >= 0 else 1)
            assert latest(two_partitions, f"{target}-{first}", "182") == 4


def latest(api, user, item):
    rows = api("GET", f"/v1/users/{user}/ratings").json()["items"]
    # the newest first
    return next(row["rating"] for row in rows if row["item"] == item)


def test_a_rating_that_would_overrule_a_later_one_is_not_counted(learner_of, feed, client):
    learner = learner_of()
    feed.append([Event("anon", "a", 5, time_ms=NOW_MS), Event("ann", "a", 4, time_ms=NOW_MS - 1)])
    feed.append([Event("ann", "b", 4)])
    feed.merge("anon", "ann")
    learner.drain()
    assert feed.history("ann") == [(1, "a", 5.0), (3, "b", 4.0)]
    assert read_counts(client, feed.keys.counts(0))[:2, 0].tolist() == [1.0, 1.0]


def test_a_merge_that_comes_at_once_knows_what_is_on_its_way(learned_api):
    for n in range(8):
        rows = [{"user": f"visitor{n}", "item": f"i{at}", "rating": 5} for at in range(50)]
        assert learned_api("POST", "/v1/ratings", json=rows).status_code == 202
        body = {"source": f"visitor{n}"}
        answer = learned_api("POST", f"/v1/users/known{n}/merge", json=body).json()
        assert (answer["learned"], answer["reason"]) == (True, None)


def test_a_merge_of_a_known_user_is_safe_before_anything_else_is_learned(redis_url, namespace):
    settings = Settings(namespace=namespace, wait_timeout_ms=120_000, min_sequence_wait_ms=60_000)
    with Api(settings, redis_url) as api:
        with learning(settings, redis_url):
            token = api.rate("anon", "a", 5)
            api("GET", f"/v1/users/anon/predictions/a?min_sequence={token}")
        api.rate("ann", "b", 4)

        async def merging():
            request = api.client.post("/v1/users/ann/merge", json={"source": "anon"})
            return asyncio.create_task(request)

        async def appended():
            return (await partition_progress(api.runtime.redis, namespace, 0)).appended

        async def ended(request):
            return (await request).json()

        request = api.run(merging())
        wait_until(lambda: api.run(appended()) == 3)
        with learning(settings, redis_url):
            body = api.run(ended(request))
        assert (body["learned"], body["reason"]) == (True, None)
        assert sorted(items_of(api, "ann")) == ["a", "b"]


def test_a_merge_across_partitions_needs_both_learners(redis_url, namespace):
    settings = Settings(namespace=namespace, partitions=2, wait_timeout_ms=1)
    with Api(settings, redis_url) as api:
        api.rate(user_of(0), "a", 5)
        body = {"source": user_of(1)}
        answer = api("POST", f"/v1/users/{user_of(0)}/merge", json=body)
        assert (answer.status_code, answer.json()["code"]) == (503, "not_ready")
        assert "learned yet: send the merge again" in answer.json()["detail"]


def test_a_merge_that_broke_off_between_two_partitions_is_sent_again(two_partitions):
    source, target = user_of(1), user_of(0)
    two_partitions.rate(source, "a", 5)
    two_partitions.rate(source, "b", 4)
    sequence = two_partitions.rate(source, "c", 3)
    two_partitions("GET", f"/v1/users/{source}/predictions/a?min_sequence={sequence}")
    runtime = two_partitions.runtime

    async def copy_alone():
        history = await runtime.profiles.history(source)
        await runtime.append_queue.submit(0, _rows(history, {}, source, target))

    two_partitions.run(copy_alone())
    answer = two_partitions("POST", f"/v1/users/{target}/merge", json={"source": source})
    assert answer.status_code == 200, answer.text
    assert sorted(items_of(two_partitions, target)) == ["a", "b", "c"]
    assert items_of(two_partitions, source) == []


def test_a_merge_for_which_one_log_has_no_room_is_in_neither(redis_url, namespace, client):
    settings = Settings(namespace=namespace, partitions=2, log_max_bytes=1 << 16)
    source, target = user_of(1), user_of(0)
    with Api(settings, redis_url) as api:
        with learning(settings, redis_url):
            token = api.rate(source, "a", 5)
            api("GET", f"/v1/users/{source}/predictions/a?min_sequence={token}")
        rows = [{"user": source, "item": "b", "rating": 3}] * 4_000
        wait_until(lambda: api("POST", "/v1/events", json=rows).status_code == 503)
        with pytest.raises(Backlogged):
            api.run(_move(api.runtime, _Pair.of(source, target, 2), NO_MERGE))
        progress = api.run(partition_progress(api.runtime.redis, namespace, 0))
        assert progress.appended == 0


def test_a_merge_that_another_one_overtook_after_it_began_is_sent_again(two_partitions):
    """It would remove events from the source that it has not read."""
    users = [f"w{n}" for n in range(40)]
    target = next(user for user in users if partition_of(user, 2) == 0)
    source, near = [user for user in users if partition_of(user, 2) == 1][:2]
    runtime = two_partitions.runtime
    two_partitions.rate(near, "b", 4)
    two_partitions.rate(source, "a", 5)
    before = two_partitions.run(last_move(runtime.redis, runtime.namespace.name, 1, source))
    body = {"source": near}
    assert two_partitions("POST", f"/v1/users/{source}/merge", json=body).json()["learned"]
    with pytest.raises(NotReady):
        two_partitions.run(_move(runtime, _Pair.of(source, target, 2), before))
    assert items_of(two_partitions, target) == []
    body = {"source": source}
    assert two_partitions("POST", f"/v1/users/{target}/merge", json=body).json()["learned"]
    assert sorted(items_of(two_partitions, target)) == ["a", "b"]


def test_events_after_the_copy_stay_with_the_source(client, namespace, learner_of):
    feed = Feed(client, namespace)
    feed.append([Event("anon", "a", 5), Event("anon", "b", 4)])
    feed.append([Event("anon", "c", 3)])
    feed.append_packed(encode(_entry(("anon",), 0, MOVE_USER, 2, NOW_MS)), 1)
    learner_of().drain()
    assert feed.history("anon") == [(3, "c", 3.0)]


def test_a_user_is_not_merged_into_itself(api):
    answer = api("POST", "/v1/users/ann/merge", json={"source": "ann"})
    assert (answer.status_code, answer.json()["code"]) == (409, "conflict")
    assert api("POST", "/v1/users/ann/merge", json={}).status_code == 422
    assert api("POST", "/v1/users/ann/merge", json={"source": "x", "y": 1}).status_code == 422
