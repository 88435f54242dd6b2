"""A slate: choose the rankers for an asker, combine their lists, choose for variety, explain.

Nothing here waits or reads: ``serving/recommender.py`` gathers the input. One slate uses one lineup throughout.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from core import slate as choices
from core.mixture import mixed
from core.mixture_weights import DEPTH
from core.types import F32, I32
from service.ranking.asker import NOBODY, Asker, Made
from service.ranking.blend import blended
from service.ranking.explanations import explained
from service.ranking.lineup import Lineup, Origin, in_order
from service.ranking.pool import Pool, Ranked, chosen
from service.ranking.ranker import Listed, Ranker
from service.ranking.reasons import (
    NO_RATINGS,
    NO_USER,
    NOTHING_TO_MIX,
    OUTWEIGHED,
    UNLEARNED,
    and_,
    inactive,
    left_to_popular,
)
from service.ranking.strategies import MIXTURE, ONLINE, Strategy

DEEP = 5
"""Ranked items per item of the answer, if the answer is then chosen for variety."""
SHALLOWEST, DEEPEST = 200, 2_000
"""Fewest ranked items to choose from; most, if full categories leave room in the answer."""
USUAL_WIDTH = 64
"""Assumed number of factors of a model, to estimate effort."""
LEAST_WEIGHT = 0.05
"""Least weight of a ranker, as a share of the heaviest one's: a lighter one changes nothing visible."""

Categories = Callable[[Iterable[int]], list[list[str]]]


class Wanted(Struct, frozen=True):
    """How a slate is to be made."""

    k: int
    offset: int = 0
    model: Strategy | None = None
    blend: float = 0.0
    diversity: float = 0.0
    max_per_category: int | None = None
    explain: bool = False
    resumed: Strategy | None = None
    """The strategy of the pages before: it goes on, but is not what was asked for."""

    @property
    def n(self) -> int:
        """Return how many items are ranked."""
        return self.offset + self.k

    @property
    def varied(self) -> bool:
        """Whether the answer is chosen for variety from more items than it has."""
        return self.diversity > 0.0 or self.max_per_category is not None

    @property
    def n_ranked(self) -> int:
        """Return how many items are ranked to choose from."""
        return max(DEEP * self.n, SHALLOWEST) if self.varied else self.n

    def effort(self, n_own: int) -> int:
        """Return about how many multiplications choosing and explaining take, for so many past items."""
        chosen = self.n * self.n_ranked if self.varied else 0
        return USUAL_WIDTH * (chosen + (self.k * n_own if self.explain else 0))


class Pick(Struct, frozen=True, gc=False):
    """One item of a slate."""

    item: int
    score: float
    strategy: Strategy


class Slate(Struct, frozen=True):
    """The best items, in order, and what ranked them."""

    picks: Sequence[Pick]
    skipped: Sequence[int]
    """Items before the first one of it (``Wanted.offset``)."""
    origin: Origin
    pages: Origin
    """What may rank on the pages that follow."""
    reason: str | None
    """Why it is not what was asked for, or not personal."""
    more: bool
    """Whether items may be left."""
    because: Sequence[Sequence[tuple[int, float]]] | None = None
    """For each pick the past items that carry its score, if that was asked for."""
    made: Sequence[Made] = ()
    """What the rankers computed of the asker and a cache may keep."""


class _Making(Struct, frozen=True):
    """The rankers that make a slate."""

    rankers: Sequence[Ranker]
    """The heaviest first; more than one: their lists are combined."""
    weights: Sequence[float]
    blend: float
    """Share of the online model in the scores of a single one."""


class _Found(Struct, frozen=True):
    """Ranked items, before any is chosen for variety."""

    picks: list[Pick]
    owned: bool
    """Whether the rankers brought any of them."""
    made: Sequence[Made]


def slate(
    lineup: Lineup, asker: Asker, pool: Pool, wanted: Wanted, categories: Categories
) -> Slate:
    """Return the best items of the pool for this asker."""
    able, reason = _rankers(lineup, asker, wanted)
    share = wanted.blend
    if share and (unblended := _unblended(able, lineup, asker)):
        reason, share = reason or unblended, 0.0
    making = _making(lineup, able, asker, share)
    if wanted.model == MIXTURE and len(making.rankers) == 1 < len(able):
        reason = and_(reason, OUTWEIGHED)
    n = wanted.n_ranked
    found = _listed(making, lineup, asker, pool, n)
    picks = found.picks
    if wanted.varied:
        picks = _varied(found.picks, _vectors_of(able), wanted, categories)
        while len(picks) < wanted.n and len(found.picks) == n < DEEPEST:
            n = min(DEEP * n, DEEPEST)
            found = _listed(making, lineup, asker, pool, n)
            picks = _varied(found.picks, _vectors_of(able), wanted, categories)
    origin = _made_by(making, lineup)
    if found.picks and not found.owned:
        reason = and_(reason, left_to_popular(origin.strategy))
        origin = lineup.origin([lineup.popular])
    pages = lineup.origin(able) if len(making.rankers) > 1 and found.owned else origin
    more = len(picks) >= wanted.n or len(picks) < len(found.picks)
    made = _slate(origin, picks, wanted, reason, more=more, pages=pages, made=found.made)
    return _explained(made, lineup, making.rankers, asker) if wanted.explain else made


def similar(lineup: Lineup, item: int, pool: Pool, wanted: Wanted) -> Slate:
    """Return the items of the pool that are most like an item: people who like it like them."""
    trained = [one for one in lineup.trained if wanted.model in {None, one.strategy}]
    for ranker in trained:
        if ranker.has(item):
            picks = _picks(*ranker.similar(item, pool, wanted.n), ranker.strategy)
            return _slate(lineup.origin([ranker]), picks, wanted, None, more=len(picks) == wanted.n)
    reason = UNLEARNED if trained else inactive(wanted.model, lineup.families)
    popular = lineup.popular
    picks = _picks(*popular.best(NOBODY, pool, wanted.n).ranked, popular.strategy)
    return _slate(lineup.origin([popular]), picks, wanted, reason, more=len(picks) == wanted.n)


# --- who ranks ----------------------------------------------------------------------------------------


def _rankers(lineup: Lineup, asker: Asker, wanted: Wanted) -> tuple[Sequence[Ranker], str | None]:
    """Return the rankers for this asker, several for a mixture; and why if they are not what was asked for."""
    everybodys = lineup.everybodys
    model = wanted.resumed or wanted.model
    named = None if model is None else everybodys.get(model) or lineup.models.get(model)
    if named is not None and (model in everybodys or named.knows(asker)):
        return [named], None
    own = {name: ranker for name, ranker in lineup.models.items() if ranker.knows(asker)}
    # drop a ranker that knows little about this user, unless it is the only personal one
    own = {n: one for n, one in own.items() if one.share(asker) >= LEAST_WEIGHT} or own
    trusted = {n: one for n, one in own.items() if one.family.trusted}
    if not trusted:
        own = {}
    elif ONLINE not in own and not asker.preferences.item_ix.size:
        # weights are learned from users with a history; for others features say more than everybody's lists
        own, everybodys = trusted, {}
    weights = lineup.weights_of(own.values(), asker.preferences.item_ix.size)
    if not weights and len(own) == 1:
        everybodys = {}
    rankers = [*own.values(), *everybodys.values()] if own else [lineup.popular]
    return rankers, _reason(lineup, asker, wanted.model, len(own), alone=len(rankers) == 1)


def _reason(
    lineup: Lineup, asker: Asker, model: Strategy | None, n_own: int, *, alone: bool
) -> str | None:
    if model == ONLINE and model not in lineup.models:
        return NO_RATINGS if lineup.of_users else NO_USER
    if model not in {None, MIXTURE, *lineup.models}:
        return inactive(model, lineup.families)
    if n_own == 0 and not lineup.trained and model != ONLINE:
        return inactive(None, lineup.families)
    if n_own == 0 or model in lineup.models:
        return asker.unknown
    return NOTHING_TO_MIX if model == MIXTURE and alone else None


def _unblended(rankers: Sequence[Ranker], lineup: Lineup, asker: Asker) -> str | None:
    """Return why the online model has no share in the scores."""
    if len(rankers) > 1 or not rankers[0].family.trained:
        return "`blend` was left out: only a trained model can be blended, name one with `model`"
    if lineup.online is None or not lineup.online.knows(asker):
        return "`blend` was left out: the online model does not know this user yet"
    return None


def _making(lineup: Lineup, able: Sequence[Ranker], asker: Asker, blend: float) -> _Making:
    """Choose those of the rankers whose weight matters."""
    if len(able) == 1:
        return _Making(able, [1.0], blend)
    own = [ranker for ranker in able if not ranker.family.for_everybody]
    # a ranker without a weight yet counts as the mean
    known = lineup.weights_of(own, asker.preferences.item_ix.size) or _first(able)
    weights = [r.share(asker) * known.get(r.strategy, 1.0 / len(able)) for r in able]
    order = sorted(range(len(able)), key=lambda at: -weights[at])
    heavy = [at for at in order if weights[at] >= LEAST_WEIGHT * weights[order[0]]]
    return _Making([able[at] for at in heavy], [weights[at] for at in heavy], blend)


def _first(rankers: Sequence[Ranker]) -> Mapping[str, float]:
    """Return the weights before anything was judged: the trained models alone, without them the online model."""
    own = [ranker for ranker in rankers if not ranker.family.for_everybody]
    trained = [ranker.strategy for ranker in own if ranker.family.trained and ranker.family.trusted]
    lead = trained or [ranker.strategy for ranker in own if not ranker.family.trained]
    return {ranker.strategy: float(ranker.strategy in lead) for ranker in rankers}


def heard(readers: Iterable[Ranker], asker: Asker, named: Strategy | None = None) -> list[Ranker]:
    """Return the models whose reading of the asker's features can matter; ``named`` was asked for."""
    return [r for r in readers if r.share(asker) >= LEAST_WEIGHT or r.strategy == named]


def feature_vectors(readers: Iterable[Ranker], features: Mapping[str, Any]) -> dict[str, F32]:
    """Return what each model makes of somebody's features, by its version."""
    vectors = {reader.version: reader.feature_vector(features) for reader in readers}
    return {version: vector for version, vector in vectors.items() if vector is not None}


def mixture_of(lineup: Lineup, asker: Asker) -> tuple[Sequence[Ranker], Sequence[float]]:
    """Return the rankers whose lists a mixed slate combines for an asker, and their weights."""
    able, _ = _rankers(lineup, asker, Wanted(k=1, model=MIXTURE))
    making = _making(lineup, able, asker, 0.0)
    return making.rankers, making.weights


# --- ranking ------------------------------------------------------------------------------------------


def mixing_list(ranker: Ranker, asker: Asker, pool: Pool, n: int) -> Listed:
    """Return a ranker's list as a mixture reads it: a list for everybody ends with the last item anybody liked."""
    found = ranker.best(asker, pool, n)
    if not ranker.family.for_everybody:
        return found
    told = found.scores > 0.0
    return Listed(found.items[told], found.scores[told])


def _listed(making: _Making, lineup: Lineup, asker: Asker, pool: Pool, n: int) -> _Found:
    """Return n items: those that the rankers bring, followed by what is popular."""
    found = _ranked(making, lineup, asker, pool, n)
    if len(found.picks) >= n:
        return found
    known = np.unique(np.array([pick.item for pick in found.picks], np.int32))
    popular, left = lineup.popular, n - len(found.picks)
    rest = popular.best(asker, pool.without(known), left).ranked
    return replace(found, picks=[*found.picks, *_picks(*rest, popular.strategy)])


def _ranked(making: _Making, lineup: Lineup, asker: Asker, pool: Pool, n: int) -> _Found:
    if len(making.rankers) > 1:
        return _mixed(making, asker, pool, n)
    [ranker] = making.rankers
    if making.blend and lineup.online is not None:
        made = ranker.prepare(asker)
        base, online = ranker.scores(asker.having(made)), lineup.online.scores(asker)
        return _found(chosen(blended(base, online, making.blend), pool, n), ranker, [made])
    listed = ranker.best(asker, pool, n)
    return _found(listed.ranked, ranker, [listed.made])


def _found(ranked: Ranked, ranker: Ranker, made: Iterable[Made | None]) -> _Found:
    picks = _picks(*ranked, ranker.strategy)
    return _Found(picks, bool(picks), [one for one in made if one is not None])


def _mixed(making: _Making, asker: Asker, pool: Pool, n: int) -> _Found:
    """Combine the lists of several rankers; each item names the one that contributes most to it."""
    names = [ranker.strategy for ranker in making.rankers]
    lists = [mixing_list(ranker, asker, pool, max(n, DEPTH)) for ranker in making.rankers]
    item, score, loudest = mixed([one.ranked for one in lists], making.weights, n)
    listed = zip(item.tolist(), score.tolist(), loudest.tolist(), strict=True)
    picks = [Pick(number, value, names[at]) for number, value, at in listed]
    if len(picks) < n:
        # below the combined lists the heaviest ranker goes on alone
        rest = lists[0].items
        rest = rest[~np.isin(rest, item)][: n - len(picks)]
        picks += [Pick(number, 0.0, names[0]) for number in rest.tolist()]
    return _Found(picks, bool(picks), [one.made for one in lists if one.made is not None])


# --- what becomes of the ranked items -----------------------------------------------------------------


def _slate(
    origin: Origin,
    picks: Sequence[Pick],
    wanted: Wanted,
    reason: str | None,
    *,
    more: bool,
    pages: Origin | None = None,
    made: Sequence[Made] = (),
) -> Slate:
    return Slate(
        picks=picks[wanted.offset : wanted.n],
        skipped=[pick.item for pick in picks[: wanted.offset]],
        origin=origin,
        pages=pages or origin,
        reason=reason,
        more=more,
        made=made,
    )


def _made_by(making: _Making, lineup: Lineup) -> Origin:
    """Return the origin of a slate that was made so; a blend has a version of its own."""
    # however weights move, it is one mixture of these
    origin, online = lineup.origin(in_order(making.rankers)), lineup.online
    return origin.blended(making.blend, online.version) if making.blend and online else origin


def _varied(
    picks: list[Pick], vectors: F32 | None, wanted: Wanted, categories: Categories
) -> list[Pick]:
    """Choose from the ranked items such that they differ, and at most so many are of one category."""
    items = np.array([pick.item for pick in picks], np.int32)
    # their order, not their scores: those of different strategies do not compare
    score = -np.arange(items.size, dtype=np.float32)
    near = None
    if vectors is not None and wanted.diversity > 0.0:
        near = np.zeros((items.size, vectors.shape[1]), np.float32)
        known = items < len(vectors)
        near[known] = vectors[items[known]]
    taken = choices.choose(
        score,
        wanted.n,
        vectors=near,
        diversity=wanted.diversity if near is not None else 0.0,
        groups=None if wanted.max_per_category is None else categories(items.tolist()),
        most=wanted.max_per_category,
    )
    return [picks[at] for at in taken.tolist()]


def _vectors_of(rankers: Sequence[Ranker]) -> F32 | None:
    return next((r.item_vectors for r in rankers if r.item_vectors.size), None)


def _explained(made: Slate, lineup: Lineup, rankers: Sequence[Ranker], asker: Asker) -> Slate:
    for one in made.made:
        asker = asker.having(one)
    picked = [(pick.item, pick.strategy) for pick in made.picks]
    because, unexplained = explained(lineup, rankers, asker, picked)
    return replace(made, because=because, reason=and_(made.reason, unexplained))


def _picks(item: I32, score: F32, strategy: Strategy) -> list[Pick]:
    pairs = zip(item.tolist(), score.tolist(), strict=True)
    return [Pick(number, value, strategy) for number, value in pairs]
