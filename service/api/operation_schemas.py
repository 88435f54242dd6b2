"""Answers of the routes for operators."""

from typing import Literal

from service.api.figures import Figure
from service.api.schemas import Answer
from service.api.times import Time


class Health(Answer):
    """The process answers."""

    status: Literal["ok"]
    """The process answers."""
    version: str
    """Version of the service."""


class Ready(Answer):
    """The process can serve; the other fields say what else works."""

    status: Literal["ready"]
    """The process can serve."""
    namespace: str
    """The namespace that the process serves."""
    serving: bool
    """Lists are made: models, catalogue and popular items are in memory. If not, this is a 503."""
    accepting: bool
    """Whether feedback and documents are stored; if not, writes get 503."""
    learning: bool
    """Whether every partition has a learner; without one, feedback is stored but not learned."""
    training: bool
    """Whether a trainer takes jobs; without one, they wait."""
    stale_s: Figure | None
    """Seconds since the store last answered, if it does not answer now; answers from memory may be
    as old as this."""
    durable: bool
    """Whether an acknowledged event survives a power cut."""
    warning: str | None
    """What is wrong, and what to do."""


class KindMeaning(Answer):
    """The meaning of one kind of feedback for the rankers."""

    name: str
    """The value of `kind` in such feedback."""
    code: int
    """The number that the log keeps for the kind."""
    weight: float
    """How much such an event counts; 0: it counts only for click-through and for new items."""
    sign: int
    """1: the user wants the item; -1: does not; 0: neither."""
    hides: bool
    """Whether the item is left out of the user's lists afterwards."""


class RatingMeaning(Answer):
    """The meaning of a rating for the rankers; the experts learn it too."""

    positive_from: Figure
    """The lowest rating that says that a user wants the item."""
    negative_to: Figure
    """The highest rating that says that a user does not want the item."""
    weight: float
    """How much a rating counts."""
    hides: bool
    """Whether a rated item is left out of the user's lists afterwards."""


class PartitionStats(Answer):
    """One partition's learner and log."""

    partition: int
    """The number of the partition, from 0."""
    appended: int
    """Number of the newest event."""
    learned_through: int
    """Number of the newest event that is learned."""
    lag_events: int
    """Events that wait to be learned."""
    lag_ms: int
    """Milliseconds since the newest learned event was accepted; 0 if none waits."""
    log_bytes: int
    """Bytes of the events that wait to be learned."""
    learner: str | None
    """The process that learns; null if there is none."""
    epoch: int
    """Raised by each learner that takes over."""
    generation: int
    """Raised by each rebuild."""
    ratings: int
    """Ratings that the experts have learned."""
    duplicates: int
    """Events that were dropped as repeats."""
    other_events: int
    """Events of other kinds."""
    deletions: int
    """Deletions that were learned."""
    trimmed_records: int
    """Old events that were removed from histories that had become too long."""
    dead_letters: int
    """Entries of the log that could not be learned; `hedgerow dead-letters` shows why."""
    memory: dict[str, int]
    """About how many bytes each kind of key takes."""


class NewItemStats(Answer):
    """The items that are new now: items with few events and few impressions."""

    items: int
    """How many new items there are."""
    shown: int
    """Impressions of new items (events of the kind `impression`)."""
    clicked: int
    """Clicks on new items (events of the kind `click`)."""
    share: float
    """Share of the positions in a list, after the first three, that new items get."""


class Positions(Answer):
    """How many events and items a store has."""

    sequences: list[int]
    """The newest event of each partition."""
    items: int
    """Items with a number."""


class RollbackStats(Answer):
    """A time when the store was found to have lost something that it had acknowledged."""

    at: Time
    """When it was found."""
    era: int
    """The era of the store that began with it, from 1."""
    known: Positions
    """The last events and items that it was known to have acknowledged."""
    found: Positions
    """The last events and items that it still had."""


class Stats(Answer):
    """Statistics of the service."""

    namespace: str
    """The namespace that the process serves."""
    created: Time
    """When the namespace was made."""
    scale: str
    """The scale of ratings, `lowest:highest`."""
    durable: bool
    """Whether an acknowledged event survives a power cut."""
    warning: str | None
    """What is wrong, and what to do."""
    store: str
    """The server that stores everything, and its version."""
    model_version: str
    """The version of the online model."""
    items: int
    """Ids of items that are known, from documents or feedback."""
    new_items: NewItemStats
    """The items that are new now."""
    partitions: list[PartitionStats]
    """Each partition's learner and log."""
    rollbacks: list[RollbackStats]
    """When the store was found to have lost something, the newest 20, the newest first."""
    memory: dict[str, int]
    """About how many bytes each kind of key takes, in all partitions."""
    rating: RatingMeaning
    """The meaning of a rating."""
    kinds: list[KindMeaning]
    """The meaning of each kind of feedback."""
    seen_through: str
    """The last events that are learned."""
