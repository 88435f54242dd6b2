"""The material of a fit: pairs and side information.

A training reads it from the histories, an evaluation from files.
"""

from dataclasses import dataclass
from typing import Any

import scipy.sparse as sp

from core.batch.content.encoder import Described
from core.batch.here.likes import ContextLikes
from core.batch.ocmf.graph import similarity
from core.interactions import Interactions
from core.ordinal.fit_stars import RatedPairs
from core.steps import Steps, steps_of


@dataclass(frozen=True)
class Material:
    """Everything that a model may learn from; None for kinds of data that are absent."""

    pairs: Interactions
    user_features: sp.csr_array | None = None
    """(users, d)"""
    links: Any = None
    """Links between users: (users, users) weights, or (links, 2) user numbers."""
    item_features: sp.csr_array | None = None
    """(items, d)"""
    described: Described | None = None
    """What is said of the items."""
    rated: RatedPairs | None = None
    """A sample of the ratings."""
    steps: Steps | None = None
    """The order of events, of any meaning."""
    contexts: ContextLikes | None = None
    """What was liked in which contexts."""

    @property
    def order(self) -> Steps | None:
        """Return the steps, or else the pairs in the order of their times; None without times."""
        pairs = self.pairs
        if self.steps is not None or pairs.time is None:
            return self.steps
        shape = {"n_users": pairs.n_users, "n_items": pairs.n_items}
        return steps_of(pairs.user_ix, pairs.item_ix, pairs.time, **shape, weight=pairs.weight)

    @property
    def similar(self) -> sp.csr_array | None:
        """Return the symmetric weights of the links, None if there are no links."""
        links = self.links
        if links is None or (isinstance(links, sp.csr_array) and links.nnz == 0):
            return None
        return similarity(links, self.pairs.n_users)
