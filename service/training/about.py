"""What a snapshot says of a model besides its arrays."""

from collections.abc import Mapping
from typing import Any, TypedDict

from core.features import FeatureEncoder
from service.training.dataset import Described


class About(TypedDict):
    """What a snapshot says of a model besides its arrays."""

    settings: Mapping[str, Any]
    metrics: Mapping[str, float]
    cuts: Mapping[str, Any]


def encoders(described: Described | None) -> tuple[FeatureEncoder, FeatureEncoder]:
    """Return what makes columns of users' and of items' features."""
    if described is None:
        return FeatureEncoder(), FeatureEncoder()
    items = FeatureEncoder() if described.items is None else described.items.encoder
    return described.encoder, items
