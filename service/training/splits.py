"""How a recipe ranks for all who can judge, in the dataset and in its earlier splits if any.

Where few users can judge, one split says little: whether somebody's latest item is found is mostly
chance. So the positives before the latest judge too, each time by models that know nothing later.
They are those by which earlier trainings were judged.
"""

from typing import Any

import numpy as np

from core.errors import DataError
from core.gate import FEWEST_USERS
from core.mixture_weights import REMEMBERED
from service.training.data.dataset import Dataset
from service.training.recipe import ServedRecipe
from service.training.validation import (
    DEPTH,
    Validation,
    of_lists,
    pooled,
    validated_popular,
)


def validated_splits(
    recipe: ServedRecipe[Any], data: Dataset, fitted: Any, config: Any
) -> Validation:
    """Validate a model fitted to the events before the cut, and its settings in earlier splits."""
    earlier = [recipe.held_out(one) for one in data.earlier]
    parts = [recipe.validated(data, fitted), *(_earlier(recipe, one, config) for one in earlier)]
    return pooled(parts, [data, *earlier])


def _earlier(recipe: ServedRecipe[Any], split: Dataset, config: Any) -> Validation:
    try:
        return recipe.validated(split, recipe.fit(split.at_cut, config))
    except DataError:
        # too little was known at that time to make such a model: it found nothing
        return of_lists(split, np.full((split.held_out.user_ix.size, DEPTH), -1, np.int32))


def popular_splits(recipe: ServedRecipe[Any], data: Dataset) -> Validation:
    """Validate popularity for the users who judge the models of a recipe."""
    splits = [data, *map(recipe.held_out, data.earlier)]
    return pooled([validated_popular(one) for one in splits], splits)


def first_lead(candidate: Validation, popular: Validation) -> float | None:
    """Return a model's lead over popularity, which gives its first weight; None: nobody judges it.

    A lead that few have judged counts for less: the weight is what Hedge would have learned from
    their judgements.
    """
    users, rows = candidate.scores.size, candidate.found.wanted.size
    if not users:
        return None
    share = 1.0 if users >= FEWEST_USERS else min(rows / REMEMBERED, 1.0)
    return share * candidate.lead(popular)
