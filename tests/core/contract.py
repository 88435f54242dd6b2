"""The contract of online models, whatever their experts and aggregator.

Each function takes a configuration and raises AssertionError; ``test_contract.py`` applies all of
them to all configurations.
"""

import tracemalloc
from dataclasses import dataclass, replace

import numpy as np

from core.online.model import OnlineModel
from core.online.tables import RatingRows, Side
from core.rng import id_hashes
from core.scale import Scale

USERS, ITEMS = 20, 15
OUTPUTS = ("rating", "mean", "low", "high", "parts")


@dataclass
class World:
    """A model with its tables, and a stream of ratings 1..5 in half stars."""

    model: OnlineModel
    users: object
    items: object

    @classmethod
    def start(cls, config, users=USERS, items=ITEMS):
        model = OnlineModel(config)
        world = cls(model, model.user_table(users), model.item_table(items))
        world.users.rows[:] = model.start(Side.USER, ids("user", users))
        world.items.rows[:] = model.start(Side.ITEM, ids("item", items))
        return world

    def learn(self, stream, first=0, last=None):
        part = [column[first:last] for column in stream]
        return self.model.learn(self.users, self.items, RatingRows(*part))

    def predict(self):
        """Return the predictions of all pairs."""
        user_ix, item_ix = np.divmod(
            np.arange(len(self.users.rows) * len(self.items.rows)), len(self.items.rows)
        )
        return self.model.predict(self.users.rows[user_ix], self.items.rows[item_ix])

    def bits(self):
        """Return a copy of everything that the model has learned."""
        tables = [*vars(self.users).values(), *vars(self.items).values()]
        return [array.tobytes() for array in [*tables, *self.model.arrays().values()]]


def ids(kind, n, first=0):
    return id_hashes([f"{kind} {number}" for number in range(first, first + n)])


def stream(n=600, scale=None, seed=1):
    """Return user_ix, item_ix, rating, sequence of people with tastes, on the given scale."""
    rng = np.random.default_rng(seed)
    taste, genre = rng.normal(size=(USERS, 3)), rng.normal(size=(ITEMS, 3))
    user_ix = rng.integers(0, USERS, n)
    item_ix = np.minimum(rng.geometric(0.15, n) - 1, ITEMS - 1)
    liking = 3.3 + (taste[user_ix] * genre[item_ix]).sum(axis=1) + rng.normal(size=n) * 0.5
    rating = np.clip(np.round(liking * 2.0) / 2.0, 1.0, 5.0)
    if scale is not None:
        rating = scale.low + (rating - 1.0) / 4.0 * (scale.high - scale.low)
    return user_ix, item_ix, rating, np.arange(1, n + 1, dtype=np.int64)


def same_outputs(one, other):
    for name in OUTPUTS:
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name), err_msg=name)


def a_change_of_scale_changes_no_prediction(config):
    plain = World.start(config)
    said = plain.learn(stream())
    for low, high in ((0.0, 100.0), (-10.0, 10.0), (0.5, 4.0)):
        scale = Scale(low, high)
        other = World.start(replace(config, scale=scale))
        moved = other.learn(stream(scale=scale))
        pairs = [(said, moved), (plain.predict(), other.predict())]
        for name in OUTPUTS:
            for mine, theirs in pairs:
                wanted = low + (getattr(mine, name) - 1.0) / 4.0 * (high - low)
                # float32 rows: rounding grows along the stream
                close = 1e-5 * (high - low)
                np.testing.assert_allclose(getattr(theirs, name), wanted, atol=close, err_msg=name)


def the_batch_size_changes_nothing(config):
    events = stream()
    whole = World.start(config)
    said = whole.learn(events)
    for size in (1, 7, 250):
        parts = World.start(config)
        learned = [parts.learn(events, at, at + size) for at in range(0, 600, size)]
        assert parts.bits() == whole.bits()
        for name in OUTPUTS:
            joined = np.concatenate([getattr(part, name) for part in learned])
            np.testing.assert_array_equal(joined, getattr(said, name), err_msg=name)
        same_outputs(parts.predict(), whole.predict())


def scoring_changes_nothing(config, pairs=2_000):
    world = World.start(config)
    world.learn(stream(), 0, 300)
    before = world.bits()
    first = world.predict()
    for at in range(0, pairs, 10_000):
        n = min(10_000, pairs - at)
        users = world.model.start(Side.USER, ids("stranger", n, at))
        items = world.model.start(Side.ITEM, ids("novelty", n, at))
        unknown = world.model.predict(users, items)
        assert np.isfinite(unknown.rating).all()
        assert (unknown.low <= unknown.high).all()
    same_outputs(world.predict(), first)
    assert world.bits() == before


def a_seed_repeats_everything(config):
    one, other = World.start(config), World.start(config)
    same_outputs(one.learn(stream()), other.learn(stream()))
    assert one.bits() == other.bits()
    assert one.model.fingerprint == other.model.fingerprint
    moved = World.start(replace(config, seed=config.seed + 1))
    assert moved.model.fingerprint != one.model.fingerprint


def users_and_items_may_appear_at_any_time(config):
    """A table that grows gives the same as one that was large from the start."""
    events = stream()
    small = World.start(config, users=0, items=0)
    for at in range(600):
        user_ix, item_ix = int(events[0][at]), int(events[1][at])
        _grow(small, user_ix + 1, item_ix + 1)
        small.learn(events, at, at + 1)
    whole = World.start(config, small.users.rows.shape[0], small.items.rows.shape[0])
    whole.learn(events)
    assert small.bits() == whole.bits()


def _grow(world, users, items):
    model = world.model
    if users > len(world.users.rows):
        grown = model.user_table(users)
        known = len(world.users.rows)
        for name, array in vars(world.users).items():
            getattr(grown, name)[:known] = array
        grown.rows[known:] = model.start(Side.USER, ids("user", users - known, known))
        world.users = grown
    if items > len(world.items.rows):
        grown = model.item_table(items)
        known = len(world.items.rows)
        grown.rows[:known] = world.items.rows
        grown.rows[known:] = model.start(Side.ITEM, ids("item", items - known, known))
        world.items = grown


def a_saved_model_continues_bit_for_bit(config):
    events = stream()
    whole = World.start(config)
    whole.learn(events, 0, 300)
    saved = {name: array.copy() for name, array in whole.model.arrays().items()}
    again = World.start(config)
    again.model.load(saved)
    for mine, theirs in ((again.users, whole.users), (again.items, whole.items)):
        for name, array in vars(theirs).items():
            getattr(mine, name)[...] = array
    same_outputs(again.learn(events, 300), whole.learn(events, 300))
    assert again.bits() == whole.bits()


def memory_stays_bounded(config):
    world = World.start(config)
    events = stream()
    world.learn(events)
    shapes = {name: array.shape for name, array in world.model.arrays().items()}
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    for _ in range(20):
        world.learn(events)
    grown = tracemalloc.get_traced_memory()[0] - before
    tracemalloc.stop()
    assert {name: array.shape for name, array in world.model.arrays().items()} == shapes
    assert grown < 100_000


def predictions_stay_on_the_scale(config):
    world = World.start(config)
    learned = world.learn(stream())
    for said in (learned, world.predict()):
        for name in OUTPUTS:
            values = getattr(said, name)
            assert np.isfinite(values).all()
            assert not config.clip or ((values >= 1.0) & (values <= 5.0)).all()


CONTRACT = (
    a_change_of_scale_changes_no_prediction,
    the_batch_size_changes_nothing,
    scoring_changes_nothing,
    a_seed_repeats_everything,
    users_and_items_may_appear_at_any_time,
    a_saved_model_continues_bit_for_bit,
    memory_stays_bounded,
    predictions_stay_on_the_scale,
)
