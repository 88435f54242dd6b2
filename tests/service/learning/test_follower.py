import time
from dataclasses import replace

import numpy as np
import pytest

from core.batch.here.model import Here
from core.batch.ocmf.users import StructuredUsers
from core.online.model import OnlineModel
from core.online.tables import RatingRows, Side
from core.rng import id_hashes
from service import configs
from service.learning.following.catalogue import FollowedCatalogue
from service.learning.following.follower import Follower
from service.learning.following.inbox import Sighting
from service.learning.learner import Learner
from service.ranking.families import FAMILIES
from service.ranking.trained.fold_in import FoldIn
from service.ranking.trained.here import ByContext
from service.settings import Settings
from service.store.catalogue.documents import Catalogue
from service.store.catalogue.reader import CatalogueReader
from service.store.models.mixture import read_mixture
from service.store.namespace import open_namespace
from tests.feed import Event, some_ratings
from tests.judging import EVERYTHING, judge_of, judged, stored
from tests.models import objective
from tests.server import wait_until
from tests.stories import run

N_ITEMS = 30
LIKE = Settings().kinds["like"].code


@pytest.fixture
def feed(feed):
    return feed.with_items(N_ITEMS)


@pytest.fixture
def learner(eager_learner):
    eager_learner.follower_inbox.is_followed = True
    return eager_learner


class Replica:
    """Learns the same events beside the service and ranks for each of them before it learns it."""

    def __init__(self, model: OnlineModel, users: list[str]) -> None:
        self.model, self.slots = model, {user: slot for slot, user in enumerate(users)}
        self.users, self.items = model.user_table(len(users)), model.item_table(N_ITEMS)
        self.users.rows[:] = model.start(Side.USER, id_hashes(users))
        self.items.rows[:] = model.start(Side.ITEM, id_hashes(f"i{n}" for n in range(N_ITEMS)))
        self.popular = np.zeros(N_ITEMS)
        self.seen: dict[str, set[int]] = {user: set() for user in users}
        self.liked: set[str] = set()

    def ranks(self, event: Event, item: int) -> dict[str, int] | None:
        if event.value < 4 or item in self.seen[event.user] or event.user not in self.liked:
            return None
        row = self.users.rows[self.slots[event.user]]
        rated = self.items.rows[:, 2] > 0
        online = self.model.scores(row, self.model.parameters(self.items.rows))
        return {
            "online": self._rank(np.where(rated, online.astype(np.float32), -np.inf), event, item),
            "popular": self._rank(np.where(self.popular > 0, self.popular, -np.inf), event, item),
        }

    def _rank(self, scores, event: Event, item: int) -> int:
        if scores[item] == -np.inf:
            return 0
        order = [
            n for n in np.lexsort((np.arange(N_ITEMS), -scores)) if n not in self.seen[event.user]
        ]
        return order.index(item) + 1

    def learn(self, event: Event, item: int, sequence: int) -> None:
        one = np.array([self.slots[event.user]])
        rating, number = np.array([event.value]), np.array([sequence])
        ratings = RatingRows(one, np.array([item]), rating, number)
        self.model.learn(self.users, self.items, ratings)
        self.popular[item] += event.value >= 4
        self.seen[event.user].add(item)
        if event.value >= 4 or event.value <= 2:
            self.liked.add(event.user)


def expected(feed, client, settings, events) -> dict[int, dict[str, int]]:
    model = OnlineModel(configs.online_config(settings, open_namespace(client, settings)))
    replica = Replica(model, list(dict.fromkeys(event.user for event in events)))
    found = {}
    for sequence, event in enumerate(events, 1):
        item = feed.number(event.item)
        ranks = replica.ranks(event, item)
        if ranks is not None:
            found[sequence] = ranks
        replica.learn(event, item, sequence)
    return found


def differing(found, wanted) -> list[int]:
    assert found.keys() == wanted.keys()
    return [
        sequence
        for sequence, ranks in wanted.items()
        if any(found[sequence].ranks[name] != rank for name, rank in ranks.items())
    ]


def test_a_positive_is_ranked_with_the_state_before_it(learner, feed, client, eager):
    events = some_ratings(300, items=N_ITEMS)
    found = judged(learner, feed, eager, events)
    wanted = expected(feed, client, eager, events)
    assert len(wanted) > 50
    assert differing(found, wanted) == []


def test_items_are_ranked_among_those_that_may_be_shown(learner, feed, client, eager, redis_url):
    documents = {0: {"hidden": True}, 1: {"available_until": "2001-01-01T00:00:00Z"}}
    run(redis_url, lambda one: Catalogue(one, feed.namespace).replace_items(documents))
    followed = FollowedCatalogue(CatalogueReader(client, feed.namespace))
    followed.refresh([])
    # i0 and i1 are the most popular items, but no slate shows them
    events = [Event(f"fan{n}", f"i{item}", 5) for n in range(3) for item in (0, 1)]
    events += [Event("fan0", "i2", 5), Event("ann", "i9", 5), Event("ann", "i2", 5)]
    events += [Event("ann", "i1", 5)]
    found = judged(learner, feed, eager, events, items=followed.items)
    assert found.keys() == {7, 9}
    assert found[9].ranks["popular"] == 1
    among_all = judged(learner, feed, eager, [Event("bob", "i9", 5), Event("bob", "i2", 5)])
    assert [verdict.ranks["popular"] for verdict in among_all.values()] == [3]


def test_an_event_is_judged_where_it_happened(learner, feed, client, eager):
    lift, share = np.zeros((1, N_ITEMS), np.float32), np.full(N_ITEMS, 1 / N_ITEMS, np.float32)
    lift[0, 7] = 2.0
    here = ByContext(FAMILIES["here"], "v", Here([("device", "tv")], lift, share), {0: 0})
    events = [Event("ann", "i3", 5)]
    contexts = [b"", b"device=tv\npage=home", b"device=phone"]
    for n, context in enumerate(contexts):
        events += [Event(f"u{n}", "i3", 5), Event(f"u{n}", "i7", 5, context=context)]
    found = judged(learner, feed, eager, events, trained=[here])
    ranks = [verdict.ranks.get("here") for verdict in found.values()]
    assert ranks == [None, 1, None]
    for verdict, most in zip(found.values(), (0.0, 2.0, 0.0), strict=True):
        column = verdict.signals.index("here: log lift")
        assert verdict.candidate.signals[:, column].max(initial=0.0) == most


def test_a_planted_leak_is_caught(learner, feed, client, eager):
    events = some_ratings(300, items=N_ITEMS)

    def leaking(sighting: Sighting) -> Sighting:
        """Return the sighting with the user's row as it is after the event."""
        row = client.get(feed.keys.user_row(0, sighting.user))
        return replace(sighting, user_row=np.frombuffer(row, np.float32))

    found = judged(learner, feed, eager, events, seen_as=leaking)
    assert differing(found, expected(feed, client, eager, events)) != []


def test_the_online_model_sleeps_for_users_who_have_rated_nothing(learner, feed, client, eager):
    events = [Event("fan", "i1", 5), Event("fan", "i2", 4)]
    events += [Event("ann", f"i{n}", 0, LIKE) for n in (1, 2)]
    events += [Event("ann", "i3", 5), Event("ann", "i4", 5)]
    found = judged(learner, feed, eager, events)
    assert {sequence: "online" in one.ranks for sequence, one in found.items()} == {
        2: True,
        4: False,
        5: False,
        6: True,
    }


def test_a_view_from_after_the_event_is_refused(learner, feed, client, eager):
    judge = judge_of(client, eager)
    learner.follower_inbox.refresh(0)
    feed.append([Event("ann", "i1", 5), Event("ann", "i2", 5)])
    learner.drain()
    sighting = learner.follower_inbox.take_sighting()
    late = type(sighting)(**{**vars(sighting), "view": learner.follower_inbox.take_view()})
    with pytest.raises(ValueError, match="after its event"):
        judge.judge(late, stored(client, feed, "ann"), [], items=EVERYTHING)


def test_a_model_that_was_trained_on_the_event_judges_nothing(learner, feed, client, eager):
    judge = judge_of(client, eager)
    learner.follower_inbox.refresh(0)
    feed.append([Event("ann", "i1", 5)])
    learner.drain()
    feed.append([Event("ann", "i2", 5)])
    learner.drain()
    sightings = iter(learner.follower_inbox.take_sighting, None)
    sighting = next(sighting for sighting in sightings if sighting.sequence == 2)
    users, fbgd = StructuredUsers(objective()), FAMILIES["fbgd"]
    # a family that is not judged cannot gain by what it has seen
    unjudged = replace(fbgd, judged=False)
    for family, through, is_judged in ((fbgd, 1, True), (fbgd, 2, False), (unjudged, 2, True)):
        trained = FoldIn(family, "v", users, {0: through})
        verdict = judge.judge(sighting, stored(client, feed, "ann"), [trained], items=EVERYTHING)
        assert (verdict is not None) == is_judged


def test_an_event_long_before_the_newest_is_no_test(learner, feed, client, eager):
    day = 86_400_000
    now_ms = int(time.time() * 1000)
    late = [
        Event("ann", "i1", 5, time_ms=now_ms - 9 * day),
        # an event a year ahead counts as of its arrival
        Event("bob", "i1", 5, time_ms=now_ms + 365 * day),
        Event("ann", "i2", 5, time_ms=now_ms - 3 * day),
        Event("ann", "i3", 5, time_ms=now_ms - 5 * day),
        Event("ann", "i4", 5, time_ms=now_ms - 3 * day - day // 2),
    ]
    arrived_ms = now_ms - 3 * day
    assert judged(learner, feed, eager, late, appended_ms=arrived_ms).keys() == {3, 5}


def test_events_that_arrive_too_fast_are_skipped_and_counted(client, namespace, feed, tmp_path):
    settings = Settings(namespace=namespace, data_dir=tmp_path, judged_per_s=20)
    learner = Learner(settings, client, open_namespace(client, settings), 0)
    learner.follower_inbox.is_followed = True
    learner.follower_inbox.refresh(0)
    feed.append([Event(f"u{n}", "i1", 5) for n in range(500)])
    learner.drain()
    learner.close()
    taken = 0
    while learner.follower_inbox.take_sighting() is not None:
        taken += 1
    assert 20 <= taken < 100
    assert learner.follower_inbox.passed_over == 500 - taken


def test_of_too_many_events_some_after_short_histories_are_judged(
    client, namespace, feed, tmp_path
):
    settings = Settings(namespace=namespace, data_dir=tmp_path, judged_per_s=40)
    learner = Learner(settings, client, open_namespace(client, settings), 0)
    old = [f"old{n}" for n in range(100)]
    feed.append([Event(user, f"i{item}", 5) for item in range(10) for user in old])
    feed.append([Event(f"new{n}", "i1", 5) for n in range(12)])
    learner.drain()
    learner.follower_inbox.is_followed = True
    learner.follower_inbox.refresh(learner.watermark)
    feed.append(
        [
            *(Event(f"new{n}", "i2", 5) for n in range(12)),
            *(Event(user, f"i{item}", 5) for item in range(10, 20) for user in old),
        ]
    )
    learner.drain()
    learner.close()
    taken = []
    while (sighting := learner.follower_inbox.take_sighting()) is not None:
        taken.append(sighting)
    # a quarter of 40 is for them; a uniform sample would have one of them every other time
    assert sum(one.user.startswith("new") for one in taken) >= 10
    assert all(one.user.startswith("new") for one in taken if one.extra)
    assert sum(not one.extra for one in taken) >= 28


def test_skipped_events_are_counted_through_restarts(redis_url, client, namespace, feed, tmp_path):
    settings = Settings(namespace=namespace, data_dir=tmp_path, judged_per_s=1)
    for counted in (199, 398):
        learner = Learner(settings, client, open_namespace(client, settings), 0)
        follower = Follower(
            settings, redis_url, open_namespace(client, settings), 0, learner.follower_inbox
        )
        learner.follower_inbox.refresh(learner.watermark)
        follower.start()
        # all users are new or repeat an item, so that no event can be judged
        feed.append([Event(f"u{n}", "i1", 5) for n in range(200)])
        learner.drain()
        learner.close()
        follower.close()
        record = read_mixture(client, feed.keys)
        assert (record.judged, record.passed_over) == (0, counted)


def test_the_follower_publishes_weights_and_the_online_snapshot(
    redis_url, client, feed, eager, learner
):
    namespace = open_namespace(client, eager)
    follower = Follower(eager, redis_url, namespace, 0, learner.follower_inbox)
    learner.follower_inbox.refresh(0)
    follower.start()
    try:
        for event in some_ratings(200, items=N_ITEMS):
            feed.append([event])
            learner.drain()
            # events that wait with an old view are skipped, and here each event makes a new view
            wait_until(lambda: not learner.follower_inbox._waiting)
        wait_until(lambda: client.exists(feed.keys.online_snapshot))
        wait_until(lambda: (record := read_mixture(client, feed.keys)) and record.judged > 10)
    finally:
        follower.close()
    record = read_mixture(client, feed.keys)
    assert record.rankers.keys() == {"next", "online", "popular", "trending"}
    assert sum(one.weight for one in record.rankers.values()) == pytest.approx(1.0)
    # nothing follows the first items of a world, so next has no list for the first users
    assert 0 < record.rankers["next"].judged <= record.judged
    others = [one for name, one in record.rankers.items() if name != "next"]
    assert all(one.judged == record.judged for one in others)
    assert record.mixture.mrr > 0
    assert sum(one.judged for one in record.by_length.values()) == record.judged


def test_the_judged_signals_of_a_ranker_are_its_own(learner, feed, client, eager):
    found = judged(learner, feed, eager, some_ratings(120, items=N_ITEMS))
    last = found[max(found)]
    columns = dict(zip(last.signals, last.candidate.signals.T, strict=True))
    predicted, followed = columns["online: score"], columns["next: score"]
    assert ((predicted == 0.0) | (predicted >= 1.0) & (predicted <= 5.0)).all()
    assert followed.any()
    assert not np.array_equal(predicted, followed)
