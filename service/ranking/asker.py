"""The person that items are ranked for: their preferences, and cached results of rankers."""

from collections.abc import Mapping
from typing import TypeAlias

import msgspec
import numpy as np
from msgspec import Struct

from core.batch.preferences import Preferences
from core.types import F32
from service.ranking.pool import HEAD, NOTHING, Head, Pool
from service.ranking.strategies import Strategy, is_mixture

VectorOf: TypeAlias = tuple[Strategy, str]
"""What a cached vector belongs to: a family, and the version of its model."""

_NONE: F32 = np.empty(0, np.float32)


class Computed(Struct, frozen=True, eq=False):
    """The results of a ranker for an asker, which a cache may keep until the history changes."""

    strategy: Strategy
    version: str
    """The version of the model that ``vector`` belongs to."""
    vector: F32 | None = None
    head: Head | None = None

    @property
    def vector_of(self) -> VectorOf:
        """Return the name of the vector in a cache."""
        return self.strategy, self.version


class Asker(Struct, frozen=True, eq=False):
    """The person who asks. Rankers only read it and return what they computed (``Computed``)."""

    preferences: Preferences
    vectors: Mapping[VectorOf, F32] = msgspec.field(default_factory=dict)
    """The user's vectors, computed from the history alone."""
    heads: Mapping[Strategy, Head] | None = None
    """Cached heads; None: heads cannot be cached, or the answer may contain seen items."""
    warmed: Mapping[Strategy, Head] = msgspec.field(default_factory=dict)
    """Heads that were computed in advance, before their models went live."""
    row: F32 | None = None
    """The user's row of the online model; None: there is none, or no ranker needs it."""
    features: Mapping[str, F32] = msgspec.field(default_factory=dict)
    """The asker's feature vector by version, for models that read users' features."""
    context: Mapping[str, str] = msgspec.field(default_factory=dict)
    """Where the list is shown: names and texts as clients say them."""
    unknown: str = "nothing that the model could use is known of this user yet"
    """The reason that an answer gives if the rankers do not know the asker."""

    def may_use_heads(self, pool: Pool, n: int) -> bool:
        """Whether a cached head may answer for this pool."""
        return self.heads is not None and pool.candidates is None and n <= HEAD

    def head(self, strategy: Strategy, version: str) -> Head | None:
        """Return the cached head of a strategy if it has this version."""
        for cached in (self.heads or {}, self.warmed):
            head = cached.get(strategy)
            if head is not None and head.version == version:
                return head
        return None

    def without_mixtures(self) -> "Asker":
        """Return the asker without cached heads of mixtures; heads may be cached as before."""
        if self.heads is None:
            return self
        heads = {name: head for name, head in self.heads.items() if not is_mixture(name)}
        warmed = {name: head for name, head in self.warmed.items() if not is_mixture(name)}
        return msgspec.structs.replace(self, heads=heads, warmed=warmed)

    def having(self, made: Computed | None) -> "Asker":
        """Return the asker with a newly computed vector."""
        if made is None or made.vector is None:
            return self
        vectors = {**self.vectors, made.vector_of: made.vector}
        return msgspec.structs.replace(self, vectors=vectors)


NOBODY = Asker(Preferences(NOTHING, _NONE, _NONE, NOTHING))
"""An asker about whom nothing is known."""
