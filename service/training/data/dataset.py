"""The dataset of a training: preferences, held-out users, features, ratings, order of events.

Users are numbered within the dataset, items by the namespace. ``reading.py`` makes one.
"""

from dataclasses import dataclass, field, replace

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from core.batch.content.encoder import Described
from core.features import FeatureEncoder, LeftOut
from core.interactions import Interactions
from core.ordinal.fit_stars import RatedPairs
from core.steps import Steps
from core.types import I64
from service.ranking.family import Family
from service.training.data.cuts import Cut
from service.training.data.material import Material


@dataclass(frozen=True)
class HeldOut:
    """n held-out users; each matrix has one row per user."""

    user_ix: I64
    """(n,): rows of the users in the dataset."""
    seen: Interactions
    """Items that count as seen at the cut."""
    held: Interactions
    """Positives after the cut that were not seen before it."""


@dataclass(frozen=True)
class EncodedUsers:
    """Features and links from the users' documents."""

    encoder: FeatureEncoder
    features: sp.csr_array
    """X (users, encoder.width)."""
    links: sp.csr_array
    """(users, users), weights."""
    items: "EncodedItems | None" = None
    left_out: LeftOut = field(default_factory=LeftOut)


@dataclass(frozen=True)
class EncodedItems:
    """Features from the items' documents."""

    encoder: FeatureEncoder
    features: sp.csr_array
    """(items, encoder.width)"""
    left_out: LeftOut = field(default_factory=LeftOut)


@dataclass(frozen=True)
class Dataset:
    """Training and validation data; ``known`` and ``whole`` have one row per user."""

    cut: Cut
    known: Interactions
    """Preferences at the cut."""
    whole: Interactions
    """Preferences now."""
    held_out: HeldOut
    encoded: EncodedUsers | None
    sequences: list[int]
    """Sequence of the last event included, by partition."""
    rated: "RatedSample | None" = None
    order: "Order | None" = None
    described: Described | None = None
    """What is said of the items, whether or not anything is said of users."""
    earlier: "tuple[Dataset, ...]" = ()
    """Earlier splits of the same histories, where few users can judge."""

    @property
    def splits(self) -> "tuple[Dataset, ...]":
        """Return all splits that judge: the dataset itself, then the earlier ones."""
        return (self, *self.earlier)

    @property
    def at_cut(self) -> Material:
        """Return the material from before the cut."""
        rated = None if self.rated is None else self.rated.pairs.rows(self.rated.known)
        return self._material(self.known, rated, None if self.order is None else self.order.known)

    @property
    def now(self) -> Material:
        """Return the material of all events."""
        rated = None if self.rated is None else self.rated.pairs
        return self._material(self.whole, rated, None if self.order is None else self.order.whole)

    def read_by(self, family: Family) -> "Dataset":
        """Return what a family learns from: without documents, ratings or order that it ignores."""
        encoded = self.encoded if family.reads_user_features else None
        if encoded is not None and not family.reads_item_features:
            encoded = replace(encoded, items=None)
        rated = self.rated if family.predicts_stars else None
        order = self.order if family.reads_order else None
        described = self.described if family.reads_item_features else None
        earlier = tuple(one.read_by(family) for one in self.earlier)
        return replace(
            self, encoded=encoded, rated=rated, order=order, described=described, earlier=earlier
        )

    def _material(
        self, pairs: Interactions, rated: RatedPairs | None, steps: Steps | None
    ) -> Material:
        encoded = self.encoded
        if encoded is None:
            return Material(pairs, described=self.described, rated=rated, steps=steps)
        items = None if encoded.items is None else encoded.items.features
        return Material(
            pairs,
            user_features=encoded.features,
            links=encoded.links,
            item_features=items,
            described=self.described,
            rated=rated,
            steps=steps,
        )


@dataclass(frozen=True)
class Order:
    """The steps of all users: every event that has a weight, whether they liked the item or not."""

    known: Steps
    """Steps at the cut."""
    later: Steps
    """Steps after the cut."""
    whole: Steps
    """Steps until now."""


@dataclass(frozen=True)
class RatedSample:
    """A sample of the ratings; a pair is represented by its latest rating."""

    pairs: RatedPairs
    known: NDArray[np.bool_]
    """(n,): whether the rating is from before the cut."""
