"""What recipes of models that know people by their features alone have in common."""

from typing import Any, TypedDict

from core.features import FeatureEncoder
from service.training.dataset import Dataset, EncodedUsers
from service.training.validation import Validation, validated_by_features, with_features


class FeatureRecipe:
    """Such a model needs documents, and those held-out users validate it whose documents have features."""

    def held_out(self, data: Dataset) -> Dataset:
        return with_features(data)

    def validated(self, data: Dataset, model: Any) -> Validation:
        return validated_by_features(data, model)


class Encoders(TypedDict):
    """Encoders that make columns of users' and of items' features."""

    encoder: FeatureEncoder
    item_encoder: FeatureEncoder


def encoders(encoded: EncodedUsers | None) -> Encoders:
    """Return the encoders of a fit; without columns where no document has features."""
    if encoded is None:
        return {"encoder": FeatureEncoder(), "item_encoder": FeatureEncoder()}
    items = FeatureEncoder() if encoded.items is None else encoded.items.encoder
    return {"encoder": encoded.encoder, "item_encoder": items}
