"""Rank items with the chosen rankers: one list, a blend of two scores, or a mixture of lists."""

from collections.abc import Iterable, Sequence

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from core.mixture import mixed
from core.mixture_weights import DEPTH
from core.types import F32, I32
from service.ranking.asker import Asker, Computed
from service.ranking.keeping import Made
from service.ranking.lineup import Lineup
from service.ranking.pool import Pool, Ranked, chosen
from service.ranking.ranker import Ranker
from service.ranking.slates.blend import blended
from service.ranking.slates.choice import Choice
from service.ranking.stack import Stack, StackList
from service.ranking.strategies import Strategy


class Pick(Struct, frozen=True, gc=False):
    """One item of a slate."""

    item: int
    score: float
    strategy: Strategy


class RankedItems(Struct, frozen=True):
    """Ranked items, before the choice for variety."""

    picks: list[Pick]
    owned: bool
    """Whether the chosen rankers ranked any of them; else all are popular items."""
    made: Sequence[Computed]
    kept: Made | None = None
    """What a list of several rankers is made of, if it may be shown again."""
    stacked: StackList | None = None
    """The list of the stack, if it ranked."""


def ranked_items(choice: Choice, lineup: Lineup, asker: Asker, pool: Pool, n: int) -> RankedItems:
    """Return n items: those of the chosen rankers, filled up with popular ones."""
    found = _by_rankers(choice, lineup, asker, pool, n)
    if len(found.picks) >= n:
        return found
    picked = np.unique(np.array([pick.item for pick in found.picks], np.int32))
    popular, left = lineup.popular, n - len(found.picks)
    rest = popular.best(asker, pool.without(picked), left).ranked
    more = picks_of(*rest, popular.strategy)
    if found.owned and (choice.stack is not None or len(choice.rankers) > 1):
        # the candidates share all of the probability; no list of a fusion has these items
        more = [replace(pick, score=0.0) for pick in more]
    return replace(found, picks=[*found.picks, *more])


def _by_rankers(choice: Choice, lineup: Lineup, asker: Asker, pool: Pool, n: int) -> RankedItems:
    if choice.stack is not None:
        return _stacked(choice.stack, asker, pool, n)
    if len(choice.rankers) > 1:
        return _mixed(choice, lineup, asker, pool, n)
    [ranker] = choice.rankers
    if choice.blend and lineup.online is not None:
        made = ranker.prepare(asker)
        base, online = ranker.scores(asker.having(made)), lineup.online.scores(asker)
        return _found(chosen(blended(base, online, choice.blend), pool, n), ranker, [made])
    listed = ranker.best(asker, pool, n)
    return _found(listed.ranked, ranker, [listed.made])


def _found(ranked: Ranked, ranker: Ranker, made: Iterable[Computed | None]) -> RankedItems:
    picks = picks_of(*ranked, ranker.strategy)
    return RankedItems(picks, bool(picks), [result for result in made if result is not None])


def _stacked(stack: Stack, asker: Asker, pool: Pool, n: int) -> RankedItems:
    """Rank by the stack; each item names the ranker that adds most to its score."""
    names = [*(ranker.strategy for ranker in stack.rankers), stack.newcomers.strategy]
    listed = stack.listed(asker, pool, n)
    head = listed.head
    rows = zip(head.items.tolist(), head.scores.tolist(), head.loudest.tolist(), strict=True)
    picks = [Pick(number, value, names[at]) for number, value, at in rows]
    kept = head.made if head.made.patience else None
    return RankedItems(picks, bool(picks), listed.made, kept, listed)


def _mixed(choice: Choice, lineup: Lineup, asker: Asker, pool: Pool, n: int) -> RankedItems:
    """Combine the lists of several rankers; each item names its largest contributor."""
    names = [ranker.strategy for ranker in choice.rankers]
    lists = [ranker.mixing_list(asker, pool, max(n, DEPTH)) for ranker in choice.rankers]
    item, score, largest = mixed([listed.ranked for listed in lists], choice.weights, n)
    rows = zip(item.tolist(), score.tolist(), largest.tolist(), strict=True)
    picks = [Pick(number, value, names[at]) for number, value, at in rows]
    if len(picks) < n:
        # when the combined lists end, the heaviest ranker continues alone
        rest = lists[0].items
        rest = rest[~np.isin(rest, item)][: n - len(picks)]
        picks += [Pick(number, 0.0, names[0]) for number in rest.tolist()]
    made = [listed.made for listed in lists if listed.made is not None]
    # as a list of the stack, it hardly changes with what others do
    kept = Made(lineup.basis, pool.time_ms, reopened=pool.reopened).waiting(item)
    return RankedItems(picks, bool(picks), made, kept)


def picks_of(item: I32, score: F32, strategy: Strategy) -> list[Pick]:
    """Return a ranker's list as picks."""
    pairs = zip(item.tolist(), score.tolist(), strict=True)
    return [Pick(number, value, strategy) for number, value in pairs]
