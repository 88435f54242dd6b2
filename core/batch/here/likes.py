"""Which items were liked in which contexts, as columns."""

from collections.abc import Sequence
from dataclasses import dataclass

from core.types import I32, I64

Said = tuple[str, str]
"""A name of a context and its text, as ``("device", "phone")``."""


@dataclass(frozen=True, eq=False)
class ContextLikes:
    """Each item that a user liked where a name had a text; a user counts once for each of them."""

    n_items: int
    said: Sequence[Said]
    """All names with their texts."""
    said_ix: I32
    """(n,): index in ``said``."""
    item_ix: I32
    """(n,)"""
    n_users: I64
    """(k,): how many users liked something where a name had a text, by its index in ``said``."""

    def __len__(self) -> int:
        return self.item_ix.size
