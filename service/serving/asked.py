"""A request for a slate, its answer, and the position where a page ended."""

from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import Struct

from service.ranking.slates.slate import Slate
from service.ranking.slates.wanted import Wanted
from service.ranking.strategies import Strategy
from service.serving.standing import Standing
from service.serving.user_state import UserState
from service.store.profiles.user_histories import HistoryAnswer


class PagePosition(Struct, frozen=True):
    """The end of a page: the models and events that its order is made of, and what was shown."""

    strategy: Strategy
    versions: Mapping[str, str]
    """Versions of the models that rank, by strategy, or their beginnings."""
    seen_through: int
    """Sequence of the last event of the user that counts for the order."""
    shown: Sequence[int]
    """Numbers of the items shown so far, rising."""


class Asked(Struct, frozen=True):
    """One request for a slate."""

    wanted: Wanted
    user: str | None = None
    history: HistoryAnswer | None = None
    """The history of an anonymous asker; it is not stored."""
    unknown: Sequence[str] = ()
    """Items of that history that nothing was ever said of."""
    context: Mapping[str, str] = {}
    """Where the list is shown."""
    features: Mapping[str, Any] | None = None
    """Features of the asker; None: use those in the user's document."""
    exclude: Sequence[str] = ()
    candidates: Sequence[str] | None = None
    item: str | None = None
    """The item to find similar items for; the answer leaves it out."""
    exclude_seen: bool = True
    seen_by: str = "exclude_seen"
    """The parameter that leaves out what the user has seen."""
    category: str | None = None
    filter: str | None = None
    after: PagePosition | None = None

    @property
    def plain(self) -> bool:
        """Whether a user wants the best items, without any condition."""
        conditions = (self.after, self.filter, self.category, self.candidates, self.features)
        usual = self.user is not None and self.exclude_seen and not self.exclude
        return usual and self.wanted.plain and all(one is None for one in conditions)


class Answer(Struct, frozen=True):
    """A slate with the ids of its items."""

    slate: Slate
    ids: Sequence[str]
    seen_through: str
    time_ms: int
    removed: int
    """Number of items that the filter left out."""
    unknown: Mapping[str, Sequence[str]]
    """Ids that nothing was ever said of, by the part of the request that names them."""
    position: PagePosition | None
    """Position where it ended; None at the end of the list."""
    because: Sequence[Sequence[tuple[str, float]]] | None = None
    """For each item, past items and their contributions to its score; None: not asked for."""
    state: UserState | None = None
    """The cached state of the user that it was made from, if it may be given again."""
    standing: Standing | None = None
    """What decides for how long it may be given again; None: not at all."""


def position_after(made: Slate, newest: int, after: PagePosition | None) -> PagePosition:
    """Return the end of the page that follows ``after``; ``newest`` is the user's last event."""
    shown = [*made.skipped, *[pick.item for pick in made.picks]]
    strategy, versions = made.pages.strategy, made.pages.versions
    if after is None:
        return PagePosition(strategy, versions, newest, sorted(shown))
    return PagePosition(strategy, versions, after.seen_through, sorted({*after.shown, *shown}))
