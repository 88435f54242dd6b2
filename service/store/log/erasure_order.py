"""The order to erase a deleted user, which is appended together with the deletion.

One script writes both, so no crash leaves a deletion whose traces nobody looks for.
"""

from typing import Any, NamedTuple, Protocol

from service.store.keys import NamespaceKeys


class Order(Protocol):
    """What the append script does besides, in the same step."""

    def keys(self, namespace: str) -> tuple[str, ...]:
        """Return what is written."""

    def arguments(self) -> tuple[Any, ...]:
        """Return what the script must know."""


class ErasureOrder(NamedTuple):
    """An erasure that begins with its deletion, see ``erasures/records.py``."""

    id: str
    user: str
    receipt: bytes
    """JSON; the script sets its ``sequence``, the place of the deletion."""
    kept_s: int
    """Seconds for which the receipt can be read."""

    def keys(self, namespace: str) -> tuple[str, ...]:
        """Return what is written: receipt, open erasures; document and index of documents."""
        keys = NamespaceKeys(namespace)
        documents = keys.user_document(self.user), keys.user_documents
        return (keys.erasure(self.id), keys.erasures_due, *documents)

    def arguments(self) -> tuple[Any, ...]:
        """Return all fields."""
        return tuple(self)
