"""An ordered answer: who asks, which ranker, from which items; then the best of them.

Nothing here waits or reads: ``recommender.py`` gathers what goes in. One slate uses one lineup throughout.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from core import slate as choices
from core.batch.preferences import Preferences
from core.mixture import mixed
from core.mixture_weights import DEPTH
from core.types import F32, I32
from service.ranking.explanations import explained
from service.ranking.rankers import (
    NOTHING,
    Asker,
    Online,
    Order,
    Pool,
    Ranked,
    Ranker,
    Trained,
    blended,
    chosen,
)
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
from service.rec_ids import STRATEGIES, Strategy
from service.serving.lineup import Lineup, Origin

DEEP = 5
"""Times as many items are ranked as are asked for where the answer is then chosen for variety."""
SHALLOWEST, DEEPEST = 200, 2_000
"""Items that are ranked at least; at most, where categories that have their share leave places open."""
USUAL_WIDTH = 64
"""Factors of a model, where a guess will do."""
LEAST_WEIGHT = 0.05
"""Of the heaviest ranker: a lighter one moves nothing that is seen and is left out."""

_NONE: F32 = np.empty(0, np.float32)
NOBODY = Asker(Preferences(NOTHING, _NONE, _NONE, NOTHING))
"""Somebody of whom nothing is known."""

Categories = Callable[[Iterable[int]], list[list[str]]]


class Wanted(Struct, frozen=True):
    """How a slate is to be made."""

    k: int
    offset: int = 0
    model: Strategy | None = None
    blend: float = 0.0
    diversity: float = 0.0
    most: int | None = None
    """Of one category."""
    explain: bool = False
    resumed: Strategy | None = None
    """What ranked the pages before: it goes on, but is not what was asked for."""

    @property
    def n(self) -> int:
        """Return how many items are ranked."""
        return self.offset + self.k

    @property
    def varied(self) -> bool:
        """Whether the answer is chosen for variety from more items than it has."""
        return self.diversity > 0.0 or self.most is not None

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


class _Making(Struct, frozen=True):
    """What a slate is made by."""

    rankers: Sequence[Ranker]
    """The heaviest first; more than one: their lists are combined."""
    weights: Sequence[float]
    blend: float
    """Share of the online model in the scores of a single one."""


def slate(
    lineup: Lineup, asker: Asker, pool: Pool, wanted: Wanted, categories: Categories
) -> Slate:
    """Return the best items of the pool for this asker."""
    able, reason = _rankers(lineup, asker, wanted)
    share = wanted.blend
    if share and (unblended := _unblended(able, lineup, asker)):
        reason, share = reason or unblended, 0.0
    making = _making(lineup, able, asker, share)
    if wanted.model == "mixture" and len(making.rankers) == 1 < len(able):
        reason = and_(reason, OUTWEIGHED)
    n = wanted.n_ranked
    ranked, owned = _listed(making, lineup, asker, pool, n)
    picks = ranked
    if wanted.varied:
        picks = _varied(ranked, _vectors_of(able), wanted, categories)
        while len(picks) < wanted.n and len(ranked) == n < DEEPEST:
            n = min(DEEP * n, DEEPEST)
            ranked, owned = _listed(making, lineup, asker, pool, n)
            picks = _varied(ranked, _vectors_of(able), wanted, categories)
    origin = _made_by(making, lineup)
    if ranked and not owned:
        reason = and_(reason, left_to_popular(origin.strategy))
        origin = lineup.origin([lineup.popular])
    pages = lineup.origin(able) if len(making.rankers) > 1 and owned else origin
    more = len(picks) >= wanted.n or len(picks) < len(ranked)
    made = _slate(origin, picks, wanted, reason, more=more, pages=pages)
    return _explained(made, lineup, making.rankers, asker) if wanted.explain else made


def similar(lineup: Lineup, item: int, pool: Pool, wanted: Wanted) -> Slate:
    """Return the items of the pool that are most like an item: who likes it likes them."""
    asked = lineup.models.values() if wanted.model is None else [lineup.models.get(wanted.model)]
    trained = [ranker for ranker in asked if isinstance(ranker, Trained)]
    for ranker in trained:
        if ranker.has(item):
            picks = _picks(*ranker.similar(item, pool, wanted.n), ranker.strategy)
            return _slate(lineup.origin([ranker]), picks, wanted, None, more=len(picks) == wanted.n)
    reason = UNLEARNED if trained else inactive(wanted.model)
    picks = _picks(*lineup.popular.best(NOBODY, pool, wanted.n), "popular")
    origin = lineup.origin([lineup.popular])
    return _slate(origin, picks, wanted, reason, more=len(picks) == wanted.n)


# --- who ranks ----------------------------------------------------------------------------------------


def _rankers(lineup: Lineup, asker: Asker, wanted: Wanted) -> tuple[Sequence[Ranker], str | None]:
    """Return what ranks for this asker, more than one for a mixture; and why if it is not what was asked for."""
    everybodys: dict[Strategy, Ranker] = {"popular": lineup.popular, "trending": lineup.trending}
    model = wanted.resumed or wanted.model
    named = None if model is None else everybodys.get(model) or lineup.models.get(model)
    if named is not None and (model in everybodys or named.knows(asker)):
        return [named], None
    own = {name: ranker for name, ranker in lineup.models.items() if ranker.knows(asker)}
    # one that knows little beside the others leaves; alone it is better than everybody's list
    own = {n: one for n, one in own.items() if one.part(asker) >= LEAST_WEIGHT} or own
    trusted = {n: one for n, one in own.items() if not isinstance(one, Trained) or one.trusted}
    if not trusted:
        own = {}
    elif "online" not in own and not asker.preferences.item_ix.size:
        # weights are learned from people with a history: of the others features say more than everybody's lists
        own, everybodys = trusted, {}
    weights = lineup.weights_of(own.values(), asker.preferences.item_ix.size)
    if not weights and len(own) == 1:
        everybodys = {}
    rankers = [*own.values(), *everybodys.values()] if own else [lineup.popular]
    return rankers, _reason(lineup, asker, wanted.model, len(own), alone=len(rankers) == 1)


def _reason(
    lineup: Lineup, asker: Asker, model: Strategy | None, n_own: int, *, alone: bool
) -> str | None:
    if model == "online" and model not in lineup.models:
        return NO_RATINGS if lineup.of_users else NO_USER
    if model not in {None, "mixture", *lineup.models}:
        return inactive(model)
    if n_own == 0 and not lineup.trained and model != "online":
        return inactive(None)
    if n_own == 0 or model in lineup.models:
        return asker.unknown
    return NOTHING_TO_MIX if model == "mixture" and alone else None


def _unblended(rankers: Sequence[Ranker], lineup: Lineup, asker: Asker) -> str | None:
    """Return why the online model has no share in the scores."""
    if len(rankers) > 1 or not isinstance(rankers[0], Trained):
        return "`blend` was left out: only a trained model can be blended, name one with `model`"
    online = lineup.models.get("online")
    if online is None or not online.knows(asker):
        return "`blend` was left out: the online model does not know this user yet"
    return None


def _making(lineup: Lineup, able: Sequence[Ranker], asker: Asker, blend: float) -> _Making:
    """Choose those that matter of the rankers that could take part."""
    if len(able) == 1:
        return _Making(able, [1.0], blend)
    own = [ranker for ranker in able if not isinstance(ranker, Order)]
    # whoever is new is as good as the mean
    known = lineup.weights_of(own, asker.preferences.item_ix.size) or _first(able)
    weights = [r.part(asker) * known.get(r.strategy, 1.0 / len(able)) for r in able]
    order = sorted(range(len(able)), key=lambda at: -weights[at])
    heavy = [at for at in order if weights[at] >= LEAST_WEIGHT * weights[order[0]]]
    return _Making([able[at] for at in heavy], [weights[at] for at in heavy], blend)


def _listed(
    making: _Making, lineup: Lineup, asker: Asker, pool: Pool, n: int
) -> tuple[list[Pick], bool]:
    """Return n items, and whether the rankers brought any of them."""
    picks = _ranked(making, lineup, asker, pool, n)
    owned = bool(picks)
    if len(picks) < n:
        # what the models do not know yet comes after what they know
        known = np.unique(np.array([pick.item for pick in picks], np.int32))
        rest = lineup.popular.best(asker, pool.without(known), n - len(picks))
        picks += _picks(*rest, "popular")
    return picks, owned


def _ranked(making: _Making, lineup: Lineup, asker: Asker, pool: Pool, n: int) -> list[Pick]:
    if len(making.rankers) > 1:
        return _mixed(making, asker, pool, n)
    [ranker] = making.rankers
    if making.blend:
        online = lineup.models["online"]
        scores = blended(ranker.scores(asker), online.scores(asker), making.blend)
        return _picks(*chosen(scores, pool, n), ranker.strategy)
    return _picks(*ranker.best(asker, pool, n), ranker.strategy)


def _mixed(making: _Making, asker: Asker, pool: Pool, n: int) -> list[Pick]:
    """Combine the lists of several rankers; each item names the one that speaks most for it."""
    names = [ranker.strategy for ranker in making.rankers]
    lists = [_list(ranker, asker, pool, max(n, DEPTH)) for ranker in making.rankers]
    item, score, loudest = mixed(lists, making.weights, n)
    listed = zip(item.tolist(), score.tolist(), loudest.tolist(), strict=True)
    picks = [Pick(number, value, names[at]) for number, value, at in listed]
    if len(picks) < n:
        # beyond the combined part the heaviest ranker goes on alone
        rest, _ = lists[0]
        rest = rest[~np.isin(rest, item)][: n - len(picks)]
        picks += [Pick(number, 0.0, names[0]) for number in rest.tolist()]
    return picks


def _list(ranker: Ranker, asker: Asker, pool: Pool, n: int) -> Ranked:
    """Return a list as it is judged: everybody's ends with what somebody has liked."""
    item, score = ranker.best(asker, pool, n)
    told = score > 0.0 if isinstance(ranker, Order) else slice(None)
    return item[told], score[told]


def _first(rankers: Sequence[Ranker]) -> Mapping[str, float]:
    """Return the weights before anything was judged: the trained models alone, without them the online model."""
    trained = [r.strategy for r in rankers if isinstance(r, Trained) and r.trusted]
    lead = trained or [r.strategy for r in rankers if isinstance(r, Online)]
    return {r.strategy: float(r.strategy in lead) for r in rankers}


# --- what becomes of the ranked items -----------------------------------------------------------------


def _slate(
    origin: Origin,
    picks: Sequence[Pick],
    wanted: Wanted,
    reason: str | None,
    *,
    more: bool,
    pages: Origin | None = None,
) -> Slate:
    return Slate(
        picks[wanted.offset : wanted.n],
        [pick.item for pick in picks[: wanted.offset]],
        origin,
        pages or origin,
        reason,
        more,
    )


def _made_by(making: _Making, lineup: Lineup) -> Origin:
    """Return what stands in a slate that was made so; a blend has a version of its own."""
    # however weights move, it is one mixture of these
    origin = lineup.origin(sorted(making.rankers, key=lambda one: STRATEGIES.index(one.strategy)))
    online = lineup.models.get("online")
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
        groups=None if wanted.most is None else categories(items.tolist()),
        most=wanted.most,
    )
    return [picks[at] for at in taken.tolist()]


def _vectors_of(rankers: Sequence[Ranker]) -> F32 | None:
    return next((r.places for r in rankers if isinstance(r, Trained)), None)


def _explained(made: Slate, lineup: Lineup, rankers: Sequence[Ranker], asker: Asker) -> Slate:
    picked = [(pick.item, pick.strategy) for pick in made.picks]
    because, unexplained = explained(rankers, asker, picked, lineup.models.values())
    return replace(made, because=because, reason=and_(made.reason, unexplained))


def _picks(item: I32, score: F32, strategy: Strategy) -> list[Pick]:
    pairs = zip(item.tolist(), score.tolist(), strict=True)
    return [Pick(number, value, strategy) for number, value in pairs]
