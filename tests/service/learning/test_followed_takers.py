"""Who took items that no training has learned: as of a view, through deletions and restarts."""

from collections.abc import Iterator
from contextlib import closing

import numpy as np
import pytest
import redis

from core.batch.ocmf.users import StructuredUsers
from core.batch.snapshot import of_users
from core.batch.takers import Takers
from service import configs
from service.learning.following.follower import Follower
from service.learning.following.takers import FollowedTakers
from service.learning.learner import Learner
from service.ranking.families import FAMILIES
from service.ranking.trained.fold_in import FoldIn
from service.ranking.trained.folded_items import FoldedItems
from service.serving.copies.online_items import OnlineSnapshotFollower
from service.settings import Settings
from service.store.log.codec import DELETE_ITEM, DELETE_RATING, DELETE_USER
from service.store.models.registry import Registry
from service.store.namespace import open_namespace
from service.store.profiles.generation import users_of
from service.store.profiles.history_store import HistoryStore
from tests.feed import Event, Feed
from tests.models import activated, item_objective, objective
from tests.server import wait_until

LEARNED = 10
"""Items that the model has learned."""


def trained(n_items: int = LEARNED, version: str = "v") -> FoldIn:
    users = StructuredUsers(objective(n_items), items=item_objective())
    return FoldIn(FAMILIES["fbgd"], version, users, {0: 0})


class Shop:
    """A learner, and the takers that its follower would hold."""

    def __init__(self, client: redis.Redis, feed: Feed, settings: Settings, learner: Learner):
        self.client, self.feed, self.settings, self.learner = client, feed, settings, learner
        self.inbox = learner.follower_inbox
        self.inbox.is_followed = True
        self.deleted: dict[int, int] = {}
        self.takers = self.followed()

    def followed(self, **more: int) -> FollowedTakers:
        """Return a new follower of the takers that knows the model."""
        store = HistoryStore(self.client, self.feed.keys)
        meanings = configs.meanings(self.settings, open_namespace(self.client, self.settings))
        found = FollowedTakers(
            self.inbox,
            store,
            meanings,
            lambda: users_of(self.client, self.feed.keys),
            share=1e9,
            **more,
        )
        found.follow([trained()])
        return found

    def learn(self, *events: Event) -> int:
        self.feed.append(list(events))
        self.learner.drain()
        return self.learner.watermark

    def now(self, watermark: int | None = None) -> Takers:
        later = self.inbox.take_deleted()
        self.takers.forget(later)
        self.deleted |= later
        return self.takers.as_of(
            self.learner.watermark if watermark is None else watermark, self.deleted
        )


@pytest.fixture
def shop(client: redis.Redis, feed: Feed, eager: Settings, eager_learner: Learner) -> Shop:
    return Shop(client, feed.with_items(20), eager, eager_learner)


def rows(takers: Takers) -> list[dict[int, float]]:
    parts = zip(takers.ptr[:-1], takers.ptr[1:], strict=True)
    return [
        dict(zip(takers.item_ix[a:b].tolist(), takers.evidence[a:b].tolist(), strict=True))
        for a, b in parts
    ]


def likes(user: str, *items: int, value: float = 5.0) -> list[Event]:
    return [Event(user, f"i{item}", value) for item in items]


def test_takers_have_their_whole_history(shop: Shop) -> None:
    shop.learn(*likes("ann", 1, 2), *likes("bob", 3), *likes("eve", 4), *likes("ann", 5, value=1))
    assert rows(shop.now()) == []
    shop.learn(*likes("bob", 15), *likes("ann", 12), *likes("eve", 12, value=1))
    # eve dislikes it, so she says nothing of who takes it
    assert rows(shop.now()) == [{1: 1.0, 2: 1.0, 5: -1.0, 12: 1.0}, {3: 1.0, 15: 1.0}]
    shop.learn(*likes("bob", 6))
    assert rows(shop.now())[1] == {3: 1.0, 6: 1.0, 15: 1.0}


def test_takers_are_those_of_a_view(shop: Shop) -> None:
    early = shop.learn(*likes("ann", 1, 12), *likes("bob", 3))
    shop.learn(*likes("ann", 13), *likes("bob", 14))
    assert rows(shop.now(early)) == [{1: 1.0, 12: 1.0}]
    assert rows(shop.now()) == [{1: 1.0, 12: 1.0, 13: 1.0}, {3: 1.0, 14: 1.0}]


@pytest.mark.parametrize(
    ("gone", "left"),
    [
        (Event("ann", "i12", kind=DELETE_RATING), [{3: 1.0, 12: 1.0}]),
        (Event("ann", "i0", kind=DELETE_USER), [{3: 1.0, 12: 1.0}]),
        (Event("ann", "i1", kind=DELETE_RATING), [{12: 1.0}, {3: 1.0, 12: 1.0}]),
        (Event("", "i12", kind=DELETE_ITEM), []),
        (Event("", "i3", kind=DELETE_ITEM), [{1: 1.0, 12: 1.0}, {12: 1.0}]),
    ],
    ids=["the pair", "the user", "another pair", "the item", "another item"],
)
def test_what_is_deleted_is_gone(shop: Shop, gone: Event, left: list[dict[int, float]]) -> None:
    shop.learn(*likes("ann", 1, 12), *likes("bob", 3, 12))
    assert len(rows(shop.now())) == 2
    shop.learn(gone)
    assert rows(shop.now()) == left


def test_merged_users_are_one_taker(shop: Shop) -> None:
    shop.learn(*likes("ann", 1, 12), *likes("bob", 3, 13))
    shop.now()
    shop.feed.merge("ann", "bob")
    shop.learner.drain()
    assert rows(shop.now()) == [{1: 1.0, 3: 1.0, 12: 1.0, 13: 1.0}]


def test_a_new_follower_finds_the_takers_again(shop: Shop) -> None:
    for n in range(150):
        shop.learn(*likes(f"u{n:03}", n % 10, *([10 + n % 7] if n % 3 == 0 else [])))
    before = shop.now()
    assert before.n_users == 50
    again = shop.followed()
    while not again.has_news:
        again.look_through()
    for _ in range(5):
        again.look_through()
    assert again.as_of(shop.learner.watermark, {}).version == before.version


def test_only_the_latest_users_are_held(shop: Shop) -> None:
    shop.takers = shop.followed(most_users=3)
    for n in range(9):
        shop.learn(*likes(f"u{n}", 1, 12))
        shop.now()
    assert shop.inbox.followed == {"u6", "u7", "u8"}


def test_without_a_model_that_folds_in_nothing_is_held(shop: Shop) -> None:
    shop.learn(*likes("ann", 1, 12))
    assert shop.now().n_users == 1
    shop.takers.follow([trained(20, "newer")])
    assert shop.now().n_users == 0
    shop.takers.follow([])
    shop.learn(*likes("bob", 1, 19))
    assert shop.now().n_users == 0
    assert shop.inbox.learned is None


@pytest.fixture
def follower(
    redis_url: str, client: redis.Redis, eager: Settings, eager_learner: Learner
) -> Iterator[Follower]:
    namespace = open_namespace(client, eager)
    with closing(
        Follower(eager, redis_url, namespace, 0, eager_learner.follower_inbox)
    ) as following:
        yield following


def test_an_item_that_came_after_the_training_is_served_by_its_events(
    client: redis.Redis,
    feed: Feed,
    eager: Settings,
    eager_learner: Learner,
    follower: Follower,
) -> None:
    """From a learner by way of the store to the ranker of an api process."""
    feed.with_items(20)
    users = StructuredUsers(objective(LEARNED), items=item_objective())
    about = {"settings": {}, "metrics": {}, "cuts": {"trained_through": {"0": 0}}}
    activated(Registry(client, feed.namespace), made=of_users("fbgd", users, **about))
    # the follower may start after the events: it looks through the histories
    feed.append([*likes("ann", 1, 2), *likes("bob", 1, 3), *likes("ann", 12)])
    eager_learner.drain()
    eager_learner.follower_inbox.refresh(eager_learner.watermark)
    follower.start()
    namespace = open_namespace(client, eager)
    config = configs.online_config(eager, namespace)
    served = OnlineSnapshotFollower(client, namespace, config, eager.data_dir / "online")

    def ranked() -> set[int]:
        served._refresh()
        ranker = trained()
        more = FoldedItems().refreshed([ranker], served.current.takers).with_folded(ranker)
        return {*range(LEARNED, more.n_items)} if more is not ranker else set()

    wait_until(lambda: 12 in ranked())
    feed.append(likes("bob", 15))
    eager_learner.drain()
    wait_until(
        lambda: (
            (eager_learner.follower_inbox.refresh(eager_learner.watermark), ranked())[1] >= {12, 15}
        )
    )
    assert served.current.takers.n_users == 2
    assert np.isfinite(served.current.takers.evidence).all()
