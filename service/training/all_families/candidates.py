"""The recipes that an order of all families considers, and the outcome of each."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from service.ranking.family import Family
from service.ranking.strategies import DEFAULT_RECIPE
from service.store.jobs.job import JobRecord
from service.store.jobs.records import JobRecords
from service.store.models.records import SHOWN
from service.store.models.registry import Registry
from service.training.afterwards import order_of
from service.training.data.dataset import Dataset
from service.training.orders import family_of, recipes_of


@dataclass
class Tried:
    """One recipe in the record of a job; the fields are filled from stage to stage."""

    model: str
    strategy: str
    serves: bool
    """Whether a model of this recipe serves already."""
    chosen: bool = False
    only_places: bool = False
    """Whether it is to place new items alone: in lists of known ones it adds nothing certain."""
    why: str = ""
    """Why it was chosen, left out or not chosen."""
    ndcg10: float | None = None
    """Mean ndcg@10 of its own lists on the hold-out."""
    added: dict[str, float] | None = None
    """What it adds to the ndcg@10 of the recipes chosen before it: mean, low, high."""
    seconds: float = 0.0
    version: str | None = None
    metrics: dict[str, Any] = field(default_factory=dict)
    """As of a job of this recipe alone."""
    decision: dict[str, Any] = field(default_factory=dict)
    """Decision of the gate; empty unless it was chosen."""


@dataclass(frozen=True)
class Candidate:
    """A recipe to be searched and fitted."""

    tried: Tried
    order: JobRecord
    """The job with the settings that were stated for the model that serves."""

    @property
    def family(self) -> Family:
        return family_of(self.tried.model)


def considered(
    data: Dataset, record: JobRecord, registry: Registry, records: JobRecords
) -> tuple[list[Candidate], list[Tried]]:
    """Return the candidates, those that cost little first, and the recipes that are left out."""
    served = {name: registry.record(one) for name, one in registry.active().items()}
    pins = registry.pins()
    found: list[Candidate] = []
    left_out: list[Tried] = []
    recipes = recipes_of(record.model)
    usual = DEFAULT_RECIPE if record.model is None else recipes[0]
    # the families that cost least have the highest numbers; what they leave of the budget is kept
    for model in reversed(recipes):
        family = family_of(model)
        serving = served.get(family.strategy)
        serves = serving is not None and serving.model == model
        tried = Tried(model, family.strategy, serves, only_places=family.only_places)
        if family.strategy in pins:
            tried.why = f"version {pins[family.strategy][:SHOWN]} is pinned"
        else:
            is_named = record.model is not None
            tried.why = "" if is_named else _missing(family, data, tried)
            tried.why = tried.why or _unjudged(family, data, tried, usual)
        if tried.why:
            left_out.append(tried)
            continue
        order = order_of(serving, records) if serving is not None and serves else None
        found.append(Candidate(tried, _order(record, model, order)))
    return found, left_out


def _order(record: JobRecord, model: str, made_it: JobRecord | None) -> JobRecord:
    """Return the order of one recipe; what was stated for the model that serves holds again."""
    if made_it is None or record.parameters:
        return replace(record, model=model)
    allowed = record.promote_unjudged or made_it.promote_unjudged
    return replace(record, model=model, parameters=made_it.parameters, promote_unjudged=allowed)


def _missing(family: Family, data: Dataset, tried: Tried) -> str:
    """Return why a recipe can learn nothing of its own from the data; "" if it can."""
    known = features_known(data)
    # a model that reads histories too goes on without features once it serves
    bound = not (tried.serves and family.reads_history)
    if family.reads_user_features and not known["users"] and bound:
        return "no user with a history has features that others share"
    if (family.predicts_stars or family.places_items) and not known["items"]:
        return "no item has features that others share"
    if family.reads_context and not (data.contexts and len(data.contexts.known)):
        return "no event on something that a user wants said where it happened (`context`)"
    return ""


def _unjudged(family: Family, data: Dataset, tried: Tried, usual: str) -> str:
    """Return why nobody can judge a recipe; the ``usual`` one is trained all the same."""
    # what places new items is no rival of the usual recipe: it serves beside it
    is_usual = tried.model == usual or family.places_items
    if data.held_out.user_ix.size or tried.serves or is_usual:
        return ""
    return "nobody likes two items, so nobody can tell what it adds"


def features_known(data: Dataset) -> Mapping[str, bool]:
    """Return whether users with a history, and items, have features that others share."""
    users, items = data.encoded, data.described
    return {
        "users": users is not None and bool(users.features.nnz),
        "items": items is not None and bool(items.rows.nnz),
    }


def judges_with_features(data: Dataset) -> int:
    """Return the number of held-out users with features."""
    if data.encoded is None:
        return 0
    counts = np.diff(data.encoded.features.indptr)
    return int(np.count_nonzero(counts[data.held_out.user_ix]))
