"""Shared code of the recipes whose models fold users in."""

from typing import Any

import numpy as np

from core.batch.ocmf.users import StructuredUsers
from core.batch.snapshot import of_users, users_of
from core.interactions import Interactions
from core.snapshot import About, Snapshot
from core.types import F32, I64
from service.training.answers import UserVectors
from service.training.data.dataset import Dataset, EncodedUsers
from service.training.validation import Validation, validated


def folded_in(model: StructuredUsers) -> UserVectors:
    """Return the answers of a model by the users' pairs alone."""
    return UserVectors(lambda users, rows: model.row.vectors(rows), model.row.item_factors)


def as_served(model: StructuredUsers, encoded: EncodedUsers | None) -> UserVectors:
    """Return the answers of a model as slates read them: by pairs and, where known, features.

    Links are left out, because serving does not use them.
    """
    if model.weights is None or encoded is None:
        return folded_in(model)
    features: Any = encoded.features

    def vectors(users: I64, rows: Interactions) -> F32:
        found, known = model.row.vectors(rows), np.flatnonzero(np.diff(features.indptr)[users])
        if known.size:
            of_features = model.feature_vectors(features[users[known]])
            found[known] = model.vectors(rows.rows(known), feature_vectors=of_features)
        return found

    return UserVectors(vectors, model.row.item_factors)


class FoldInRecipe:
    """Base of recipes whose models answer every user with a history.

    All held-out users validate such a model.
    """

    def held_out(self, data: Dataset) -> Dataset:
        return data

    def validated(self, data: Dataset, model: StructuredUsers) -> Validation:
        return validated(data, as_served(model, data.encoded))

    def snapshot(
        self, name: str, model: StructuredUsers, encoded: EncodedUsers | None, about: About
    ) -> Snapshot:
        known = None if model.weights is None or encoded is None else encoded.encoder
        return of_users(name, model, encoder=known, **about)

    def restored(self, snapshot: Snapshot) -> StructuredUsers:
        return users_of(snapshot)
