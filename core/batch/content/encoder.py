"""What is said of items as rows: the columns of their features, numbers between two of them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import scipy.sparse as sp

from core.features import FeatureEncoder, of_item


@dataclass(frozen=True)
class DocumentEncoder:
    """Turns documents of items into rows; ``to_json`` and ``of_json`` store it as JSON."""

    facts: FeatureEncoder = field(default_factory=FeatureEncoder)

    @property
    def width(self) -> int:
        """Return the number of columns."""
        return self.facts.width

    def transform(self, bodies: Sequence[Mapping[str, Any]]) -> sp.csr_array:
        """Return the rows (n, width) of documents; one that says nothing known is empty."""
        return self.facts.transform([of_item(body) for body in bodies], smooth=True)

    def to_json(self) -> dict[str, Any]:
        """Return the encoder as JSON values."""
        return {"facts": self.facts.to_json()}

    @classmethod
    def of_json(cls, stored: Mapping[str, Any]) -> "DocumentEncoder":
        """Return the encoder that ``to_json`` stored."""
        return cls(FeatureEncoder.of_json(stored["facts"]))


class Described(NamedTuple):
    """The items as their documents describe them."""

    encoder: DocumentEncoder
    rows: sp.csr_array
    """(items, encoder.width)"""
