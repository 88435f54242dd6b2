"""The recipe here: what is liked in a context more than elsewhere, counted."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from core.batch.here import config as here
from core.batch.here.config import HereConfig
from core.batch.here.fit import fit
from core.batch.here.model import Here
from core.batch.here.snapshot import here_of, of_here
from core.errors import DataError
from core.search.search import Budget
from core.snapshot import About, Snapshot
from core.types import I64
from service.ranking.pool import Pool, chosen
from service.training.data.dataset import Dataset, EncodedUsers, HeldOut
from service.training.data.material import Material
from service.training.recipe import Searched
from service.training.validation import DEPTH, Validation, of_lists

MOST_JUDGES = 4_000
"""Most held-out users by whom a model is validated."""


class HereRecipe:
    """Learns from events that say where they happened; validated by users who said it later."""

    [settings] = here.RECIPES

    def search(
        self, material: Material, given: Mapping[str, Any], budget: Budget
    ) -> Searched[HereConfig]:
        # the fit chooses what matters by itself: how far each name is drawn to "no difference"
        return Searched(self.settings.config(given))

    def fit(self, material: Material, config: HereConfig, *, previous: Here | None = None) -> Here:
        if material.contexts is None or not len(material.contexts):
            raise DataError("no event says where it happened: send events with a `context`")
        return fit(material.contexts, material.pairs.liked.item_counts.astype(np.float64), config)

    def held_out(self, data: Dataset) -> Dataset:
        """Return the dataset with only the users whose next event said where it happened."""
        if data.contexts is None:
            return data
        held, steps = data.held_out, _next_steps(data)
        at = np.flatnonzero(data.contexts.later[steps] >= 0)[:MOST_JUDGES]
        kept = HeldOut(held.user_ix[at], held.seen.rows(at), held.held.rows(at))
        return replace(data, held_out=kept)

    def validated(self, data: Dataset, model: Here) -> Validation:
        """Return how well lists rank that are made where the next event happened."""
        held, contexts = data.held_out, data.contexts
        ids = np.full((held.user_ix.size, DEPTH), -1, np.int32)
        where = [] if contexts is None else map(contexts.of_step, _next_steps(data).tolist())
        for row, context in enumerate(where):
            scores = model.scores(model.known(context))
            seen = held.seen.item_ix[held.seen.ptr[row] : held.seen.ptr[row + 1]]
            items, _ = chosen(scores, Pool(np.empty(0, np.bool_), seen), DEPTH)
            ids[row, : items.size] = items
        return of_lists(data, ids)

    def snapshot(
        self, name: str, model: Here, encoded: EncodedUsers | None, about: About
    ) -> Snapshot:
        return of_here(name, model, **about)

    def restored(self, snapshot: Snapshot) -> Here:
        return here_of(snapshot)


def _next_steps(data: Dataset) -> I64:
    """Return the first held-out step of each held-out user, as a number in ``Order.later``."""
    held, order = data.held_out, data.order
    if order is None:
        raise DataError("the order of events was not read")
    found = np.zeros(held.user_ix.size, np.int64)
    for row, user in enumerate(held.user_ix.tolist()):
        own = held.held.item_ix[held.held.ptr[row] : held.held.ptr[row + 1]]
        first = np.flatnonzero(np.isin(order.later.of(user), own))[0]
        found[row] = order.later.user_ptr[user] + first
    return found


RECIPES = (HereRecipe(),)
