"""The figures of a stream, from the answers to its questions."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from core.gate import paired_interval
from core.mixture_weights import reciprocal_rank
from core.stack.arms import FUSION, STACK
from core.stack.choices import ndcg10
from core.types import F64, I64
from service.evaluation.stream.loop import FIRST_EVENTS, Answered
from service.ranking.strategies import MIXTURE, POPULAR, Strategy

LENGTHS = (1, 2, 3, 5, 10, 20, 50, 100, 200, 500)
"""Least numbers of preferences of the ranges by which figures are told apart."""
_NONE = -1


@dataclass(frozen=True, eq=False)
class Figures:
    """n answered questions and the ranks of their items, arrays (n,).

    A family that does not know the user answers as popularity does, as it would in service; so
    all families are compared on the same questions.
    """

    ranks: Mapping[Strategy, I64]
    """By family, and of the mixture."""
    arms: Mapping[str, I64]
    """By arm that is not a family; as long as there is no stack, the fusion answers."""
    listed: Mapping[Strategy, int]
    """Number of questions for which a family had a list of its own."""
    length: I64
    """Number of preferences of the user."""

    @classmethod
    def of(cls, answers: Sequence[Answered]) -> "Figures":
        """Return the figures of some answers."""
        verdicts = [one.verdict for one in answers]
        own, arms = _table([one.ranks for one in verdicts]), [one.combined for one in verdicts]
        mixed = np.array([one.mixed for one in verdicts], np.int64)
        return cls(
            ranks={MIXTURE: mixed, **_filled(own, POPULAR)},
            arms=_filled(_table([{STACK: _NONE, **one} for one in arms]), FUSION),
            listed={name: int((rank != _NONE).sum()) for name, rank in own.items()},
            length=np.array([one.n_known for one in verdicts], np.int64),
        )

    def __len__(self) -> int:
        return self.length.size

    @cached_property
    def gains(self) -> Mapping[Strategy, F64]:
        """Return ndcg@10 of each question, (n,) by family, and of the mixture."""
        return {name: ndcg10(ranks) for name, ranks in self.ranks.items()}

    @property
    def families(self) -> list[Strategy]:
        return [name for name in self.ranks if name != MIXTURE]

    def where(self, chosen: NDArray[np.bool_]) -> "Figures":
        """Return the figures of some of the questions."""
        ranks, arms = (
            {name: rank[chosen] for name, rank in table.items()}
            for table in (self.ranks, self.arms)
        )
        return Figures(ranks, arms, self.listed, self.length[chosen])

    def compared(self) -> dict[str, Any]:
        """Return ndcg@10 of the mixture and of each family, the best of these, and the lead on it.

        The lead has its 95 % interval, paired over the questions.
        """
        families = {name: _mean(self.gains[name]) for name in self.families}
        best = max(families, key=families.__getitem__)
        rng = np.random.default_rng(0)
        lead = paired_interval(self.gains[MIXTURE], self.gains[best], rng)
        return {
            "judged": len(self),
            "mixture": _mean(self.gains[MIXTURE]),
            "best_family": {"name": best, "ndcg@10": families[best]},
            "lead": asdict(lead),
            "families": families,
            "arms": {name: _mean(ndcg10(ranks)) for name, ranks in self.arms.items()},
        }


def _table(given: Sequence[Mapping[str, int]]) -> dict[str, I64]:
    """Return the ranks of each name, (n,)."""
    names = dict.fromkeys(name for one in given for name in one)
    return {name: np.array([one.get(name, _NONE) for one in given], np.int64) for name in names}


def _filled(ranks: Mapping[str, I64], otherwise: str) -> dict[str, I64]:
    """Return the ranks with those of another name where there was no list."""
    return {name: np.where(rank == _NONE, ranks[otherwise], rank) for name, rank in ranks.items()}


def report(answers: Sequence[Answered], windows: Sequence[range]) -> dict[str, Any]:
    """Return the report of a stream with these windows between trainings, without its times."""
    sample = [one for one in answers if not one.question.first]
    whole = Figures.of(sample)
    return {
        "n_judged": len(whole),
        MIXTURE: _means(whole.ranks[MIXTURE]),
        "arms": {name: _means(ranks) for name, ranks in whole.arms.items()},
        "families": {
            name: {**_means(whole.ranks[name]), "judged": whole.listed[name]}
            for name in whole.families
        },
        "by_length": _by_length(whole),
        "new_users": _of_new_users(answers),
        "windows": _by_window(sample, windows),
    }


def _by_length(whole: Figures) -> list[dict[str, Any]]:
    """Return the figures for each range of lengths that was judged."""
    ends = [*(least - 1 for least in LENGTHS[1:]), None]
    found = []
    for least, most in zip(LENGTHS, ends, strict=True):
        chosen = (whole.length >= least) & (whole.length <= (most or whole.length))
        if chosen.any():
            found.append({"from": least, "to": most, **whole.where(chosen).compared()})
    return found


def _of_new_users(answers: Sequence[Answered]) -> list[dict[str, Any]]:
    """Return the figures after the first events of users who are new in the stream."""
    found = []
    for n in FIRST_EVENTS:
        asked = [one for one in answers if one.question.first == n]
        if asked:
            openings = np.array([one.openings for one in asked], np.int64)
            about = {"events": n, "openings": _mean(ndcg10(openings))}
            found.append({**about, **Figures.of(asked).compared()})
    return found


def _by_window(sample: Sequence[Answered], windows: Sequence[range]) -> list[dict[str, Any]]:
    """Return the figures between trainings."""
    found = []
    for n, events in enumerate(windows):
        asked = [one for one in sample if one.window == n]
        if asked:
            about = {"from": events.start + 1, "to": events.stop}
            found.append({**about, **Figures.of(asked).compared()})
    return found


def _means(ranks: I64) -> dict[str, float]:
    """Return the mean ndcg@10 and reciprocal rank."""
    reciprocal = np.array([reciprocal_rank(rank) for rank in ranks.tolist()])
    return {"ndcg@10": _mean(ndcg10(ranks)), "mrr": _mean(reciprocal)}


def _mean(values: F64) -> float:
    return float(values.mean()) if values.size else 0.0
