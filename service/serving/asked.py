"""One request for a slate, its answer, and where a page of it ended."""

from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import Struct

from service.ranking.slates import Slate
from service.ranking.strategies import Strategy
from service.ranking.wanted import Wanted
from service.store.profiles.user_histories import HistoryAnswer


class PagePosition(Struct, frozen=True):
    """The end of a page: the models and events that its order is made of, and what was shown."""

    strategy: Strategy
    versions: Mapping[str, str]
    """Versions of the models that rank, by strategy."""
    seen_through: int
    """Sequence of the last event of the user that counts for the order."""
    shown: Sequence[int]
    """Numbers of the items shown so far, rising."""


class Asked(Struct, frozen=True):
    """One request for a slate."""

    wanted: Wanted
    user: str | None = None
    history: HistoryAnswer | None = None
    """The history of somebody who is no user; nothing of it is kept."""
    features: Mapping[str, Any] | None = None
    """Features of the asker; None: those in the user's document."""
    exclude: Sequence[str] = ()
    candidates: Sequence[str] | None = None
    item: str | None = None
    """The item that similar ones are asked for; it is left out itself."""
    exclude_seen: bool = True
    category: str | None = None
    filter: str | None = None
    after: PagePosition | None = None


class Answer(Struct, frozen=True):
    """A slate with the ids of its items."""

    slate: Slate
    ids: Sequence[str]
    seen_through: str
    time_ms: int
    removed: int
    """Items that the filter left out."""
    position: PagePosition | None
    """Where it ended; None at the end of the list."""
    because: Sequence[Sequence[tuple[str, float]]] | None = None
    """For each item the past items that carry its score, if that was asked for."""


def position_after(made: Slate, newest: int, after: PagePosition | None) -> PagePosition:
    """Return where the page after ``after`` ends; ``newest`` is the last event of the user."""
    shown = [*made.skipped, *[pick.item for pick in made.picks]]
    strategy, versions = made.pages.strategy, made.pages.versions
    if after is None:
        return PagePosition(strategy, versions, newest, sorted(shown))
    return PagePosition(strategy, versions, after.seen_through, sorted({*after.shown, *shown}))
