"""What recipes of models with fold-in have in common."""

from core.batch.ocmf.users import StructuredUsers
from core.batch.snapshot import of_users, users_of
from core.snapshot import About, Snapshot
from service.training.dataset import Dataset, EncodedUsers
from service.training.validation import Validation, validated


class FoldInRecipe:
    """Such a model answers every user with a history, so that all held-out users validate it."""

    def held_out(self, data: Dataset) -> Dataset:
        return data

    def validated(self, data: Dataset, model: StructuredUsers) -> Validation:
        return validated(data, model)

    def snapshot(
        self, name: str, model: StructuredUsers, encoded: EncodedUsers | None, about: About
    ) -> Snapshot:
        known = None if model.weights is None or encoded is None else encoded.encoder
        return of_users(name, model, encoder=known, **about)

    def restored(self, snapshot: Snapshot) -> StructuredUsers:
        return users_of(snapshot)
