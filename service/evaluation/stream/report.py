"""The figures of a stream, from the answers to its questions."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from core.gate import paired_interval
from core.mixture_weights import ndcg10, reciprocal_rank
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
    listed: Mapping[Strategy, int]
    """Number of questions for which a family had a list of its own."""
    length: I64
    """Number of preferences of the user."""
    user: I64

    @classmethod
    def of(cls, answers: Sequence[Answered]) -> "Figures":
        """Return the figures of some answers."""
        names = dict.fromkeys(name for one in answers for name in one.verdict.ranks)
        own = {
            name: np.array([one.verdict.ranks.get(name, _NONE) for one in answers], np.int64)
            for name in names
        }
        popular = own.get(POPULAR, np.zeros(len(answers), np.int64))
        ranks = {name: np.where(rank == _NONE, popular, rank) for name, rank in own.items()}
        mixed = np.array([one.verdict.mixed for one in answers], np.int64)
        return cls(
            {MIXTURE: mixed, **ranks},
            {name: int((rank != _NONE).sum()) for name, rank in own.items()},
            np.array([one.verdict.n_known for one in answers], np.int64),
            np.array([one.user for one in answers], np.int64),
        )

    def __len__(self) -> int:
        return self.length.size

    @cached_property
    def gains(self) -> Mapping[Strategy, F64]:
        """Return ndcg@10 of each question, (n,) by family, and of the mixture."""
        return {
            name: np.array([ndcg10(rank) for rank in ranks.tolist()])
            for name, ranks in self.ranks.items()
        }

    @property
    def families(self) -> list[Strategy]:
        return [name for name in self.ranks if name != MIXTURE]

    def where(self, chosen: NDArray[np.bool_]) -> "Figures":
        """Return the figures of some of the questions."""
        ranks = {name: rank[chosen] for name, rank in self.ranks.items()}
        return Figures(ranks, self.listed, self.length[chosen], self.user[chosen])

    def means(self, name: Strategy) -> dict[str, float]:
        """Return the mean ndcg@10 and reciprocal rank."""
        reciprocal = [reciprocal_rank(rank) for rank in self.ranks[name].tolist()]
        return {"ndcg@10": _mean(self.gains[name]), "mrr": _mean(np.array(reciprocal))}

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
        }


def report(answers: Sequence[Answered], windows: Sequence[range]) -> dict[str, Any]:
    """Return the report of a stream with these windows between trainings, without its times."""
    sample = [one for one in answers if not one.question.first]
    whole = Figures.of(sample)
    return {
        "n_judged": len(whole),
        MIXTURE: whole.means(MIXTURE),
        "families": {
            name: {**whole.means(name), "judged": whole.listed[name]} for name in whole.families
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
            found.append({"events": n, **Figures.of(asked).compared()})
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


def _mean(values: F64) -> float:
    return float(values.mean()) if values.size else 0.0
