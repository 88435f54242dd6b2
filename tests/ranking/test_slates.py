"""Slates of random worlds equal what scoring every item and sorting gives."""

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.batch.ocmf.users import StructuredUsers
from core.batch.preferences import Preferences
from core.mixture import combine
from core.mixture_weights import Weights
from core.online.config import OnlineConfig
from core.online.model import OnlineModel
from service.ranking.asker import NOBODY, Asker
from service.ranking.families import FAMILIES
from service.ranking.lineup import Blend, Lineup, Origin
from service.ranking.pool import HEAD, NOTHING, Head, Pool
from service.ranking.reasons import (
    NOTHING_TO_MIX,
    OUTWEIGHED,
    UNLEARNED,
    left_to_popular,
    unexplained_list,
)
from service.ranking.slates.explanations import UNSPOKEN
from service.ranking.slates.slate import Slate, similar, slate
from service.ranking.slates.wanted import Wanted
from service.ranking.strategies import Strategy
from service.ranking.trained.fold_in import FoldIn
from service.rec_ids import model_prefix
from service.serving.turns import INLINE
from service.serving.warm_up import rank_once
from service.training.recipes import SERVED
from tests.models import objective
from tests.rankers import (
    asker,
    everything,
    fold_in,
    lineup,
    no_categories,
    ones,
    online,
    online_of,
    picked,
    rated,
)


@given(
    seed=st.integers(0, 10**6),
    n=st.integers(1, 60),
    later=st.integers(0, 5),
    k=st.integers(1, 70),
    offset=st.integers(0, 10),
    listed=st.booleans(),
)
def test_a_slate_is_what_scoring_everything_gives(
    seed: int, n: int, later: int, k: int, offset: int, listed: bool
) -> None:
    rng = np.random.default_rng(seed)
    model = fold_in(n, seed)
    own = np.flatnonzero(rng.random(n) < 0.3).astype(np.int32)
    target = (rng.random(own.size) < 0.8).astype(np.float32)
    weight = rng.uniform(0.5, 2.0, own.size).astype(np.float32)
    everyone = n + later
    allowed = rng.random(everyone) < 0.8
    excluded = np.union1d(own, rng.integers(0, everyone, 3)).astype(np.int32)
    candidates = np.flatnonzero(rng.random(everyone) < 0.5).astype(np.int32) if listed else None
    popular = rng.permutation(everyone)[: everyone // 2].tolist()

    me = Asker(Preferences(own, weight, target, own))
    made = slate(
        lineup(model, popular=popular),
        me,
        Pool(allowed, excluded, candidates),
        Wanted(k, offset),
        no_categories,
    )

    may = set(np.flatnonzero(allowed).tolist()) - set(excluded.tolist())
    if candidates is not None:
        may &= set(candidates.tolist())
    known = own.size > 0
    score = model.item_vectors @ model.users.row.vector(own, weight, target) if known else []
    first = sorted((y for y in may if known and y < n), key=lambda y: (-score[y], y))
    rest = sorted(may - set(first), key=lambda y: (popular.index(y) if y in popular else 999, y))
    assert [pick.item for pick in made.picks] == [*first, *rest][offset : offset + k]
    assert [pick.strategy for pick in made.picks] == (
        ["fbgd"] * len(first) + ["popular"] * len(rest)
    )[offset : offset + k]
    assert made.more == (len(may) >= offset + k)
    assert list(made.skipped) == [*first, *rest][:offset]


@given(seed=st.integers(0, 10**6), n=st.integers(1, 400), k=st.integers(1, 150))
def test_the_kept_head_of_an_order_changes_no_answer(seed: int, n: int, k: int) -> None:
    rng = np.random.default_rng(seed)
    model = fold_in(n, seed)
    own = asker(np.flatnonzero(rng.random(n) < 0.1).tolist()).preferences
    heads: dict[Strategy, Head] = {}
    for _ in range(3):
        allowed = rng.random(n + 3) < rng.choice([0.1, 0.6, 1.0])
        more = rng.integers(0, n, 3)
        pool = Pool(allowed, np.union1d(own.seen, more).astype(np.int32))
        me = Asker(own, heads=heads)
        found = model.best(me, pool, k)
        expected = model.best(Asker(own), pool, k)
        assert np.array_equal(found[0], expected[0])
        assert np.array_equal(found[1], expected[1])
        if found.made is not None and found.made.head is not None:
            heads[model.strategy] = found.made.head
    assert ("fbgd" in heads) == (k <= HEAD)


def test_the_pages_of_a_list_make_the_list() -> None:
    models, me = lineup(fold_in(50), popular=[3, 4]), asker([1, 2])
    whole = picked(models, me, everything(50), Wanted(50))
    assert sorted(whole) == list(range(50))
    assert whole[20:30] == picked(models, me, everything(50), Wanted(10, offset=20))
    shown = np.sort(np.array(whole[:20], np.int32))
    rest = Pool(np.ones(50, np.bool_), shown)
    assert whole[20:30] == picked(models, me, rest, Wanted(10))


def test_who_ranks_follows_from_what_is_known_and_asked_for() -> None:
    two = fold_in(9), fold_in(9, 1, "ocmf")
    one, both, none = lineup(two[0]), lineup(*two), lineup()
    known, cold = asker([1]), NOBODY

    def ranks(models: Lineup, me: Asker, model: str | None = None) -> tuple[str, bool]:
        made = slate(models, me, everything(9), Wanted(3, model=model), no_categories)  # type: ignore[arg-type]
        return made.origin.strategy, made.reason is not None

    assert ranks(one, known) == ("fbgd", False)
    assert ranks(both, known) == ("mixture", False)
    assert ranks(both, known, "ocmf") == ("ocmf", False)
    assert ranks(one, known, "ocmf") == ("fbgd", True)
    assert ranks(one, known, "mixture") == ("fbgd", True)
    assert ranks(both, cold) == ranks(both, cold, "fbgd") == ("popular", True)
    assert ranks(none, known) == ranks(none, known, "online") == ("popular", True)
    assert ranks(both, known, "trending") == ranks(none, cold, "trending") == ("trending", False)


def test_a_user_of_items_beyond_the_model_is_cold_to_it() -> None:
    made = slate(lineup(fold_in(5)), asker([7]), everything(9), Wanted(3), no_categories)
    assert made.origin.strategy == "popular"


def test_a_user_of_items_that_nothing_was_learned_of_is_cold_to_the_model() -> None:
    model = fold_in(30)
    model.item_vectors[7] = 1e-12
    pool = everything(30)
    made = slate(lineup(model), asker([7]), pool, Wanted(3, model="fbgd"), no_categories)
    assert (made.origin.strategy, made.reason) == ("popular", NOBODY.unknown)
    made = slate(lineup(model), asker([3, 7]), pool, Wanted(30, explain=True), no_categories)
    assert made.origin.strategy == "fbgd"
    assert {item for reasons in made.because or () for item, _ in reasons} == {3}


def test_a_mixture_combines_the_lists_of_the_rankers_that_matter() -> None:
    a, b = fold_in(30), fold_in(30, 1, "ocmf")
    me, pool = asker([1]), Pool(np.ones(30, np.bool_), np.array([1], np.int32))
    popular = list(range(30))
    weights = Weights({"fbgd": 0.6, "ocmf": 0.38, "popular": 0.01, "trending": 0.01})
    models = lineup(a, b, popular=popular, weights=weights)
    made = slate(models, me, pool, Wanted(29), no_categories)
    expected = combine([a.best(me, pool, 100).ranked, b.best(me, pool, 100).ranked], [0.6, 0.38])
    assert [pick.item for pick in made.picks] == expected[0].tolist()
    assert {pick.strategy for pick in made.picks} == {"fbgd", "ocmf"}
    assert made.origin.version.startswith("mixture-")
    assert made.origin.versions == {"fbgd": a.version, "ocmf": b.version}
    swapped = slate(lineup(a, fold_in(30, 2, "ocmf")), me, pool, Wanted(1), no_categories)
    assert swapped.origin.version != made.origin.version


def test_a_mixture_of_one_heavy_ranker_is_that_ranker() -> None:
    a, b = fold_in(30), fold_in(30, 1, "ocmf")
    weights = Weights({"fbgd": 0.96, "ocmf": 0.02, "popular": 0.01, "trending": 0.01})
    me = asker([1])
    for model, reason in ((None, None), ("mixture", OUTWEIGHED)):
        wanted = Wanted(30, model=model)  # type: ignore[arg-type]
        made = slate(lineup(a, b, weights=weights), me, everything(30), wanted, no_categories)
        assert [pick.item for pick in made.picks] == a.best(me, everything(30), 30)[0].tolist()
        assert (made.origin.strategy, made.origin.version) == ("fbgd", a.version)
        assert (made.origin.versions, made.reason) == ({"fbgd": a.version}, reason)
        assert made.pages == made.origin


def test_a_list_that_goes_on_gives_no_reason_for_what_nobody_asked() -> None:
    a, b = fold_in(30), fold_in(30, 1, "ocmf")
    heavy = Weights({"fbgd": 0.96, "ocmf": 0.02, "popular": 0.01, "trending": 0.01})
    young, known = lineup(online(30)), rated([1])
    for models, me, reason in (
        (lineup(a, b, weights=heavy), asker([1]), OUTWEIGHED),
        (young, known, NOTHING_TO_MIX),
    ):
        for model, says in ((None, None), ("mixture", reason)):
            wanted = Wanted(5, model=model, resumed="mixture")  # type: ignore[arg-type]
            assert slate(models, me, everything(30), wanted, no_categories).reason == says
    goes_on = Wanted(5, resumed="ocmf")
    made = slate(lineup(a, b, weights=heavy), asker([1]), everything(30), goes_on, no_categories)
    assert (made.origin.strategy, made.reason) == ("ocmf", None)


def test_a_slate_names_those_that_ranked_and_its_pages_go_on_with_all() -> None:
    a, b, me, pool = fold_in(30), fold_in(30, 1, "ocmf"), asker([1]), everything(30)

    def made(*models: FoldIn, **weights: float) -> Slate:
        found = lineup(*models, popular=[4, 9], weights=Weights(weights | {"trending": 0.0}))
        return slate(found, me, pool, Wanted(5), no_categories)

    mixed = made(a, b, fbgd=0.5, ocmf=0.01, popular=0.49)
    assert (mixed.origin.strategy, mixed.origin.versions) == ("mixture", {"fbgd": a.version})
    assert mixed.pages.versions == {"fbgd": a.version, "ocmf": b.version}
    assert mixed.pages.strategy == "mixture"
    assert mixed.origin.version == made(a, fbgd=0.3, popular=0.7).origin.version
    both = made(a, b, fbgd=0.5, ocmf=0.4, popular=0.1)
    assert both.origin.version == mixed.pages.version != mixed.origin.version


def test_a_mixture_has_learned_what_all_of_its_models_have() -> None:
    def model(strategy: Strategy, through: dict[int, int]) -> FoldIn:
        return FoldIn(FAMILIES[strategy], strategy, StructuredUsers(objective()), through)

    a, b = model("fbgd", {0: 7, 1: 2}), model("ocmf", {0: 3, 1: 5})
    for rankers in ((a, b), (b, a), (a, b, online(12))):
        assert lineup(a, b).origin(rankers).trained_through == {0: 3, 1: 2}


def test_where_the_rankers_bring_nothing_it_is_said_who_did() -> None:
    experts = OnlineModel(OnlineConfig())
    young = online_of(np.zeros((9, experts.width), np.float32), np.zeros(9, np.float32))
    made = slate(lineup(young, popular=[4, 2]), rated([1]), everything(9), Wanted(5), no_categories)
    assert [pick.item for pick in made.picks][:2] == [4, 2]
    assert made.origin == made.pages
    assert (made.origin.strategy, made.origin.version) == ("popular", "popular")
    assert made.reason == left_to_popular("online")
    assert "some seconds later" in left_to_popular("online")
    assert "later" not in left_to_popular("fbgd")
    later = Pool(np.arange(9) >= 5)
    made = slate(lineup(fold_in(5)), asker([1]), later, Wanted(9, model="fbgd"), no_categories)
    assert (made.origin.strategy, made.reason) == ("popular", left_to_popular("fbgd"))
    nothing = slate(
        lineup(fold_in(5)), asker([1]), Pool(np.zeros(9, np.bool_)), Wanted(9), no_categories
    )
    assert (nothing.origin.strategy, nothing.reason, nothing.picks) == ("fbgd", None, [])


def test_a_blend_says_what_it_is_made_of() -> None:
    models, me = lineup(fold_in(30), online(30)), rated([1])

    def origin(share: float) -> Origin:
        wanted = Wanted(5, model="fbgd", blend=share)
        return slate(models, me, everything(30), wanted, no_categories).origin

    half = origin(0.5)
    assert half.blend == Blend(0.5, online(30).version)
    assert half.version.startswith("blend-")
    assert model_prefix(half.version)
    assert (half.strategy, half.versions) == ("fbgd", {"fbgd": "fbgd-0"})
    assert len({half.version, origin(0.2).version, origin(0.0).version}) == 3
    assert origin(0.5) == half
    assert origin(0.0).blend is None


def test_a_mixture_weighs_the_rankers_as_suits_the_length_of_the_history() -> None:
    a, b = fold_in(30), fold_in(30, 1, "ocmf")
    others = {"popular": 0.0, "trending": 0.0}
    short, longer, all_alike = (
        {"fbgd": own, "ocmf": 1.0 - own} | others for own in (1.0, 0.0, 0.5)
    )
    models = lineup(a, b, weights=Weights(all_alike, {0: short, 5: longer}))
    for n, ranker in ((1, a), (4, a), (5, b), (19, b)):
        me, pool = asker(list(range(n))), everything(30)
        made = slate(models, me, pool, Wanted(10), no_categories)
        expected = ranker.best(me, pool, 10)[0].tolist()
        assert [pick.item for pick in made.picks] == expected
    long = slate(models, asker(list(range(20))), pool, Wanted(10), no_categories)
    assert {pick.strategy for pick in long.picks} == {"fbgd", "ocmf"}


def test_a_mixture_goes_on_beyond_the_combined_part() -> None:
    a, b = fold_in(400), fold_in(400, 1, "ocmf")
    whole = picked(lineup(a, b), asker([1]), everything(400), Wanted(400))
    assert sorted(whole) == list(range(400))


JUDGED = {"fbgd": 0.2, "online": 0.3, "popular": 0.4, "trending": 0.1}


def test_one_ranker_that_knows_the_user_is_mixed_with_what_everybody_likes() -> None:
    popular, pool = [9, 4, 2, 17], everything(30)
    weights = Weights(JUDGED, {0: JUDGED})
    for ranker, me in ((online(30), rated([1])), (fold_in(30), asker([1]))):
        models = lineup(ranker, popular=popular, weights=weights)
        orders = [(np.array(one, np.int32), ones(4)) for one in (popular, popular[::-1])]
        lists = [ranker.best(me, pool, 100).ranked, *orders]
        expected = combine(lists, [JUDGED[ranker.strategy], 0.4, 0.1])[0].tolist()
        for model in (None, "mixture"):
            made = slate(models, me, pool, Wanted(30, model=model), no_categories)  # type: ignore[arg-type]
            assert (made.origin.strategy, made.reason) == ("mixture", None)
            assert [pick.item for pick in made.picks][: len(expected)] == expected
            assert {"popular", ranker.strategy} <= {pick.strategy for pick in made.picks}


def test_before_it_was_judged_the_online_model_ranks_alone() -> None:
    me, pool = rated([1]), everything(30)
    expected = online(30).best(me, pool, 30)[0].tolist()
    for weights in (Weights(), Weights(JUDGED)):
        models = lineup(online(30), popular=[9, 4, 2], weights=weights)
        made = slate(models, me, pool, Wanted(29), no_categories)
        assert (made.origin.strategy, made.reason) == ("online", None)
        assert [pick.item for pick in made.picks] == expected
        mixed = slate(models, me, pool, Wanted(29, model="mixture"), no_categories)
        assert (mixed.origin.strategy, mixed.reason) == ("online", NOTHING_TO_MIX)
        with_a_model = slate(
            lineup(online(30), fold_in(5), popular=[9], weights=weights),
            me if weights.shared else rated([7]),
            pool,
            Wanted(29),
            no_categories,
        )
        assert (with_a_model.origin.strategy == "mixture") == bool(weights.shared)


def test_what_nobody_has_liked_is_in_no_list_of_the_mixture() -> None:
    weights = Weights(JUDGED, {0: JUDGED})
    me, pool = rated([1]), everything(300)
    made = picked(lineup(online(300), popular=[50], weights=weights), me, pool, Wanted(100))
    own = online(300).best(me, pool, 100)[0].tolist()
    assert [item for item in made if item != 50] == [item for item in own if item != 50][:99]


def test_what_is_long_to_choose_or_to_explain_is_not_for_the_event_loop() -> None:
    usual = Wanted(10, diversity=0.5, max_per_category=2, explain=True)
    assert Wanted(1_000).effort(5_000) == 0
    assert 0 < usual.effort(200) < INLINE
    assert Wanted(1_000, diversity=0.5).effort(0) > INLINE
    assert Wanted(10, 1_000, max_per_category=1).effort(0) > INLINE
    assert Wanted(1_000, explain=True).effort(500) > INLINE


def test_at_most_so_many_of_a_category() -> None:
    def categories(numbers: object) -> list[list[str]]:
        return [["even" if number % 2 == 0 else "odd"] for number in numbers]  # type: ignore[attr-defined]

    models, me = lineup(fold_in(40)), asker([1])
    made = slate(models, me, everything(40), Wanted(10, max_per_category=5), categories)
    items = [pick.item for pick in made.picks]
    assert sum(item % 2 for item in items) == 5
    best = picked(models, me, everything(40), Wanted(40))
    assert items == sorted(items, key=best.index)


def test_a_list_goes_on_where_categories_have_their_share() -> None:
    models, me = lineup(fold_in(700)), asker([1])
    best = picked(models, me, everything(700), Wanted(700))
    rare = set(best[-2:])

    def categories(numbers: object) -> list[list[str]]:
        return [["rare" if number in rare else "usual"] for number in numbers]  # type: ignore[attr-defined]

    made = slate(models, me, everything(700), Wanted(4, max_per_category=2), categories)
    assert [pick.item for pick in made.picks] == [*best[:2], *best[-2:]]
    fewer = slate(models, me, everything(700), Wanted(5, max_per_category=2), categories)
    assert (len(fewer.picks), fewer.more) == (4, True)


def test_where_nothing_was_trained_the_online_model_is_no_reason_to_say_otherwise() -> None:
    model = OnlineModel(OnlineConfig())
    found = lineup(online_of(np.zeros((0, model.width), np.float32), np.zeros(0, np.float32)))
    for wanted, says in (
        (None, "no model is active yet"),
        ("mixture", "no model is active yet"),
        ("fbgd", "no model of the strategy fbgd is active"),
        ("online", "known of this user yet"),
    ):
        made = slate(found, NOBODY, everything(3), Wanted(1, model=wanted), no_categories)  # type: ignore[arg-type]
        assert says in str(made.reason)


def test_a_blend_that_cannot_be_is_said() -> None:
    a, b, me = fold_in(30), fold_in(30, 1, "ocmf"), asker([1])
    for models in (lineup(a), lineup(a, b), lineup()):
        made = slate(models, me, everything(30), Wanted(3, blend=0.5), no_categories)
        assert made.reason is not None
        assert ("`blend` was left out" in made.reason) == bool(models.models)


def test_diversity_begins_with_the_best_and_lowers_likeness() -> None:
    model, me = fold_in(300), asker([1, 2, 3])
    unit = model.item_vectors / np.linalg.norm(model.item_vectors, axis=1, keepdims=True)

    def likeness(items: list[int]) -> float:
        near = unit[items] @ unit[items].T
        return float(near[np.triu_indices(len(items), 1)].mean())

    plain = picked(lineup(model), me, everything(300), Wanted(10))
    varied = picked(lineup(model), me, everything(300), Wanted(10, diversity=0.7))
    assert plain[0] == varied[0]
    assert likeness(varied) < likeness(plain)


def test_reasons_are_parts_of_the_score() -> None:
    model, me = fold_in(30), asker([1, 2])
    made = slate(lineup(model), me, everything(30), Wanted(30, explain=True), no_categories)
    assert made.because is not None
    for pick, reasons in zip(made.picks, made.because, strict=True):
        assert all(part > 0 for _, part in reasons)
        if len(reasons) == 2:
            assert sum(part for _, part in reasons) == pytest.approx(pick.score, abs=1e-4)
    cold = slate(lineup(model), NOBODY, everything(30), Wanted(3, explain=True), no_categories)
    assert cold.because == [[], [], []]
    assert made.reason is None
    assert unexplained_list() in str(cold.reason)


def test_an_item_is_no_reason_for_itself() -> None:
    own = [1, 2, 3, 4]
    made = slate(
        lineup(fold_in(30)), asker(own), everything(30), Wanted(30, explain=True), no_categories
    )
    assert made.because is not None
    named = {pick.item: dict(why) for pick, why in zip(made.picks, made.because, strict=True)}
    assert not any(item in why for item, why in named.items())
    assert any(named[item] for item in own)


def test_the_model_that_ranked_an_item_explains_it() -> None:
    models, me, pool = (fold_in(30), fold_in(30, 1, "ocmf")), asker([1, 2]), everything(30)

    def made(**weights: float) -> Slate:
        found = lineup(*models, popular=[9, 8, 7], weights=Weights(weights | {"trending": 0.0}))
        return slate(found, me, pool, Wanted(20, explain=True), no_categories)

    alone: dict[str, dict[int, Sequence[tuple[int, float]]]] = {}
    for model in models:
        of_all = slate(lineup(model), me, pool, Wanted(30, explain=True), no_categories)
        assert of_all.because is not None
        items = [pick.item for pick in of_all.picks]
        alone[model.strategy] = dict(zip(items, of_all.because, strict=True))
    for weights, others in (
        ({"fbgd": 0.01, "ocmf": 0.95, "popular": 0.0}, "ocmf"),
        ({"fbgd": 0.5, "ocmf": 0.4, "popular": 0.0}, "fbgd"),
        ({"fbgd": 0.1, "ocmf": 0.2, "popular": 0.7}, "ocmf"),
    ):
        mixed = made(**weights)
        assert mixed.because is not None
        for pick, reasons in zip(mixed.picks, mixed.because, strict=True):
            expected = alone.get(pick.strategy, alone[others])[pick.item]
            assert dict(reasons) == pytest.approx(dict(expected))
    assert {pick.strategy for pick in mixed.picks} == {"fbgd", "ocmf", "popular"}
    unheard = made(fbgd=0.01, ocmf=0.01, popular=0.9)
    assert (unheard.because, unheard.reason) == ([[]] * 20, unexplained_list())


def test_dislikes_alone_speak_for_no_item() -> None:
    own = np.array([1, 2], np.int32)
    me = Asker(Preferences(own, ones(2), np.zeros(2, np.float32), own))
    made = slate(lineup(fold_in(30)), me, everything(30), Wanted(9, explain=True), no_categories)
    assert (made.because, made.reason) == ([[]] * 9, UNSPOKEN)
    assert {pick.strategy for pick in made.picks} == {"fbgd"}


def test_similar_items_are_nearest_by_direction() -> None:
    model = fold_in(30)
    pool = Pool(np.ones(30, np.bool_), np.array([4], np.int32))
    made = similar(lineup(model), 4, pool, Wanted(5))
    unit = model.item_vectors / np.linalg.norm(model.item_vectors, axis=1, keepdims=True)
    cosine = unit @ unit[4]
    cosine[4] = -np.inf
    assert [pick.item for pick in made.picks] == np.argsort(-cosine, kind="stable")[:5].tolist()
    unknown = similar(lineup(model, popular=[2]), 31, everything(32), Wanted(1))
    assert (unknown.origin.strategy, unknown.picks[0].item) == ("popular", 2)
    assert unknown.reason is not None


def test_of_several_models_the_one_that_compares_items_best_is_asked() -> None:
    models = fold_in(30), fold_in(30, 1, "neighbours")
    made = similar(lineup(*models), 4, everything(30), Wanted(5))
    assert made.origin.strategy == "neighbours"
    named = similar(lineup(*models), 4, everything(30), Wanted(5, model="fbgd"))
    assert named.origin.strategy == "fbgd"


def test_a_vector_of_rounding_is_not_learned() -> None:
    model = fold_in(30)
    model.item_vectors[7] = 1e-14
    pool = everything(30)
    made = similar(lineup(model, popular=[2]), 7, pool, Wanted(3))
    assert (made.origin.strategy, made.reason) == ("popular", UNLEARNED)
    [score] = [p.score for p in similar(lineup(model), 4, pool, Wanted(30)).picks if p.item == 7]
    assert score == 0.0


def test_a_model_of_each_trained_family_can_be_trained_by_its_recipes() -> None:
    recipes = [one for family in FAMILIES.values() for one in family.recipes]
    assert {one.name: one for one in recipes} == {n: r.settings for n, r in SERVED.items()}
    assert all(family.trained == bool(family.recipes) for family in FAMILIES.values())


def test_an_empty_world_has_an_empty_slate() -> None:
    assert picked(lineup(), NOBODY, Pool(np.empty(0, np.bool_), NOTHING), Wanted(10)) == []


def test_warming_up_reaches_the_kernels() -> None:
    rank_once()
