"""Models that learn from the features in documents, from the order to the served snapshot."""

import json
from typing import Any

import numpy as np
import pytest

from core.batch.content.snapshot import content_of
from core.batch.snapshot import encoders_of
from core.labels.snapshot import items_of
from core.ordinal.snapshot import stars_of
from core.snapshot import mapped
from service.ranking.family import ADDS
from service.store.keys import NamespaceKeys
from service.store.models.mixture import read_first_stack
from tests.flows.shop import shop
from tests.histories import START_MS, Record, store_histories, world

pytestmark = pytest.mark.flow


def describe(
    client: Any, namespace: str, *, users: int = 300, items: int = 80, tastes: str = "0123"
) -> None:
    """Give each user a taste and each item a shelf."""
    keys = NamespaceKeys(namespace)
    for n in range(users):
        body = {"version": 1, "features": {"taste": f"t{tastes[n % 4]}"}, "links": []}
        client.set(keys.user_document(f"u{n:04d}"), json.dumps(body))
    for n in range(items):
        body = {"version": 1, "categories": [f"shelf {n % 4}"], "features": {}}
        client.set(keys.item_document(n), json.dumps(body))


def test_items_become_labels_of_users(room, redis_url, namespace):
    with shop(room, redis_url, namespace, world(), partitions=2) as here:
        describe(here.client, namespace)
        job = here.trained(model="exmlds", budget_s=1.0)
        assert job.status == "succeeded", job.error
        assert here.serving == {"exmlds": job.version}
        assert job.metrics["ndcg@10"] > 1.5 * job.metrics["popular"]["ndcg@10"]
        encoded = {"columns": 4, "left_out": {"names": 0, "values": 0}}
        assert job.metrics["features"] == {"users": encoded, "items": encoded}
        manifest, chunks = here.registry.manifest(job.version), here.registry.chunks(job.version)
        snapshot = mapped(manifest, b"".join(chunks))
        model, (users, items) = items_of(snapshot), encoders_of(snapshot)
        tastes = users.transform([{"taste": f"t{n}"} for n in range(4)])
        best = np.argsort(-model.scores(tastes), axis=1)[:, :5]
        assert (best % 4 == np.arange(4)[:, None]).mean() > 0.8
        [shelf] = model.factors_of(items.transform([{"categories": ["shelf 2"]}]))
        assert np.argmax(model.audience(shelf, tastes)[0]) == 2
        again = here.trained(model="exmlds", **job.parameters)
        assert again.decision["outcome"] == "promoted"
        worse = here.trained(model="exmlds", factors=1, blend=0.0, neighbours=1_000_000)
        assert worse.decision["outcome"] == "refused"


@pytest.mark.parametrize("tastes", ["4567", "0012"])
def test_a_served_model_that_knows_other_features_is_fitted_anew_to_be_compared(
    room, redis_url, namespace, tastes
):
    with shop(room, redis_url, namespace, world()) as here:
        describe(here.client, namespace)
        first = here.trained(model="exmlds", factors=8)
        later = world(seed=1, items=200, each=8, start_ms=START_MS + 40 * 86_400_000)
        store_histories(here.client, here.settings, later)
        describe(here.client, namespace, tastes=tastes)
        second = here.trained(model="exmlds", factors=8)
        assert second.status == "succeeded", second.error
        assert second.decision["rival"] == first.version
        # it is the candidate again, not the served model beside columns that it never saw
        assert second.metrics["rival"]["ndcg@10"] == second.metrics["ndcg@10"]


def test_stars_are_learned_from_features_of_users_and_items(room, redis_url, namespace):
    with shop(room, redis_url, namespace, world()) as here:
        describe(here.client, namespace, items=90)
        # items without ratings have numbers too
        store_histories(here.client, here.settings, [Record("u0000", 89, value=5.0)])
        job = here.trained(model="ordinal", labelled=200, unlabelled=50, frequencies=64)
        assert job.status == "succeeded", job.error
        assert here.serving == {"ordinal": job.version}
        manifest, chunks = here.registry.manifest(job.version), here.registry.chunks(job.version)
        snapshot = mapped(manifest, b"".join(chunks))
        stars, (users, _) = stars_of(snapshot), encoders_of(snapshot)
        assert stars.values.tolist() == [1.0, 2.0, 3.0, 4.0, 5.0]
        # metrics of ratings after the cut, predicted from those before it
        assert job.metrics["stars_mae"] < 1.0
        assert job.metrics["stars_accuracy"] > 0.4
        record = here.registry.record(job.version)
        assert record.metrics["stars_mae"] == job.metrics["stars_mae"]
        scores = stars.scores(users.transform([{"taste": f"t{n}"} for n in range(4)]))
        assert scores.shape == (4, 90)
        assert (scores[:, 80:].argmax(axis=1) % 4 == np.arange(4)).all()


@pytest.mark.parametrize("model", ["exmlds", "ordinal"])
def test_without_features_the_order_fails_and_says_what_to_do(room, redis_url, namespace, model):
    with shop(room, redis_url, namespace, world(users=30)) as here:
        job = here.trained(model=model)
        assert job.status == "failed"
        assert "PUT /v1/users/{id}" in str(job.error)


def test_items_are_placed_by_documents_of_items_alone(room, redis_url, namespace):
    with shop(room, redis_url, namespace, world(), partitions=2) as here:
        describe(here.client, namespace, users=0, items=90)
        store_histories(here.client, here.settings, [Record("u0000", 89, value=5.0)])
        job = here.trained(model="content")
        assert job.status == "succeeded", job.error
        assert here.serving == {"content": job.version}
        manifest, chunks = here.registry.manifest(job.version), here.registry.chunks(job.version)
        model = content_of(mapped(manifest, b"".join(chunks)))
        # items that nobody has rated are most like those of their shelf
        for item in range(80, 89):
            near = np.argsort(-model.likeness(item)[:80])[:10]
            assert (near % 4 == item % 4).all()
        every = here.trained(model=None, budget_s=2.0)
        assert every.status == "succeeded", every.error
        [tried] = [one for one in every.tried if one["model"] == "content"]
        assert tried["chosen"], tried["why"]
        record = here.registry.record(here.serving["content"])
        assert tried["only_places"] != tried["why"].startswith("adds to")
        assert record.metrics[ADDS] == (not tried["only_places"])
        first = read_first_stack(here.client, namespace)
        if first is not None:
            foretold = {name.partition(":")[0] for name in first.stack.names}
            assert ("content" in foretold) <= (not tried["only_places"])


def test_without_documents_of_items_content_says_what_to_do(room, redis_url, namespace):
    with shop(room, redis_url, namespace, world(users=30)) as here:
        job = here.trained(model="content")
        assert job.status == "failed"
        assert "PUT /v1/items/{id}" in str(job.error)
