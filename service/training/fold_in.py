"""Shared code of the recipes whose models fold users in."""

from core.batch.ocmf.users import StructuredUsers
from core.batch.snapshot import of_users, users_of
from core.snapshot import About, Snapshot
from service.training.answers import UserVectors
from service.training.dataset import Dataset, EncodedUsers
from service.training.validation import Validation, validated


def folded_in(model: StructuredUsers) -> UserVectors:
    """Return the answers of a model by the users' pairs alone."""
    return UserVectors(lambda users, rows: model.row.vectors(rows), model.row.item_factors)


class FoldInRecipe:
    """Base of recipes whose models answer every user with a history.

    All held-out users validate such a model.
    """

    def held_out(self, data: Dataset) -> Dataset:
        return data

    def validated(self, data: Dataset, model: StructuredUsers) -> Validation:
        return validated(data, folded_in(model))

    def snapshot(
        self, name: str, model: StructuredUsers, encoded: EncodedUsers | None, about: About
    ) -> Snapshot:
        known = None if model.weights is None or encoded is None else encoded.encoder
        return of_users(name, model, encoder=known, **about)

    def restored(self, snapshot: Snapshot) -> StructuredUsers:
        return users_of(snapshot)
