"""Make a slate: rank with the chosen rankers, choose for variety, explain.

Nothing here waits or reads the store: ``serving/recommender.py`` gathers the input. A slate uses
one lineup throughout.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from core import slate as choices
from core.types import F32
from service.ranking.asker import NOBODY, Asker, Computed
from service.ranking.family import ScoreKind
from service.ranking.keeping import Made
from service.ranking.lineup import Lineup, Origin
from service.ranking.pool import Pool
from service.ranking.ranker import Ranker
from service.ranking.reasons import UNLEARNED, and_, inactive, left_to_popular
from service.ranking.slates.choice import Choice, choose
from service.ranking.slates.explanations import explained
from service.ranking.slates.exploration import Exploration
from service.ranking.slates.mixing import Pick, RankedItems, picks_of, ranked_items
from service.ranking.slates.stack_parts import parts_of
from service.ranking.slates.wanted import DEEP, DEEPEST, Wanted
from service.ranking.strategies import EXPLORE, Strategy

Categories = Callable[[Iterable[int]], list[list[str]]]


class Slate(Struct, frozen=True):
    """The best items, in order, and their origin."""

    picks: Sequence[Pick]
    skipped: Sequence[int]
    """Items that ``Wanted.offset`` skips."""
    origin: Origin
    pages: Origin
    """Origin that the following pages may have: all rankers that could take part."""
    reason: str | None
    """Why it is not what was asked for, or not personal."""
    more: bool
    """Whether more items may follow."""
    because: Sequence[Sequence[tuple[int, float]]] | None = None
    """For each pick, past items and their contributions to its score; None: not asked for."""
    made: Sequence[Computed] = ()
    """Results of the rankers that a cache may keep."""
    score_kind: ScoreKind = "likeness"
    parts: Sequence[Mapping[Strategy, float]] | None = None
    """For each pick of a stack, what each ranker adds to its score; None: not asked for."""
    kept: Made | None = None
    """What it was made of, if it may be shown again as long as that stands."""


def slate(
    lineup: Lineup,
    asker: Asker,
    pool: Pool,
    wanted: Wanted,
    categories: Categories,
    *,
    exploration: Exploration | None = None,
) -> Slate:
    """Return the best items of the pool for this asker, with new items in some places."""
    choice = choose(lineup, asker, wanted)
    if exploration is not None and choice.stack is not None:
        stack = replace(choice.stack, newcomers=exploration.new.coming)
        choice = replace(choice, stack=stack)
    if wanted.explain:
        # what is explained is made now: what a cached list was made of is gone
        asker = asker.without_mixtures()
    reason = choice.reason
    n = wanted.n_ranked
    found = ranked_items(choice, lineup, asker, pool, n)
    picks = found.picks
    if wanted.varied:
        picks = _varied(found.picks, _vectors_of(choice.able), wanted, categories)
        while len(picks) < wanted.n and len(found.picks) == n < DEEPEST:
            n = min(DEEP * n, DEEPEST)
            found = ranked_items(choice, lineup, asker, pool, n)
            picks = _varied(found.picks, _vectors_of(choice.able), wanted, categories)
    if exploration is not None:
        picks = exploration.placed(picks, asker, pool, wanted)
    origin = _made_by(choice, lineup)
    if found.picks and not found.owned:
        reason = and_(reason, left_to_popular(origin.strategy))
        origin = lineup.origin([lineup.popular])
    pages = lineup.origin(choice.able) if len(choice.rankers) > 1 and found.owned else origin
    more = len(picks) >= wanted.n or len(picks) < len(found.picks)
    made = _slate(origin, picks, wanted, reason, more=more, pages=pages, made=found.made)
    own = found.owned or not found.picks
    made = replace(made, score_kind=choice.score_kind if own else lineup.popular.family.score_kind)
    if not wanted.explain:
        kept = _kept(made, found, choice, lineup, pool, wanted) if wanted.plain else None
        return replace(made, kept=kept)
    if choice.stack is not None and found.stacked is not None:
        # the score of an item in a place of the new ones is not that of the stack
        items = [pick.item if pick.strategy != EXPLORE else -1 for pick in made.picks]
        made = replace(made, parts=parts_of(choice.stack, found.stacked, asker, items))
    return _explained(made, lineup, choice.rankers, asker)


def _kept(
    made: Slate, found: RankedItems, choice: Choice, lineup: Lineup, pool: Pool, wanted: Wanted
) -> Made | None:
    """Return what a plain slate was made of; None: it may not be shown again."""
    # a list that ends grows with the catalogue; a reason may depend on the asker's document
    if not (made.more and found.owned and pool.reopened) or made.reason is not None:
        return None
    if choice.stack is not None or len(choice.rankers) > 1:
        return found.kept
    ranker = choice.rankers[0]
    # of other rankers, the version does not tell which documents they have read
    named = wanted.model == ranker.strategy and ranker.keeps_heads
    alone = named and all(pick.strategy == ranker.strategy for pick in found.picks)
    by = (ranker.strategy, ranker.made_of) if alone else None
    return Made(lineup.basis, pool.time_ms, reopened=pool.reopened, by=by)


def similar(lineup: Lineup, item: int, pool: Pool, wanted: Wanted) -> Slate:
    """Return the items of the pool that are most similar to an item.

    The same people like them, or, for an item that no trained model knows, took them close to it.
    An item that the ranker has not learned stands where what is said of it puts it.
    """
    able = sorted(
        (one for one in lineup.models.values() if one.family.compares_items),
        key=lambda ranker: (not ranker.family.trained, not ranker.family.compares_items_best),
    )
    asked = [ranker for ranker in able if wanted.model in {None, ranker.strategy}]
    for ranker in asked:
        if ranker.has(item):
            placing = _placing(able, item) if wanted.model is None else None
            made = _like(lineup, item, pool, wanted, ranker, placing)
            return replace(made, score_kind=ranker.family.score_kind)
    reason = UNLEARNED if asked else inactive(wanted.model)
    popular = lineup.popular
    picks = picks_of(*popular.best(NOBODY, pool, wanted.n).ranked, popular.strategy)
    made = _slate(lineup.origin([popular]), picks, wanted, reason, more=len(picks) == wanted.n)
    return replace(made, score_kind=popular.family.score_kind)


def _placing(able: Sequence[Ranker], item: int) -> Ranker | None:
    """Return a ranker that places an item and others by their documents, if there is one."""
    return next((one for one in able if one.family.places_items and one.has(item)), None)


def _like(
    lineup: Lineup, item: int, pool: Pool, wanted: Wanted, ranker: Ranker, placing: Ranker | None
) -> Slate:
    """Return the items most like one that a ranker knows."""
    picks = picks_of(*ranker.similar(item, pool, wanted.n), ranker.strategy)
    origin = lineup.origin([ranker])
    if placing is None or placing is ranker:
        return _slate(origin, picks, wanted, None, more=len(picks) == wanted.n)
    placed = picks_of(*placing.similar(item, pool, wanted.n), placing.strategy)
    unlearned = [None if ranker.has(pick.item) else pick for pick in placed]
    both = lineup.origin([ranker, placing])
    picks = _inserted(picks, unlearned)[: wanted.n]
    made_by = both if any(pick.strategy != ranker.strategy for pick in picks) else origin
    return _slate(made_by, picks, wanted, None, more=len(picks) == wanted.n, pages=both)


def _inserted(picks: Sequence[Pick], others: Sequence[Pick | None]) -> list[Pick]:
    """Return the picks with each of the others at the place that it has in its own list.

    The list ends where the picks do: places beyond would depend on how many were asked for.
    """
    joined, left = [], iter(picks)
    for other in [*others, *[None] * len(picks)]:
        pick = other or next(left, None)
        if pick is None:
            break
        joined.append(pick)
    return joined


def _slate(
    origin: Origin,
    picks: Sequence[Pick],
    wanted: Wanted,
    reason: str | None,
    *,
    more: bool,
    pages: Origin | None = None,
    made: Sequence[Computed] = (),
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


def _made_by(choice: Choice, lineup: Lineup) -> Origin:
    """Return the origin of a slate for this choice; a blend has its own version."""
    origin, online = lineup.origin(choice.rankers), lineup.online
    return origin.blended(choice.blend, online.version) if choice.blend and online else origin


def _varied(
    picks: list[Pick], vectors: F32 | None, wanted: Wanted, categories: Categories
) -> list[Pick]:
    """Choose from the ranked items for variety, with at most so many of each category."""
    items = np.array([pick.item for pick in picks], np.int32)
    # by position: scores of different strategies are not comparable
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
    for result in made.made:
        asker = asker.having(result)
    picked = [(pick.item, pick.strategy) for pick in made.picks]
    because, unexplained = explained(lineup, rankers, asker, picked)
    return replace(made, because=because, reason=and_(made.reason, unexplained))
