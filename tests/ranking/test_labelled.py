"""A label model ranks for people by their features, until models that read histories take over."""

import numpy as np
import pytest

from core.features import Column, FeatureEncoder
from core.labels.config import ItemsConfig
from core.labels.items import fit_items
from core.labels.labelled_items import ItemsAsLabels
from core.mixture_weights import Weights
from core.online.config import OnlineConfig
from core.online.model import OnlineModel
from core.ordinal.config import StarsConfig
from core.ordinal.fit_stars import fit_stars
from service.ranking.asker import NOBODY, Asker
from service.ranking.families import FAMILIES
from service.ranking.lineup import Lineup
from service.ranking.pool import Pool
from service.ranking.ranker import Ranker
from service.ranking.slates.choice import choose, heard
from service.ranking.slates.slate import similar, slate
from service.ranking.slates.wanted import Wanted
from service.ranking.trained.labelled import Labelled
from service.ranking.trained.starred import Starred
from tests.core.liked import item_kinds, world
from tests.core.rated import world as stars_world
from tests.rankers import asker, everything, fold_in, no_categories, online_of, order

KINDS = FeatureEncoder((Column("kind", ("0", "1", "2", "3")),))


@pytest.fixture(scope="module")
def model() -> ItemsAsLabels:
    return fit_items(*world(), ItemsConfig(factors=4, neighbours=30), item_kinds())


@pytest.fixture
def ranker(model: ItemsAsLabels) -> Labelled:
    return Labelled(FAMILIES["exmlds"], "label-1", model, {0: 5}, users=KINDS, items=KINDS)


def lineup(*rankers: Ranker) -> Lineup:
    return Lineup([*rankers, order("popular", [23, 0]), order("trending", [0])])


def by_features(ranker: Labelled, items: list[int], kind: str = "1") -> Asker:
    me = asker(items)
    scores = ranker.feature_vector({"kind": kind})
    assert scores is not None
    return Asker(me.preferences, features={ranker.version: scores})


def test_features_rank_for_somebody_without_a_history(ranker: Labelled) -> None:
    made = slate(lineup(ranker), by_features(ranker, []), everything(24), Wanted(24), no_categories)
    assert (made.origin.strategy, made.origin.version, made.reason) == ("exmlds", "label-1", None)
    items = [pick.item for pick in made.picks]
    assert {item % 4 for item in items[:5]} == {1}
    # nobody liked the last item: it comes after all that the model knows
    assert items[-1] == 23
    assert made.picks[-1].strategy == "popular"
    assert made.origin.trained_through == {0: 5}


def test_exclusions_and_candidates_hold(ranker: Labelled) -> None:
    me = by_features(ranker, [])
    pool = Pool(np.arange(24) != 5, np.array([1], np.int32))
    items = ranker.best(me, pool, 24)[0].tolist()
    assert not {1, 5} & set(items)
    only = Pool(np.ones(24, np.bool_), candidates=np.array([2, 9, 13], np.int32))
    assert ranker.best(me, only, 9)[0].tolist()[-1] == 2


def test_features_that_the_model_does_not_know_say_nothing(ranker: Labelled) -> None:
    assert ranker.feature_vector({"kind": "9", "age": 3}) is None
    made = slate(lineup(ranker), NOBODY, everything(24), Wanted(3, model="exmlds"), no_categories)
    assert made.origin.strategy == "popular"
    assert made.reason is not None


def test_models_that_read_the_history_take_over_as_it_grows(ranker: Labelled) -> None:
    both = lineup(fold_in(24), ranker)

    def ranks(n: int, kind: str = "1") -> tuple[str, list[int]]:
        me = by_features(ranker, list(range(n)), kind)
        made = slate(both, me, everything(24), Wanted(8), no_categories)
        return made.origin.strategy, [pick.item for pick in made.picks]

    assert ranks(0)[0] == "exmlds"
    assert ranks(2)[0] == "mixture"
    assert ranks(2)[1] != ranks(2, "3")[1]
    assert ranks(20)[0] == "fbgd"
    assert ranks(20)[1] == ranks(20, "3")[1]
    alone = slate(
        lineup(ranker),
        by_features(ranker, list(range(20))),
        everything(24),
        Wanted(3),
        no_categories,
    )
    assert alone.origin.strategy == "exmlds"
    asked = by_features(ranker, list(range(20)))
    wanted = Wanted(3, model="exmlds")
    assert slate(both, asked, everything(24), wanted, no_categories).origin.strategy == "exmlds"


def test_a_model_weighs_by_its_share_for_the_asker(ranker: Labelled) -> None:
    choice = choose(lineup(fold_in(24), ranker), by_features(ranker, [0, 1, 2]), Wanted(8))
    weights = dict(zip((r.strategy for r in choice.rankers), choice.weights, strict=True))
    assert weights["exmlds"] == pytest.approx(weights["fbgd"] / 4)


def test_features_are_read_for_models_that_they_matter_to_or_that_were_named(
    ranker: Labelled,
) -> None:
    long = asker(list(range(20)))
    assert heard([ranker], NOBODY) == [ranker]
    assert heard([ranker], long) == heard([ranker], long, "fbgd") == []
    assert heard([ranker], long, "exmlds") == [ranker]


def test_weights_of_people_with_a_history_do_not_outvote_features(ranker: Labelled) -> None:
    model = fit_stars(*stars_world(), StarsConfig(labelled=150, unlabelled=40, frequencies=32))
    stars = Starred(FAMILIES["ordinal"], "stars-1", model, {0: 5}, users=KINDS, items=KINDS)
    weights = Weights({"popular": 0.6, "trending": 0.3, "ordinal": 0.1})
    made_of = Lineup([ranker, stars, order("popular", [23, 0]), order("trending", [0])], weights)
    own = np.ones(stars.item_vectors.shape[1], np.float32)
    known = by_features(ranker, [])
    me = Asker(known.preferences, features={**known.features, stars.version: own})
    assert stars.knows(me)
    made = slate(made_of, me, everything(24), Wanted(5), no_categories)
    assert (made.origin.strategy, made.reason) == ("exmlds", None)
    assert {pick.item % 4 for pick in made.picks} == {1}


def test_before_anything_was_judged_foreseen_stars_lead_nobody() -> None:
    model = fit_stars(*stars_world(), StarsConfig(labelled=150, unlabelled=40, frequencies=32))
    stars = Starred(FAMILIES["ordinal"], "stars-1", model, {0: 5}, users=KINDS, items=KINDS)
    experts = OnlineModel(OnlineConfig())
    rng = np.random.default_rng(1)
    rows = rng.normal(0.1, 0.1, (24, experts.width)).astype(np.float32)
    online = online_of(rows, np.ones(24, np.float32))
    own = np.ones(stars.item_vectors.shape[1], np.float32)
    row = rng.normal(0.1, 0.1, experts.width).astype(np.float32)
    me = Asker(asker([1]).preferences, features={stars.version: own}, row=row)
    made = slate(lineup(stars, online), me, everything(24), Wanted(24), no_categories)
    assert made.origin.strategy == "online"
    expected = online.best(me, everything(24), 24)[0].tolist()
    assert expected != sorted(expected)
    assert [pick.item for pick in made.picks] == expected


def test_items_of_the_same_users_are_similar(ranker: Labelled) -> None:
    pool = Pool(np.ones(24, np.bool_), np.array([6], np.int32))
    made = similar(lineup(fold_in(24), ranker), 6, pool, Wanted(4, model="exmlds"))
    assert made.origin.strategy == "exmlds"
    assert {pick.item % 4 for pick in made.picks} == {2}
    assert similar(lineup(ranker), 23, everything(24), Wanted(1)).origin.strategy == "popular"


def test_variety_takes_vectors_of_items(ranker: Labelled) -> None:
    wanted = Wanted(6, diversity=0.9)
    made = slate(lineup(ranker), by_features(ranker, []), everything(24), wanted, no_categories)
    assert len({pick.item % 4 for pick in made.picks}) > 1
