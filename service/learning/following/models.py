"""The trained models as the follower judges them: what each would list for a user, as an api process would."""

from collections.abc import Mapping
from typing import Any, Protocol

import numpy as np

from core.batch.ocmf.users import StructuredUsers
from core.batch.preferences import Preferences
from core.batch.snapshot import encoders_of
from core.features import FeatureEncoder
from core.kernels import scan
from core.kernels.scan import Mask
from core.mixture import List
from core.mixture_weights import DEPTH
from core.ordinal.snapshot import stars_of
from core.ordinal.stars import Stars
from core.types import F32, I32
from service.served_models import ActiveModel

_EVERY: Mask = np.empty(0, np.bool_)


class Model(Protocol):
    """A trained model that serves."""

    version: str
    trained_through: int
    """Sequence in this partition."""
    knows_features: bool
    """Whether it asks for the features of the user's document."""

    def ranked(self, known: Preferences, features: Mapping[str, Any]) -> List | None:
        """Return its list for a user, None if it knows nothing of the user."""


class HistoryModel:
    """A model that makes the user's vector of the history, and of features if it was trained with some."""

    def __init__(
        self,
        version: str,
        users: StructuredUsers,
        trained_through: int,
        encoder: FeatureEncoder | None = None,
    ) -> None:
        self.version, self.trained_through = version, trained_through
        self._users = users
        self._encoder = encoder or FeatureEncoder()
        self.knows_features = self._encoder.width > 0

    def ranked(self, known: Preferences, features: Mapping[str, Any]) -> List | None:
        factors = self._users.row.item_factors
        own = known.within(len(factors))
        described = self._described(features) if self.knows_features else None
        if described is None and not self._users.row.knows(own.item_ix):
            return None
        vector = self._users.vector(own.item_ix, own.weight, own.target, described=described)
        return _nearest(vector, factors, known.seen, _EVERY)

    def _described(self, features: Mapping[str, Any]) -> F32 | None:
        row = self._encoder.transform([features])
        return self._users.described(row)[0] if row.nnz else None


class Starred:
    """An ordinal model: it knows users by their features, and items that have some."""

    knows_features = True

    def __init__(
        self, version: str, stars: Stars, trained_through: int, encoder: FeatureEncoder
    ) -> None:
        self.version, self.trained_through = version, trained_through
        self._stars, self._encoder = stars, encoder
        self._known: Mask = np.asarray(stars.item_vectors.any(axis=1))

    def ranked(self, known: Preferences, features: Mapping[str, Any]) -> List | None:
        row = self._encoder.transform([features])
        if not row.nnz:
            return None
        [vector] = self._stars.user_vectors(row)
        return _nearest(vector, self._stars.item_vectors, known.seen, self._known)


STRATEGIES = ("fbgd", "ocmf", "ordinal")
"""Those that are judged: who knows people by their features alone fades by itself where there is a history."""


def model_of(active: ActiveModel, partition: int) -> Model:
    """Return an active model as it is judged."""
    record, snapshot = active.record, active.snapshot
    through = int(record.cuts.get("trained_through", {}).get(str(partition), 0))
    encoder, _ = encoders_of(snapshot)
    if record.strategy == "ordinal":
        return Starred(record.version, stars_of(snapshot), through, encoder)
    users = active.users
    return HistoryModel(record.version, users, through, None if users.weights is None else encoder)


def _nearest(vector: F32, factors: F32, seen: I32, allowed: Mask) -> List:
    ids, scores = empty(len(factors))
    if ids.size:
        scan.scan(vector, factors, seen, allowed, ids, scores)
    return found(ids, scores)


def empty(n: int) -> List:
    """Return room for the first of n items."""
    size = min(n, DEPTH)
    return np.empty(size, np.int32), np.empty(size, np.float32)


def found(ids: I32, scores: F32) -> List:
    """Return a list without the places that no item took."""
    kept: Any = ids >= 0
    return ids[kept], scores[kept]
