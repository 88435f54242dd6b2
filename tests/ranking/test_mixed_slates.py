"""Slates of mixtures, blends and full categories equal what a plain reading of the docs gives."""

from itertools import pairwise

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from core.batch.preferences import Preferences
from core.mixture import SMOOTH
from core.mixture_weights import DEPTH, Weights
from core.types import I32
from service.ranking.asker import Asker
from service.ranking.pool import Pool
from service.ranking.ranker import Ranker
from service.ranking.slates.choice import LEAST_WEIGHT
from service.ranking.slates.slate import Slate, slate
from service.ranking.slates.wanted import Wanted
from tests.rankers import fold_in, lineup, no_categories, online, rated

Listed = list[tuple[int, str]]
"""Items and who brought them."""


def by_score(ranker: Ranker, me: Asker, may: set[int]) -> list[int]:
    """Return what a ranker knows of these, best first."""
    score = ranker.scores(me)
    known = [item for item in may if item < score.size and np.isfinite(score[item])]
    return sorted(known, key=lambda item: (-score[item], item))


def mixture(lists: dict[str, list[int]], weights: dict[str, float]) -> Listed:
    """Return one list of many: who is heard, the sum for each item, then the heaviest alone."""
    names = sorted(lists, key=lambda name: -weights[name])
    heard = [name for name in names if weights[name] >= LEAST_WEIGHT * weights[names[0]]]
    if len(heard) == 1:
        return [(item, heard[0]) for item in lists[heard[0]]]
    sums: dict[int, float] = {}
    loudest: dict[int, tuple[float, str]] = {}
    for name in heard:
        for rank, item in enumerate(lists[name][:DEPTH], 1):
            gain = weights[name] / (SMOOTH + rank)
            sums[item] = sums.get(item, 0.0) + gain
            if gain > loudest.get(item, (0.0, ""))[0]:
                loudest[item] = gain, name
    first = sorted(sums, key=lambda item: (-sums[item], item))
    later = [item for item in lists[heard[0]] if item not in sums]
    return [(item, loudest[item][1]) for item in first] + [(item, heard[0]) for item in later]


def capped(listed: Listed, categories: list[list[str]], most: int) -> Listed:
    """Return the list without items of which a category has its share already."""
    kept: Listed = []
    for item, who in listed:
        shown = [category for other, _ in kept for category in categories[other]]
        if all(shown.count(category) < most for category in categories[item]):
            kept.append((item, who))
    return kept


@given(
    seed=st.integers(0, 10**6),
    n=st.integers(2, 180),
    k=st.integers(1, 30),
    offset=st.integers(0, 10),
    most=st.none() | st.integers(1, 4),
    knows_online=st.booleans(),
    n_models=st.integers(0, 2),
)
def test_a_mixed_slate_is_what_a_plain_reading_gives(
    seed: int, n: int, k: int, offset: int, most: int | None, knows_online: bool, n_models: int
) -> None:
    rng = np.random.default_rng(seed)
    models = [fold_in(n, seed), fold_in(max(n - 3, 1), seed + 1, "ocmf")][:n_models]
    own = np.flatnonzero(rng.random(min(n, 20)) < 0.3).astype(np.int32)
    ones = np.ones(own.size, np.float32)
    row = rated([]).row if knows_online else None
    me = Asker(Preferences(own, ones, ones, own), row=row)
    experts = online(n, seed)
    popular = rng.permutation(n)[: n // 2].tolist()
    names = ("fbgd", "ocmf", "online", "popular", "trending")
    weight = dict(zip(names, rng.dirichlet(np.full(5, 0.5)).tolist(), strict=True))
    categories = [[f"c{c}" for c in np.flatnonzero(rng.random(4) < 0.3)] for _ in range(n)]
    allowed = rng.random(n) < 0.9

    made = slate(
        lineup(*models, experts, popular=popular, weights=Weights(weight, {0: weight, 5: weight})),
        me,
        Pool(allowed, own),
        Wanted(k, offset, max_per_category=most),
        lambda items: [categories[item] for item in items],
    )

    may = set(np.flatnonzero(allowed).tolist()) - set(own.tolist())
    lists = {
        model.strategy: by_score(model, me, may)
        for model in models
        if min(own, default=n) < model.n_items
    }
    if knows_online:
        lists["online"] = by_score(experts, me, may)
    liked = [item for item in popular if item in may]
    rest = sorted(may - set(liked))
    everybodys = {"popular": liked, "trending": liked[::-1]}
    if not lists:
        whole = [(item, "popular") for item in liked + rest]
    else:
        parts = {name: weight[name] for name in (*lists, *everybodys)}
        heaviest = max(parts.values())
        alone = [name for name in parts if parts[name] >= LEAST_WEIGHT * heaviest]
        if alone in (["popular"], ["trending"]):
            # alone it is a whole order, not only what somebody has liked
            everybodys[alone[0]] = everybodys[alone[0]] + rest
        whole = mixture(lists | everybodys, parts)
    known = {item for item, _ in whole}
    whole += [(item, "popular") for item in liked + rest if item not in known]
    if most is not None:
        whole = capped(whole, categories, most)
    found = [(pick.item, pick.strategy) for pick in made.picks]
    assert found == whole[offset : offset + k]
    assert list(made.skipped) == [item for item, _ in whole[:offset]]
    if made.score_kind == "rank_sum":
        scores = [pick.score for pick in made.picks]
        assert scores == sorted(scores, reverse=True)


@given(seed=st.integers(0, 10**6), n=st.integers(3, 80), share=st.floats(0.01, 1.0))
def test_a_blend_orders_by_both_scores_each_of_mean_0_and_variance_1(
    seed: int, n: int, share: float
) -> None:
    model, experts, me = fold_in(n, seed), online(n - 1, seed), rated([0])
    wanted = Wanted(n, model="fbgd", blend=share)
    made = slate(lineup(model, experts), me, Pool(np.ones(n, np.bool_)), wanted, no_categories)

    def standard(scores: np.ndarray) -> dict[int, float]:
        known = np.flatnonzero(np.isfinite(scores))
        values = scores[known].astype(np.float64)
        spread = values.std() or 1.0
        return dict(zip(known.tolist(), ((values - values.mean()) / spread).tolist(), strict=True))

    of_model, of_experts = standard(model.scores(me)), standard(experts.scores(me))
    score = {y: (1 - share) * of_model[y] + share * of_experts.get(y, 0.0) for y in range(n)}
    assert sorted(pick.item for pick in made.picks) == list(range(n))
    for pick in made.picks:
        assert abs(pick.score - score[pick.item]) < 1e-3
    ordered = [score[pick.item] for pick in made.picks]
    assert all(ahead > behind - 1e-3 for ahead, behind in pairwise(ordered))


def fused(pool: Pool, own: I32) -> Slate:
    """Return the list of a fusion of two rankers that know four items, of thirty popular ones."""
    ones = np.ones(own.size, np.float32)
    weight = {"fbgd": 0.5, "ocmf": 0.5, "popular": 0.0, "trending": 0.0}
    weights = Weights(weight, {0: weight})
    rankers = fold_in(4, 1), fold_in(4, 2, "ocmf")
    return slate(
        lineup(*rankers, popular=[*range(30)], weights=weights),
        Asker(Preferences(own, ones, ones, own)),
        pool,
        Wanted(10),
        no_categories,
    )


OWN = np.array([0], np.int32)


def test_popular_items_that_fill_up_a_fusion_have_the_score_0() -> None:
    made = fused(Pool(np.ones(30, bool), OWN), OWN)
    assert made.score_kind == "rank_sum"
    assert [pick.strategy for pick in made.picks[3:]] == ["popular"] * 7
    assert [pick.score > 0.0 for pick in made.picks] == [True] * 3 + [False] * 7


def test_popular_items_alone_have_their_counts() -> None:
    made = fused(Pool(np.arange(30) >= 4, OWN), OWN)
    assert (made.score_kind, {pick.strategy for pick in made.picks}) == ("count", {"popular"})
    assert all(pick.score > 0.0 for pick in made.picks)
