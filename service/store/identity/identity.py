"""The identity of a namespace in its store: an incarnation, and an era of it.

The incarnation is drawn when the namespace is created. A new era begins when the store is found to
have lost something: an older copy of its files, a lost tail, a replica that lagged. The mark is
random, so that two eras of one number never look alike.
"""

import secrets
from dataclasses import dataclass
from typing import Self


@dataclass(frozen=True)
class Identity:
    """Stored as text with the namespace and in the state of each partition."""

    incarnation: str
    era: int
    mark: str

    def __str__(self) -> str:
        return f"{self.incarnation}.{self.era}.{self.mark}"

    @classmethod
    def new(cls) -> Self:
        """Return the identity of a namespace that is being created."""
        return cls(secrets.token_hex(8), 0, secrets.token_hex(4))

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read the stored text.

        >>> Identity.parse("9f2c01ab34de5678.2.5c1d9a00").era
        2
        """
        incarnation, era, mark = text.split(".")
        return cls(incarnation, int(era), mark)

    def after(self, other: "Identity") -> "Identity":
        """Return the next era of this incarnation, later than ``other``, too."""
        is_ours = other.incarnation == self.incarnation
        era = max(self.era, other.era if is_ours else 0) + 1
        return Identity(self.incarnation, era, secrets.token_hex(4))
