"""A tiny world with a ranker of each family: trained by its recipe, or of a learner's state."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache, partial
from typing import Any

import msgspec
import numpy as np
from scipy import sparse

from core import popularity
from core.batch.content.encoder import Described, DocumentEncoder
from core.batch.here.likes import ContextLikes
from core.batch.preferences import preferences
from core.features import Column, FeatureEncoder
from core.interactions import Interactions, from_pairs
from core.meaning import RATING, EventMeanings, HistoryColumns
from core.online.config import OnlineConfig
from core.online.model import OnlineModel
from core.online.tables import COUNT
from core.ordinal.fit_stars import RatedPairs
from core.recipe_settings import RecipeSettings
from core.snapshot import Snapshot, blob, mapped
from core.steps import steps_of
from core.transitions.table import Taken, Transitions, no_latest
from service.learning.following.states import states_of
from service.learning.following.views import View
from service.ranking.asker import Asker
from service.ranking.families import FAMILIES
from service.ranking.family import Family, Published
from service.ranking.lineup import Lineup
from service.ranking.ranker import Ranker
from service.ranking.slates.choice import feature_vectors
from service.ranking.untrained.everybody import Latest
from service.ranking.untrained.state import rankers_of
from service.store.profiles.history_record import records
from service.training.data.dataset import EncodedItems, EncodedUsers
from service.training.data.material import Material
from service.training.recipes import SERVED
from tests.core.liked import item_kinds, world

N_ITEMS, HALF_LIFE_MS = 24, 3_600_000.0
KINDS = FeatureEncoder((Column("kind", ("0", "1", "2", "3")),))
SMALL = {"factors": 4, "epochs": 2, "rounds": 2, "labelled": 150, "unlabelled": 40} | {
    "frequencies": 32,
    "share": 0.0,
}
"""Settings that keep a training short, for the recipes that have them."""
ABOUT: Any = {"settings": {}, "metrics": {}, "cuts": {}}
THROUGH = {0: 3}
TWINS = (4, 12)
"""Two items with equal vectors: their scores tie. The second has the data of the first."""


@dataclass(frozen=True)
class Case:
    """A ranker under the contract."""

    ranker: Ranker
    snapshot: Snapshot | None = None
    """None: nothing is trained."""

    @property
    def family(self) -> Family:
        return self.ranker.family

    def lineup(self, **more: Any) -> Lineup:
        """Return a lineup of this ranker beside those that every lineup has."""
        own = [self.ranker] if self.family.trained else []
        return Lineup([*own, *untrained().values()], **more)

    def restored(self) -> Ranker:
        """Return the ranker of the snapshot after its way through the registry."""
        assert self.snapshot is not None
        stored = b"".join(blob(self.snapshot))
        return read(self.family, mapped(self.snapshot.manifest, stored))

    def asker(self, liked: list[int], disliked: list[int] = [], kind: str | None = "1") -> Asker:  # noqa: B006
        """Return somebody with a history and an online row; features and context need a kind."""
        asker = Asker(read_history(history(liked, disliked)), row=user_row() if liked else None)
        features = {} if kind is None else feature_vectors([self.ranker], {"kind": kind})
        context = {} if kind is None else {"device": kind}
        return msgspec.structs.replace(asker, features=features, context=context)


def read(family: Family, snapshot: Snapshot) -> Ranker:
    assert family.read is not None
    return family.read(family, Published("v1", snapshot, THROUGH))


def with_twins(snapshot: Snapshot) -> Snapshot:
    """Return a snapshot in which the twins have equal vectors, whatever its arrays are."""
    first, second = TWINS
    if snapshot.model == "neighbours":
        # who likes one of the twins likes both: their strengths are equal as they are
        return snapshot
    arrays = {}
    for name, array in snapshot.arrays.items():
        arrays[name] = array = array.copy()
        for axis in np.flatnonzero(np.array(array.shape) == N_ITEMS):
            by_item = np.moveaxis(array, axis, 0)
            by_item[second] = by_item[first]
    return replace(snapshot, arrays=arrays)


def history(liked: list[int], disliked: list[int]) -> Any:
    """Return stored records of ratings: 5 for what is liked, 1 for what is not."""
    items = np.array([*liked, *disliked], np.uint32)
    value = np.array([5.0] * len(liked) + [1.0] * len(disliked), np.float32)
    moments = np.zeros(items.size, np.int64)
    order = np.arange(1, items.size + 1, dtype=np.int64)
    return records(items, value, moments, order, np.full(items.size, RATING, np.uint8))


def read_history(stored: Any) -> Any:
    order = np.arange(1, stored.size + 1)
    columns = HistoryColumns(stored["item"], stored["kind"], stored["value"], order)
    return preferences(columns, EventMeanings())


def user_row() -> Any:
    row = np.random.default_rng(1).normal(0.1, 0.1, model().width).astype(np.float32)
    row[COUNT] = 3.0
    return row


@cache
def model() -> OnlineModel:
    return OnlineModel(OnlineConfig())


@cache
def view() -> View:
    """The learner's state: all items but the last have ratings."""
    rng = np.random.default_rng(0)
    rows = model().parameters(rng.normal(0.1, 0.1, (N_ITEMS, model().width)).astype(np.float32))
    rows[:, COUNT] = np.arange(N_ITEMS) < N_ITEMS - 1
    rows[TWINS[1]] = rows[TWINS[0]]
    counts = np.zeros((N_ITEMS, popularity.WIDTH))
    counts[:20] = np.column_stack(
        [rng.permutation(20) + 1.0, rng.permutation(20) + 1.0, np.ones(20)]
    )
    return View(
        watermark=9,
        items=rows,
        state=model().arrays(),
        counts=counts,
        transitions=transitions().counted(),
    )


def transitions() -> Transitions:
    """Return random steps of many users; the twins follow the same items."""
    rng, table, n = np.random.default_rng(0), Transitions(1e9), 400
    first, second = TWINS
    table.grow(N_ITEMS)
    others = np.setdiff1d(np.arange(N_ITEMS), [second])
    slot, time = np.sort(rng.integers(0, 40, n)), np.arange(1, n + 1)
    item = rng.choice(others, n).astype(np.int32)
    table.learn(Taken(slot, item, np.ones(n, np.float32), time), no_latest(40))
    table.unpack([second], table.packed(np.array([first])))
    return table


def untrained() -> dict[str, Ranker]:
    """Return the rankers of what a learner holds."""
    came = Latest.of(np.where(np.arange(N_ITEMS) % 3, (np.arange(N_ITEMS) // 5) * 86_400_000, -1))
    states = [came, *states_of(view(), model(), 0, half_life_ms=HALF_LIFE_MS)]
    return {ranker.strategy: ranker for ranker in rankers_of(states, 0)}


def _liked() -> tuple[sparse.csr_array, Interactions]:
    """Return features of users and their likes; who likes one of the twins likes both."""
    features, liked = world(n_items=N_ITEMS)
    likes = np.zeros((liked.n_users, N_ITEMS), np.bool_)
    likes[np.repeat(np.arange(liked.n_users), np.diff(liked.ptr)), liked.item_ix] = True
    likes[:, TWINS[1]] = likes[:, TWINS[0]]
    return features, from_pairs(*np.nonzero(likes), n_users=liked.n_users, n_items=N_ITEMS)


@cache
def material() -> Material:
    """Likes, ratings and features of the tiny world."""
    features, liked = _liked()
    users = np.repeat(np.arange(liked.n_users), np.diff(liked.ptr))
    stars = 3.0 + 2.0 * (users % 4 == liked.item_ix % 4) - (liked.item_ix % 3 == 0)
    rated = RatedPairs(users, liked.item_ix.astype(np.int64), stars.astype(np.float32))
    order = np.random.default_rng(2).random(users.size)
    n_users = liked.n_users
    steps = steps_of(users, liked.item_ix, order, n_users=n_users, n_items=N_ITEMS)
    items = item_kinds(N_ITEMS)
    described = Described(DocumentEncoder(KINDS), items)
    # the first twin is liked where the second is, like all else mostly on a device of its kind
    device = np.where(order < 0.7, liked.item_ix % 4, (users + liked.item_ix) % 4).astype(np.int32)
    said = tuple(("device", str(n)) for n in range(4))
    n_said = np.array([np.unique(users[device == n]).size for n in range(4)])
    return Material(
        liked,
        features,
        item_features=items,
        described=described,
        rated=rated,
        steps=steps,
        contexts=ContextLikes(N_ITEMS, said, device, liked.item_ix, n_said),
    )


@cache
def trained(family: Family, recipe: RecipeSettings[Any]) -> Case:
    """Return the ranker of a model that a recipe has trained on the tiny world."""
    made_by = SERVED[recipe.name]
    settings = {name: value for name, value in SMALL.items() if name in recipe.names}
    known, encoded = material(), None
    if family.reads_user_features:
        links = sparse.csr_array((known.pairs.n_users, known.pairs.n_users))
        items = EncodedItems(KINDS, item_kinds(N_ITEMS))
        encoded = EncodedUsers(KINDS, known.user_features, links, items)
    else:
        known = replace(known, user_features=None, item_features=None)
    fitted = made_by.fit(known, recipe.config(settings))
    snapshot = with_twins(made_by.snapshot(recipe.name, fitted, encoded, ABOUT))
    return Case(read(family, snapshot), snapshot=snapshot)


def cases() -> dict[str, Callable[[], Case]]:
    """Return what makes each case: one for each recipe, and for each family without recipes."""
    found: dict[str, Callable[[], Case]] = {}
    for family in FAMILIES.values():
        for recipe in family.recipes:
            found[recipe.name] = partial(trained, family, recipe)
        if not family.trained:
            found[family.strategy] = partial(Case, untrained()[family.strategy])
    return found
