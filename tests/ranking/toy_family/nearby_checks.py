"""Checks of the family `nearby`, for a tree that has it: see test_toy_family.py."""

from pathlib import Path
from typing import Any

import pytest

from core.meaning import EventMeanings
from core.mixture_weights import Weights
from service.learning.following.judge import Judge
from service.ranking.families import FAMILIES, STRATEGIES
from service.ranking.reasons import inactive
from service.ranking.slates.slate import slate
from service.ranking.slates.wanted import Wanted
from service.settings import Settings
from tests.api import Api
from tests.rankers import everything, fold_in, lineup, no_categories
from tests.ranking.worlds import N_ITEMS, cases, model

POSTED = {"history": [{"item": "i3", "rating": 5}]}


def test_the_tables_have_it() -> None:
    assert STRATEGIES.index("nearby") == FAMILIES["nearby"].number == len(STRATEGIES) - 1
    assert not FAMILIES["nearby"].trained
    assert inactive("nearby") == "nearby has seen no items"


def test_a_mixed_slate_combines_it_with_a_trained_model() -> None:
    case = cases()["nearby"]()
    models = lineup(fold_in(N_ITEMS), case.ranker)
    alone = slate(models, case.asker([4]), everything(9), Wanted(3, model="nearby"), no_categories)
    assert [pick.item for pick in alone.picks] == [4, 3, 5]
    weights = {"nearby": 0.5, "fbgd": 0.5, "popular": 0.0, "trending": 0.0}
    models = lineup(*models.models.values(), weights=Weights(weights, {0: weights}))
    mixed = slate(models, case.asker([4]), everything(9), Wanted(9), no_categories)
    assert mixed.origin.strategy == "mixture"
    assert {pick.strategy for pick in mixed.picks} >= {"nearby", "fbgd"}


def test_the_follower_weighs_it_from_the_start(tmp_path: Path) -> None:
    judge = Judge(Settings(data_dir=tmp_path), model(), EventMeanings(), 0)
    assert judge.versions["nearby"] == "nearby"


@pytest.fixture
def api(redis_url: str, namespace: str, tmp_path: Path) -> Any:
    with Api(Settings(namespace=namespace, data_dir=tmp_path), redis_url) as api:
        for n in range(8):
            put = api("PUT", f"/v1/items/i{n}", json={"categories": ["c"]})
            assert put.is_success, put.text
        yield api


def test_an_api_process_serves_it(api: Api) -> None:
    asked = {**POSTED, "model": "nearby", "k": 2}
    found = api("POST", "/v1/recommendations", json=asked).json()
    assert (found["strategy"], found["reason"]) == ("nearby", None)
    assert [item["item"] for item in found["items"]] == ["i2", "i4"]
    stranger = api("POST", "/v1/recommendations", json={"model": "nearby", "k": 2}).json()
    assert (stranger["strategy"], stranger["reason"]) == ("popular", "nearby needs a latest item")


def test_it_is_no_model_that_could_be_trained_or_compared(api: Api) -> None:
    path = "/v1/items/i1/similar"
    assert api("GET", path, params={"model": "nearby"}).status_code == 422
    assert api("POST", "/v1/retrain", json={"model": "nearby"}).status_code == 422
