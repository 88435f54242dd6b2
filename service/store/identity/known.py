"""What a process knows of the store: which one it is, and how far it was at least."""

from dataclasses import dataclass
from typing import NamedTuple

from service.store.identity.identity import Identity


@dataclass(frozen=True)
class Positions:
    """How many events and items a store has."""

    sequences: tuple[int, ...] = ()
    """Number of the newest event of each partition."""
    items: int = 0
    """Number of items with a number."""

    def lacks(self, known: "Positions") -> bool:
        """Whether something is missing that was there before."""
        pairs = zip(self.sequences, known.sequences, strict=False)
        return self.items < known.items or any(now < before for now, before in pairs)

    def __str__(self) -> str:
        events = ", ".join(f"partition {p}: {n} events" for p, n in enumerate(self.sequences))
        return f"{events}; {self.items} items"


class Basis(NamedTuple):
    """What a write rests on: it is refused if that no longer holds when it reaches the store."""

    token: str = ""
    """The store that gave the item numbers in it, see ``Known``; empty: that of now."""
    keys: str | None = None
    """The version of the API keys by which its sender was let in; None if that was asked before."""
    in_time: bool = False
    """Whether it must not be carried out once its sender was told that its fate is not known: it
    would change what the sender does next."""


NO_BASIS = Basis()


class Known:
    """The knowledge of one process; ``watch`` replaces it, everything else adds to it.

    Every write of cached knowledge carries a token. A script refuses a token that is not that of
    the store; so a cache from before a rollback can never be written.
    """

    def __init__(self, partitions: int = 1) -> None:
        self.token = ""
        """Identity and run of the store; empty until the first survey: then any store will do."""
        self.identity: Identity | None = None
        self.run = ""
        self.had_keys = False
        """Whether there ever was an API key."""
        self._sequences = [0] * partitions
        self._items = 0

    @property
    def positions(self) -> Positions:
        """How far the store was when this process last heard of it."""
        return Positions(tuple(self._sequences), self._items)

    def sequence(self, partition: int) -> int:
        """Return the newest event of a partition that this process has heard of."""
        return self._sequences[partition]

    def note_sequence(self, partition: int, sequence: int) -> None:
        """Note that the partition has an event."""
        self._sequences[partition] = max(self._sequences[partition], sequence)

    def note_items(self, items: int) -> None:
        """Note how many items have a number."""
        self._items = max(self._items, items)

    def adopt(self, identity: Identity, run: str, positions: Positions) -> None:
        """Trust the store from now on, as far as it is now."""
        self.identity, self.run = identity, run
        self.token = f"{identity}/{run}"
        self._sequences, self._items = list(positions.sequences), positions.items

    def distrust(self) -> None:
        """Let every script refuse what this process writes."""
        self.token = "another store"  # noqa: S105 - no secret: a token that no store has
