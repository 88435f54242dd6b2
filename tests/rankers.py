"""Rankers, askers and pools of small random worlds."""

from collections.abc import Callable

import numpy as np

from core.batch.ocmf.users import StructuredUsers
from core.batch.preferences import Preferences
from core.online.config import OnlineConfig
from core.online.model import OnlineModel
from core.online.tables import COUNT
from core.types import F32
from service.ranking.asker import Asker
from service.ranking.families import FAMILIES
from service.ranking.lineup import Lineup
from service.ranking.pool import Pool
from service.ranking.ranker import Ranker
from service.ranking.slates.slate import slate
from service.ranking.slates.wanted import Wanted
from service.ranking.trained.fold_in import FoldIn
from service.ranking.untrained.everybody import SharedList
from service.ranking.untrained.online import Online, OnlineItems
from tests.models import objective


def fold_in(n_items: int, seed: int = 0, strategy: str = "fbgd") -> FoldIn:
    users = StructuredUsers(objective(n_items, 4, seed=seed))
    return FoldIn(FAMILIES[strategy], f"{strategy}-{seed}", users, {0: 7})


def order(strategy: str, items: list[int]) -> SharedList:
    scores = np.arange(len(items), 0, -1).astype(np.float32)
    return SharedList(FAMILIES[strategy], (np.array(items, np.int32), scores), {0: 9})


def lineup(*models: Ranker, popular: list[int] = [], **more: object) -> Lineup:  # noqa: B006
    everybodys = order("popular", popular), order("trending", popular[::-1])
    return Lineup([*models, *everybodys], **more)  # type: ignore[arg-type]


def online(n_items: int, seed: int = 0) -> Online:
    """An online model that has learned of all items but the last."""
    rng = np.random.default_rng(seed)
    width = OnlineModel(OnlineConfig()).width
    rated = (np.arange(n_items) < n_items - 1).astype(np.float32)
    return online_of(rng.normal(0.1, 0.1, (n_items, width)).astype(np.float32), rated)


def online_of(rows: F32, rated: F32) -> Online:
    """Return the online ranker with these rows of items, some of them rated."""
    model = OnlineModel(OnlineConfig())
    rows = model.parameters(rows)
    rows[:, COUNT] = rated
    return Online(FAMILIES["online"], 0, OnlineItems("of a test", 8, model, rows))


def rated(items: list[int], seed: int = 1) -> Asker:
    """Return a user with a history and a row of the online model."""
    width = OnlineModel(OnlineConfig()).width
    row = np.random.default_rng(seed).normal(0.1, 0.1, width).astype(np.float32)
    return Asker(asker(items).preferences, row=row)


def asker(items: list[int]) -> Asker:
    own = np.unique(np.array(items, np.int32))
    return Asker(Preferences(own, ones(own.size), ones(own.size), own))


def ones(n: int) -> F32:
    return np.ones(n, np.float32)


def no_categories(numbers: object) -> list[list[str]]:
    raise AssertionError("nobody asked for categories")


def everything(n: int) -> Pool:
    return Pool(np.ones(n, np.bool_))


def picked(
    made_of: Lineup,
    me: Asker,
    pool: Pool,
    wanted: Wanted,
    categories: Callable[[object], list[list[str]]] = no_categories,
) -> list[int]:
    """Return the items of a slate."""
    return [pick.item for pick in slate(made_of, me, pool, wanted, categories).picks]
