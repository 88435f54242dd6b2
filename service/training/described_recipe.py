"""What the recipes share of models that know people by their features alone."""

from typing import Any, TypedDict

from core.features import FeatureEncoder
from service.training.dataset import Dataset, Described
from service.training.judge import Verdict, described_judges, judged_by_features


class DescribedRecipe:
    """Such a model needs documents, and those judge it whom documents describe."""

    with_documents = with_items = True

    def judges(self, data: Dataset) -> Dataset:
        return described_judges(data)

    def judged(self, data: Dataset, model: Any) -> Verdict:
        return judged_by_features(data, model)


class Encoders(TypedDict):
    """What makes columns of users' and of items' features."""

    encoder: FeatureEncoder
    item_encoder: FeatureEncoder


def encoders(described: Described | None) -> Encoders:
    """Return what made the features of a fit; without columns where nothing is described."""
    if described is None:
        return {"encoder": FeatureEncoder(), "item_encoder": FeatureEncoder()}
    items = FeatureEncoder() if described.items is None else described.items.encoder
    return {"encoder": described.encoder, "item_encoder": items}
