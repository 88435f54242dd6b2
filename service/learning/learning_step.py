"""One learning step of the model on rows in memory, shared by the learner and the rebuild."""

from dataclasses import dataclass

import numpy as np

from core.counters import Counters
from core.online.model import OnlineModel
from core.online.reports import Learned
from core.online.tables import RatingRows, Side
from core.rng import id_hashes
from core.transitions.table import Taken, Transitions, no_latest
from core.types import I64
from service.learning.state.rows import ItemRows, UserRows


@dataclass(frozen=True)
class Touched:
    """The rows that ratings have changed, and the predictions before."""

    slots: I64
    items: I64
    learned: Learned


def learn_ratings(
    model: OnlineModel, users: UserRows, items: ItemRows, ratings: RatingRows
) -> Touched:
    """Learn ratings, whose users have slots in ``users``; return which rows changed."""
    touched = distinct(ratings.item_ix)
    items.take(touched)
    learned = model.learn(users.table, items.table, ratings)
    return Touched(distinct(ratings.user_ix), touched, learned)


def distinct(numbers: I64) -> I64:
    """Return the distinct numbers in order; sorting is faster for few, counting for many."""
    return np.unique(numbers) if numbers.size < 1_000 else np.flatnonzero(np.bincount(numbers))


def changed_arrays(model: OnlineModel, saved: dict[str, bytes]) -> dict[str, bytes]:
    """Return the arrays that differ from ``saved``, and update ``saved``."""
    changed = {}
    for name, array in model.arrays().items():
        data = array.tobytes()
        if saved.get(name) != data:
            changed[name] = saved[name] = data
    return changed


def warm_up(model: OnlineModel) -> None:
    """Learn and count one rating, so that kernels are loaded before a lease or events wait."""
    zero = np.zeros(1, dtype=np.int64)
    Counters(1.0).add(zero, np.ones(1), zero)
    step = Taken(zero, zero.astype(np.int32), np.ones(1, np.float32), zero)
    transitions = Transitions(1.0)
    transitions.learn(step, no_latest(1))
    transitions.packed(zero)
    users, items = model.user_table(1), model.item_table(1)
    users.rows[:] = model.start(Side.USER, id_hashes(["a"]))
    items.rows[:] = model.start(Side.ITEM, id_hashes(["a"]))
    rating = np.full(1, model.config.scale.low)
    model.learn(users, items, RatingRows(zero, zero, rating, zero))
