"""Measure families together: candidates of the next events, and the stack of any subset."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import msgspec
import numpy as np
from numpy.typing import NDArray

from core.kernels.scan import Mask
from core.stack.choices import Choice, Choices, choices_of, joined, ndcg10, ranks
from core.stack.fitting import PRIOR
from core.stack.guard import Guarded, cross_fitted, guarded
from core.types import F32, F64, I32, I64
from service.ranking.asker import Asker
from service.ranking.families import FAMILIES
from service.ranking.pool import Pool
from service.ranking.ranker import Ranker
from service.ranking.stack import (
    OF_HISTORY,
    heads_of,
    history_signals,
    score_columns,
    signal_names,
)
from service.training.all_families.settled import COUNTED
from service.training.data.dataset import Dataset
from service.training.data.next_events import NextEvents, first_events, next_events

OnShare = Callable[[float], None]


@dataclass(frozen=True, eq=False)
class Contest:
    """The signals of some rankers for the candidates of all of them."""

    rankers: Mapping[str, Ranker]
    """By name of the recipe, or of the family where there is none."""
    choices: Choices
    """The columns are the signals of all rankers, in order, then those of the history."""
    headed: Mask
    """Whether an item is among the first of a ranker, (rows, rankers)."""
    user_of: I64
    """The user of each event, (events,)."""
    of_beginners: Mask
    """Which events are of beginners, (events,): they teach a stack, and no gain counts them."""
    seed: int

    def gains(self, names: Sequence[str], pull: float = PRIOR) -> F64:
        """Return ndcg@10 of each user (users,) by the stack of these rankers, cross-fitted.

        ``pull`` is that of each fit towards what is expected, in events.
        """
        choices, at = self._of(names)
        score = cross_fitted(choices, self._signals(names), self._rng(), pull=pull)
        gain: F64 = np.zeros(len(choices)) if score is None else ndcg10(ranks(choices, score))
        return self._by_user(gain, at)

    def alone(self, name: str) -> F64:
        """Return ndcg@10 of each user (users,) by the own list of a ranker."""
        choices, at = self._of([name])
        return self._by_user(ndcg10(ranks(choices, choices.signals[:, 0])), at)

    def stack(self, names: Sequence[str], pulls: Sequence[float] = (PRIOR,)) -> Guarded | None:
        """Return the stack of these rankers, fitted to all events; None: no item is listed.

        ``pulls`` are those that are tried (``guarded``).
        """
        choices, _ = self._of(names)
        if not (choices.taken >= 0).any():
            return None
        columns = score_columns(self._chosen(names))
        return guarded(choices, self._signals(names), columns, self._rng(), pulls=pulls)

    def _of(self, names: Sequence[str]) -> tuple[Choices, NDArray[np.intp]]:
        """Return the choices of some rankers as if there were no others, and their events.

        Events without any candidate are left out.
        """
        chosen = [at for at, name in enumerate(self.rankers) if name in names]
        widths = [len(ranker.signals) for ranker in self.rankers.values()]
        first = np.concatenate([[0], np.cumsum(widths)])
        columns = [np.arange(first[at], first[at + 1]) for at in chosen]
        columns.append(np.arange(first[-1], first[-1] + len(OF_HISTORY)))
        rows: Mask = np.any(self.headed[:, chosen], axis=1)
        return _only(self.choices, rows, np.concatenate(columns))

    def _chosen(self, names: Sequence[str]) -> list[Ranker]:
        return [ranker for name, ranker in self.rankers.items() if name in names]

    def _signals(self, names: Sequence[str]) -> list[str]:
        return signal_names(self._chosen(names))

    def _by_user(self, gain: F64, events: NDArray[np.intp]) -> F64:
        """Return the mean gain of each user; an event without candidates gained nothing."""
        of_event: F64 = np.zeros(self.user_of.size)
        of_event[events] = gain
        known = ~self.of_beginners
        _, user = np.unique(self.user_of[known], return_inverse=True)
        means: F64 = np.bincount(user, of_event[known]) / np.bincount(user)
        return means

    def _rng(self) -> np.random.Generator:
        return np.random.default_rng([self.seed, 2])


def contest_of(
    trained: Mapping[str, Ranker], data: Dataset, seed: int, on_share: OnShare
) -> Contest:
    """Let rankers that were trained up to the cut compete, beside those that need no training."""
    counted = {name: made(FAMILIES[name], data.at_cut) for name, made in COUNTED.items()}
    events = next_events(data).and_then(first_events(data))
    return contest({**counted, **trained}, events, seed, on_share)


def contest(
    rankers: Mapping[str, Ranker], events: NextEvents, seed: int, on_share: OnShare
) -> Contest:
    """Let all rankers list and score the candidates of each event."""
    listed: list[Choice] = []
    headed: list[Mask] = []
    for n in range(len(events)):
        choice, heads = _judged(rankers, events, n)
        listed.append(choice)
        headed.append(heads)
        on_share(n / len(events))
    width = sum(len(ranker.signals) for ranker in rankers.values()) + len(OF_HISTORY)
    kept = [n for n, choice in enumerate(listed) if len(choice.signals)]
    none = [np.zeros((0, len(rankers)), np.bool_)]
    return Contest(
        rankers,
        choices_of(listed) if kept else _nothing(width),
        np.concatenate([*none, *headed]),
        events.user_ix[kept],
        events.of_beginners[kept],
        seed,
    )


def pooled(parts: Sequence[Contest]) -> Contest:
    """Return the contests of several splits as one; the rankers of each knew nothing later."""
    if len(parts) == 1:
        return parts[0]
    return replace(
        parts[0],
        choices=joined([one.choices for one in parts]),
        headed=np.concatenate([one.headed for one in parts]),
        user_of=np.concatenate([one.user_of for one in parts]),
        of_beginners=np.concatenate([one.of_beginners for one in parts]),
    )


def _judged(rankers: Mapping[str, Ranker], events: NextEvents, n: int) -> tuple[Choice, Mask]:
    """Return event n with the candidates of all rankers, and who has them among the first."""
    data, user = events.data, int(events.user_ix[n])
    asker = Asker(events.preferences(n), context=events.context(n))
    if data.encoded is not None:
        row = data.encoded.features[[user]]
        vectors = {one.version: one.encoded_vector(row) for one in rankers.values()}
        features = {version: found for version, found in vectors.items() if found is not None}
        asker = msgspec.structs.replace(asker, features=features)
    pool = Pool(np.ones(data.known.n_items, np.bool_), asker.preferences.seen)
    heads = [_head(ranker, asker, pool) for ranker in rankers.values()]
    items = np.unique(np.concatenate(heads)).astype(np.int32)
    columns = [ranker.signals_of(asker, items) for ranker in rankers.values()]
    signals = np.hstack([*columns, history_signals(asker, items)])
    at = int(np.searchsorted(items, events.item[n]))
    taken = at if at < items.size and items[at] == events.item[n] else -1
    found = np.stack([np.isin(items, head) for head in heads], axis=1)
    return Choice(signals, taken, asker.preferences.item_ix.size), found


def _head(ranker: Ranker, asker: Asker, pool: Pool) -> I32:
    """Return the candidates that a ranker names, as in a served stack."""
    if not ranker.family.for_everybody and not ranker.knows(asker):
        return np.empty(0, np.int32)
    return ranker.mixing_list(asker, pool, heads_of(ranker)).items


def _only(
    choices: Choices, rows: Mask, columns: NDArray[np.int64]
) -> tuple[Choices, NDArray[np.intp]]:
    """Return some rows and columns of the choices, and the events that have any rows left."""
    counts = np.bincount(choices.event[rows], minlength=len(choices))
    events = np.flatnonzero(counts)
    ptr = np.concatenate([[0], np.cumsum(counts[events])]).astype(np.int64)
    before = np.concatenate([[0], np.cumsum(rows)])
    old = choices.taken[events]
    listed = (old >= 0) & rows[old]
    taken = np.where(listed, before[old], -1)
    signals: F32 = choices.signals[np.ix_(rows, columns)]
    return Choices(ptr, signals, taken.astype(np.int64), choices.length[events]), events


def _nothing(width: int) -> Choices:
    none = np.zeros(0, np.int64)
    return Choices(np.zeros(1, np.int64), np.zeros((0, width), np.float32), none, none.astype("i4"))
