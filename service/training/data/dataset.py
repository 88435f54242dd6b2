"""The dataset of a training: preferences, held-out users, features, ratings, order of events.

Users are numbered within the dataset, items by the namespace. ``reading.py`` makes one.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from core.batch.content.encoder import Described
from core.batch.here.likes import ContextLikes
from core.features import FeatureEncoder, LeftOut
from core.interactions import Interactions
from core.ordinal.fit_stars import RatedPairs
from core.steps import Steps
from core.types import I32, I64
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
    contexts: "Contexts | None" = None
    """Where events happened; only together with their order."""
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
        steps = None if self.order is None else self.order.known
        likes = None if self.contexts is None else self.contexts.known
        return self._material(self.known, rated, steps, likes)

    @property
    def now(self) -> Material:
        """Return the material of all events."""
        rated = None if self.rated is None else self.rated.pairs
        steps = None if self.order is None else self.order.whole
        likes = None if self.contexts is None else self.contexts.whole
        return self._material(self.whole, rated, steps, likes)

    def read_by(self, family: Family) -> "Dataset":
        """Return what a family learns from: without what it ignores."""
        encoded = self.encoded if family.reads_user_features else None
        if encoded is not None and not family.reads_item_features:
            encoded = replace(encoded, items=None)
        rated = self.rated if family.predicts_stars else None
        order = self.order if family.reads_order or family.reads_context else None
        contexts = self.contexts if family.reads_context else None
        described = self.described if family.reads_item_features else None
        earlier = tuple(one.read_by(family) for one in self.earlier)
        return replace(
            self,
            encoded=encoded,
            rated=rated,
            order=order,
            contexts=contexts,
            described=described,
            earlier=earlier,
        )

    def _material(
        self,
        pairs: Interactions,
        rated: RatedPairs | None,
        steps: Steps | None,
        likes: ContextLikes | None,
    ) -> Material:
        described, encoded = self.described, self.encoded
        if encoded is None:
            return Material(pairs, described=described, rated=rated, steps=steps, contexts=likes)
        items = None if encoded.items is None else encoded.items.features
        return Material(
            pairs,
            contexts=likes,
            user_features=encoded.features,
            links=encoded.links,
            item_features=items,
            described=described,
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


@dataclass(frozen=True, eq=False)
class Contexts:
    """Where events happened, as far as their clients said it and it is counted."""

    known: ContextLikes
    """What was liked where, at the cut."""
    whole: ContextLikes
    """What was liked where, until now."""
    later: I32
    """(steps after the cut,): number of the context of each step of ``Order.later``; -1: none."""
    of_number: Sequence[Mapping[str, str]]

    def of_step(self, step: int) -> Mapping[str, str]:
        """Return where a step after the cut happened; empty if that is not known."""
        number = int(self.later[step])
        return self.of_number[number] if number >= 0 else {}


@dataclass(frozen=True)
class RatedSample:
    """A sample of the ratings; a pair is represented by its latest rating."""

    pairs: RatedPairs
    known: NDArray[np.bool_]
    """(n,): whether the rating is from before the cut."""
