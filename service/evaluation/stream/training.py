"""The trainings of a stream: read, searched, fitted and judged as the trainer does it."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from core.errors import DataError
from core.gate import FEWEST_USERS
from core.meaning import EventMeanings
from core.types import I64
from service.evaluation.rankers import settled
from service.evaluation.stream.events import Events
from service.learning.following.learned_weights import TrainedModel
from service.ranking.families import FAMILIES
from service.ranking.ranker import Ranker
from service.ranking.strategies import Strategy
from service.store.catalogue.documents import Body
from service.store.models.mixture import FirstStack
from service.store.profiles.history_reader import Histories
from service.store.profiles.history_record import sequences
from service.training.all_families.contest import contest_of
from service.training.all_families.foretelling import first_stack
from service.training.all_families.settled import COUNTED, Settled, ranker_of
from service.training.data.dataset import Dataset
from service.training.data.reading import read
from service.training.recipe import ServedRecipe
from service.training.splits import first_lead, popular_splits, validated_splits

OnShare = Callable[[float], None]
USERS_AT_ONCE = 5_000
PARTITION = 0


def trainable() -> list[Strategy]:
    """Return the families that learn from events alone."""
    known = (family for family in FAMILIES.values() if not family.reads_context)
    return [one.strategy for one in known if one.trained and not one.reads_item_features]


USUAL = tuple(name for name in trainable() if not FAMILIES[name].reads_user_features)
"""Families that are trained unless others are named."""


class PastHistories:
    """The histories at one moment of a stream, in the form in which the trainer reads them."""

    def __init__(self, events: Events, through: int) -> None:
        self._events, self._through = events, through
        self.n_items = int(events.item[:through].max(initial=-1)) + 1
        self.watermarks = [through]

    def pages(self) -> Iterator[Histories]:
        """Yield all users who have records, in pages."""
        events = self._events
        for first in range(0, len(events.user_ids), USERS_AT_ONCE):
            ptr = events.user_ptr[first : first + USERS_AT_ONCE + 1]
            users = np.repeat(np.arange(first, first + ptr.size - 1), np.diff(ptr))
            records = events.histories[ptr[0] : ptr[-1]]
            past = sequences(records) <= self._through
            known, user_ix = np.unique(users[past], return_inverse=True)
            if known.size:
                names = [events.user_ids[user] for user in known.tolist()]
                yield Histories(names, user_ix, records[past], _NOTHING, _NOTHING)

    def documents(self, users: list[str]) -> list[Body]:
        """Return empty documents: a file of events has none."""
        return [{} for _ in users]

    def contexts(self, users: list[str]) -> list[bytes]:
        """Return nothing: a file of events does not say where they happened."""
        return [b"" for _ in users]

    def item_documents(self) -> Iterator[list[Body]]:
        """Yield empty documents."""
        yield [{} for _ in range(self.n_items)]


_NOTHING: I64 = np.empty(0, np.int64)


@dataclass(frozen=True)
class Trained:
    """The models that serve after a training."""

    rankers: Sequence[Ranker] = ()
    models: Mapping[str, TrainedModel] = field(default_factory=dict)
    foretold: FirstStack | None = None
    """Only of a first training: later ones foretell nothing that was not learned by then."""


class Trainings:
    """Trains on schedule; the first training searches the settings, and foretells the stack."""

    def __init__(
        self,
        events: Events,
        meanings: EventMeanings,
        families: Sequence[Strategy],
        *,
        budget_s: float,
        seed: int,
        on_share: OnShare = lambda share: None,
    ) -> None:
        self._events, self._meanings, self._families = events, meanings, families
        self._budget_s, self._seed, self._on_share = budget_s, seed, on_share
        self._settled: list[Settled] | None = None

    def after(self, through: int) -> Trained:
        """Return the models of all events up to a sequence."""
        data, is_first = self._read(through), self._settled is None
        if self._settled is None:
            self._settled = settled(
                self._families, data.at_cut, self._budget_s, self._seed, self._on_share
            )
        made = [_trained(one, data, through) for one in self._settled]
        return Trained(
            [one.ranker for one in made],
            {one.ranker.strategy: one.about for one in made},
            self._foretold(data, [one.at_cut for one in made]) if is_first else None,
        )

    def _foretold(self, data: Dataset, at_cut: Sequence[Ranker]) -> FirstStack | None:
        """Return the weights that an order of all families would foretell."""
        if data.held_out.user_ix.size < FEWEST_USERS:
            return None
        trained = {ranker.strategy: ranker for ranker in at_cut}
        found = contest_of(trained, data, self._seed, self._on_share)
        return first_stack("the first", found.stack([*COUNTED, *trained]), [*trained])

    def _read(self, through: int) -> Dataset:
        data = read(
            PastHistories(self._events, through),
            self._meanings,
            with_documents=False,
            with_order=True,
        )
        if not len(data.whole.liked):
            raise DataError("no event before the stream says that somebody liked something")
        return data


class _Made(NamedTuple):
    """A ranker of all events, what is known of it, and the ranker of those before the cut."""

    ranker: Ranker
    about: TrainedModel
    at_cut: Ranker


def _trained(one: Settled, data: Dataset, through: int) -> _Made:
    """Fit to the events before a cut, measure the lead after it, and learn the rest."""
    recipe: ServedRecipe[Any] | None = one.recipe
    if recipe is None:
        raise TypeError(f"{one.family.strategy} is counted, not trained")
    data = recipe.held_out(data)
    fitted = recipe.fit(data.at_cut, one.config)
    validation = validated_splits(recipe, data, fitted, one.config)
    lead = first_lead(validation, popular_splits(recipe, data))
    ranker = at_cut = ranker_of(one.family, recipe, fitted, through={PARTITION: through})
    if data.cut.holds_out:
        fitted = recipe.fit(data.now, one.config, previous=fitted)
        ranker = ranker_of(one.family, recipe, fitted, through={PARTITION: through})
    return _Made(ranker, TrainedModel(ranker.version, lead, one.family.trusted), at_cut)
