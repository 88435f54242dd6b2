"""Requests under an experiment: parameters that a request does not set are those of its arm."""

from typing import Any

from msgspec.structs import fields, replace

from service.api.slates.requests import MAX_VARIED, Ranking
from service.ranking.slates.wanted import Wanted
from service.serving.experiments.assignment import Treatment

PARAMETERS = ("model", "blend", "diversity", "max_per_category")
"""The parameters that arms may set."""
VARYING = frozenset({"diversity", "max_per_category"})
_UNSET: dict[str, Any] = {
    one.name: one.default for one in fields(Ranking) if one.name in PARAMETERS
}


def treated(
    ranking: Ranking, wanted: Wanted, treatment: Treatment | None, n_candidates: int | None = None
) -> tuple[Wanted, Treatment | None]:
    """Return what a request wants, and the treatment that decides about it, if one does.

    A request that sets a parameter which the experiment decides takes no part in it, whatever its
    arm: otherwise the arms would be compared by different requests.
    """
    n = wanted.n if n_candidates is None else min(wanted.n, n_candidates)
    while treatment is not None:
        if _takes_part(ranking, n, treatment):
            return replace(wanted, **treatment.parameters, assigned=True), treatment
        treatment = treatment.otherwise
    return wanted, None


def _takes_part(ranking: Ranking, n: int, treatment: Treatment) -> bool:
    if any(getattr(ranking, name) != _UNSET[name] for name in treatment.decided):
        return False
    # choosing for variety among very many would be slow
    return n <= MAX_VARIED or not treatment.decided & VARYING
