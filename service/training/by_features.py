"""Shared code of the recipes whose models know users by their features alone."""

from typing import Any, TypedDict

from core.features import FeatureEncoder
from service.training.data.dataset import Dataset, EncodedUsers
from service.training.validation import Validation, validated_by_features, with_features


class FeatureRecipe:
    """Base of recipes that need documents; only held-out users with features validate them."""

    def held_out(self, data: Dataset) -> Dataset:
        return with_features(data)

    def validated(self, data: Dataset, model: Any) -> Validation:
        return validated_by_features(data, model)


class Encoders(TypedDict):
    """Encoders that turn the features of users and items into columns."""

    encoder: FeatureEncoder
    item_encoder: FeatureEncoder


def encoders(encoded: EncodedUsers | None) -> Encoders:
    """Return the encoders of a fit; they have no columns if no document has features."""
    if encoded is None:
        return {"encoder": FeatureEncoder(), "item_encoder": FeatureEncoder()}
    items = FeatureEncoder() if encoded.items is None else encoded.items.encoder
    return {"encoder": encoded.encoder, "item_encoder": items}
