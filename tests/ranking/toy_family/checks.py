"""Checks of the family `price`, for a tree that has it: see test_toy_family.py, which runs them."""

from pathlib import Path

import pytest
import redis

from service.errors import InvalidTraining
from service.learning.following.learned_weights import LearnedWeights, TrainedModel
from service.ranking.families import FAMILIES, STRATEGIES
from service.ranking.reasons import inactive, unknown
from service.ranking.slates.slate import slate
from service.ranking.slates.wanted import Wanted
from service.settings import Settings
from service.store.connection import connect
from service.store.jobs.records import JobRecords
from service.store.keys import NamespaceKeys
from service.store.log.lease import Lease
from service.store.models.registry import Registry
from service.training import work
from service.training.orders import check_order
from service.training.recipes import SERVED
from tests.api import Api
from tests.histories import store_histories, world
from tests.rankers import asker, everything, fold_in, lineup, no_categories
from tests.ranking.worlds import N_ITEMS, cases


def test_the_tables_have_it() -> None:
    assert STRATEGIES.index("price") == FAMILIES["price"].number == len(STRATEGIES) - 1
    assert "by-price" in SERVED
    assert "by-price" in inactive("price")


def test_an_order_is_checked() -> None:
    check_order("by-price", {"cheapest": 0.5})
    for wrong in ({"cheapest": -1.0}, {"dearest": 1.0}):
        with pytest.raises(InvalidTraining, match="by-price"):
            check_order("by-price", wrong)


def test_a_mixed_slate_combines_it_with_others() -> None:
    models = lineup(fold_in(N_ITEMS), cases()["by-price"]().ranker)
    made = slate(models, asker([2]), everything(N_ITEMS), Wanted(k=9), no_categories)
    assert made.origin.versions.keys() == {"fbgd", "price"}
    assert "price" in {pick.strategy for pick in made.picks}
    alone = Wanted(k=3, model="price")
    made = slate(models, asker([2]), everything(N_ITEMS), alone, no_categories)
    assert made.picks[0].item == 2


def test_reasons_name_its_recipe() -> None:
    ranker, own = cases()["by-price"]().ranker, asker([N_ITEMS + 1]).preferences
    assert "by-price" in unknown(ranker, own, features=False, posted=False, anonymous=False)
    wanted = Wanted(k=1, model="price")
    made = slate(lineup(fold_in(9)), asker([2]), everything(9), wanted, no_categories)
    assert made.reason == inactive("price")


def test_it_is_weighed_by_the_follower() -> None:
    weighed = LearnedWeights(None)
    weighed.follow({"price": TrainedModel("v", 0.01)}, {"popular": "popular"})
    assert weighed.weights.shared["price"] > weighed.weights.shared["popular"]


def train(settings: Settings, client: redis.Redis, job: str) -> None:
    """Do the work of a job in this process."""
    lease = Lease(client, NamespaceKeys(settings.namespace).trainer, 60_000)
    records = JobRecords(client, settings.namespace)
    assert lease.acquire()
    assert records.claim(job, lease.token)
    work.run(settings, client, job)
    record = records.record(job)
    lease.release()
    assert record.status == "succeeded", record.error


def test_it_is_trained_and_serves(redis_url: str, namespace: str, tmp_path: Path) -> None:
    settings = Settings(namespace=namespace, data_dir=tmp_path)
    with connect(redis_url, role="test") as client, Api(settings, redis_url) as api:
        store_histories(client, settings, world(users=40))
        body = {"model": "by-price", "budget_s": 0.0, "promote_unjudged": True}
        ordered = api("POST", "/v1/retrain", json=body)
        assert ordered.is_success, ordered.text
        train(settings, client, ordered.json()["id"])
        version = Registry(client, namespace).active()["price"]
        api.follow_models()
        path = "/v1/users/u0000/recommendations"
        alone = api("GET", path, params={"model": "price"}).json()
        assert (alone["strategy"], alone["model_version"]) == ("price", version)
        assert alone["items"]
        mixed = api("GET", path, params={"model": "mixture"})
        assert mixed.is_success, mixed.text
        assert version in api("GET", "/v1/models").text
