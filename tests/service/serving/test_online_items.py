from dataclasses import replace

import numpy as np
import pytest

from core.online.model import OnlineModel
from core.online.tables import Side
from core.rng import id_hashes
from core.snapshot import Snapshot
from service.configs import online_config
from service.learning.following.follower import Follower
from service.learning.learner import Learner
from service.ranking.untrained.learned import LearnedPart, LearnedState
from service.serving.copies.online_items import OnlineSnapshotFollower
from service.settings import Settings
from service.store.identity.survey import survey
from service.store.keys import PartitionKeys
from service.store.models.online_snapshot import OnlineSnapshots
from service.store.namespace import open_namespace
from tests.feed import Feed, some_ratings
from tests.server import wait_until


@pytest.fixture
def world(client, namespace, redis_url, tmp_path):
    """A learner that has learned a world and published its items."""
    settings = Settings(namespace=namespace, data_dir=tmp_path, online_snapshot_s=1e-9)
    opened = open_namespace(client, settings)
    learner = Learner(settings, client, opened, 0)
    follower = Follower(settings, redis_url, opened, 0, learner.follower_inbox)
    follower.start()
    feed = Feed(client, namespace)
    feed.append(some_ratings(500))
    learner.drain()
    source = OnlineSnapshots(client, PartitionKeys(namespace, 0))
    wait_until(lambda: published(learner, source) == 500)
    yield learner, source, settings
    follower.close()
    learner.close()


def published(learner, source):
    """Return the watermark of the published view; after a slow view the next one waits."""
    learner.follower_inbox.refresh(learner.watermark)
    return seen_through(source)


def seen_through(source):
    described = source._described()
    return described and described["manifest"]["cuts"]["trained_through"]["0"]


def followed(client, settings):
    namespace = open_namespace(client, settings)
    config = online_config(settings, namespace)
    return OnlineSnapshotFollower(client, namespace, config, settings.data_dir / "online")


def test_scores_are_those_of_the_learners_own_rows(world, client):
    learner, _, settings = world
    follower = followed(client, settings)
    follower._refresh()
    items = follower.current.online[0]
    assert items.seen_through == 500
    [slot] = learner._memory.users.take(["u3"])
    row = learner._memory.users.table.rows[slot]
    learned = learner._memory.items.table.rows[: items.n_items]
    predicted = learner.model.predict(np.broadcast_to(row, learned.shape).copy(), learned)
    assert items.scores(row).clip(1, 5) == pytest.approx(predicted.rating, abs=1e-5)


def test_what_is_forgotten_while_snapshots_are_read_stays_forgotten(world, client, monkeypatch):
    _, source, settings = world
    follower = followed(client, settings)
    follower._refresh()
    assert follower.current.parts

    def forgotten_meanwhile():
        follower.forget(survey(client, settings.namespace, 1), went_back=True)
        return source.version()

    with monkeypatch.context() as patch:
        patch.setattr(follower._sources[0], "version", forgotten_meanwhile)
        for _ in ("the same snapshot", "one that is new to it"):
            follower._refresh()
            assert not follower.current.parts
    follower._refresh()
    assert follower.current.online[0].seen_through == 500


def test_an_unchanged_snapshot_is_kept_and_an_old_file_goes(world, client):
    learner, source, settings = world
    follower = followed(client, settings)
    follower._refresh()
    before = follower.current
    follower._refresh()
    assert follower.current is before
    source.publish(
        learner.follower_inbox._views.current.snapshot(0, learner.model.fingerprint.hex())
    )
    feed = Feed(client, settings.namespace)
    feed.numbers = {f"i{n}": n for n in range(30)}
    feed.counter = 10
    feed.append(some_ratings(5))
    learner.drain()
    wait_until(lambda: published(learner, source) == 505)
    follower._refresh()
    assert follower.current.online[0].seen_through == 505


def test_a_store_that_lost_its_snapshot_takes_the_copy_with_it(world, client):
    _, source, settings = world
    follower = followed(client, settings)
    follower._refresh()
    client.delete(*client.keys(f"hr:{{{settings.namespace}.*}}:online-snapshot*"))
    assert source.version() is None
    now = survey(client, settings.namespace, 1)
    follower.forget(now, went_back=False)
    follower._refresh()
    assert follower.current.parts
    follower.forget(now, went_back=True)
    follower._refresh()
    assert not follower.current.parts


def test_a_snapshot_without_transitions_serves_the_online_items(world, client):
    learner, source, settings = world
    made = learner.follower_inbox._views.current.snapshot(0, learner.model.fingerprint.hex())
    arrays = {name: a for name, a in made.arrays.items() if not name.startswith("transitions.")}
    source.publish(Snapshot(made.model, arrays, made.parameters, made.metrics, made.cuts))
    follower = followed(client, settings)
    follower._refresh()
    assert follower.current.online[0].seen_through == 500
    assert follower.current.following.successors.n_items == 0


def test_the_order_in_which_partitions_publish_does_not_matter(world, client):
    _, _, settings = world
    follower = followed(client, settings)
    follower._refresh()
    first = follower.current.parts[0]
    other = LearnedPart(replace(first.online, version="other"), first.transitions)
    states = [
        LearnedState.of(parts, now_ms=0.0) for parts in ({0: first, 1: other}, {1: other, 0: first})
    ]
    assert states[0].following.version == states[1].following.version


def test_items_that_nobody_has_rated_rank_nowhere(world, client):
    _, _, settings = world
    follower = followed(client, settings)
    follower._refresh()
    items = follower.current.online[0]
    namespace = open_namespace(client, settings)
    model: OnlineModel = OnlineModel(online_config(settings, namespace))
    [row] = model.start(Side.USER, id_hashes(["nobody"]))
    wider = np.vstack([items.rows, np.zeros_like(items.rows[:1])])
    more = type(items)(items.version, 1, items.model, wider)
    assert more.scores(row)[-1] == -np.inf


def test_snapshots_of_other_experts_are_left_alone(world, client):
    _, _, settings = world
    other = settings.model_copy(update={"experts": "paper", "aggregator": "hedge"})
    follower = followed(client, other)
    follower._refresh()
    assert follower.current.parts == {}
