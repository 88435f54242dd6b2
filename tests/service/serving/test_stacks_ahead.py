"""The first lists after a promotion are made before it, by all models that come with it."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from redis import Redis

from core.batch.snapshot import of_objective
from service.settings import Settings
from service.store.keys import PartitionKeys
from service.store.models.mixture import (
    ArmRecord,
    MixtureRecord,
    RankerRecord,
    StackRecord,
    write_mixture,
)
from service.store.models.records import LEAD
from service.store.models.registry import Registry
from tests.api import Api, learning
from tests.models import activated, objective
from tests.server import wait_until

N = 60
PATH = "/v1/users/ada/recommendations"
NAMES = ("fbgd: score", "popular: log score")
STACK = StackRecord(NAMES, (0.0, 0.0), (1.0, 1.0), ((2.0, 0.1, 0.0), (0.4, 0.0, 0.0)), (2.0, 1.0))
ARMS = {"stack": ArmRecord(0.9), "fusion": ArmRecord(0.1)}
JUDGED = MixtureRecord(1, 400, 0, {}, stack=STACK, arms=ARMS)


def settings_of(namespace: str, folder: Path, **more: Any) -> Settings:
    return Settings(namespace=namespace, data_dir=folder, min_sequence_wait_ms=60_000, **more)


def promote(client: Redis, namespace: str, seed: int) -> str:
    made = of_objective(
        "fbgd",
        objective(N, 8, seed=seed),
        settings={},
        metrics={LEAD: 0.1},
        cuts={"trained_through": {"0": 0}},
    )
    version: str = activated(Registry(client, namespace), made=made, strategy="fbgd").version
    return version


@pytest.fixture
def judged_shop(redis_url: str, client: Redis, namespace: str, tmp_path: Path) -> None:
    """Leave a shop whose stack ranks, and nobody who would teach it anything else."""
    settings = settings_of(namespace, tmp_path, judged_per_s=0)
    with learning(settings, redis_url), Api(settings, redis_url) as api:
        rng = np.random.default_rng(1)
        rows = [
            {"user": f"fan{n % 7}", "item": f"i{n}", "rating": int(rng.integers(1, 6))}
            for n in range(N)
        ]
        rows += [{"user": "ada", "item": f"i{n}", "rating": 5} for n in (3, 8, 13)]
        token = api("POST", "/v1/ratings", json=rows).json()["sequence"]

        def published() -> bool:
            """Return whether the online snapshot holds all events; it is written after them."""
            api.run(api.runtime.online_items.refresh())
            found = api.runtime.online_items.current.online.get(0)
            return found is not None and f"0:{found.seen_through}" == token

        wait_until(published)
    promote(client, namespace, 0)
    write_mixture(client, PartitionKeys(namespace, 0), JUDGED)


def ready(api: Api) -> None:
    api.follow_models()
    runtime = api.runtime
    for copy in (runtime.popularity, runtime.online_items, runtime.mixture_weights):
        api.run(copy.refresh())


@pytest.mark.usefixtures("judged_shop")
def test_the_first_list_after_a_promotion_was_made_before_it(
    redis_url: str, client: Redis, namespace: str, tmp_path: Path
) -> None:
    plain = settings_of(namespace, tmp_path, user_cache_mb=0)
    with Api(settings_of(namespace, tmp_path), redis_url) as api:
        ready(api)
        before = api("GET", PATH).json()
        assert before["score_kind"] == "probability"
        version = promote(client, namespace, 5)
        api.follow_models()
        ada = api.runtime.recommender._users._entries["ada"]
        made = ada.warmed["mixture"]
        assert ada.heads["mixture"] is not made
        after = api("GET", PATH).json()
        assert after["models"] == {"fbgd": version} != before["models"]
        assert ada.heads["mixture"] is made
        assert "mixture" not in ada.warmed
    with Api(plain, redis_url) as other:
        ready(other)
        anew = other("GET", PATH).json()
        assert after["items"] == anew["items"] != before["items"]


@pytest.mark.usefixtures("judged_shop")
def test_a_stack_answers_as_soon_as_it_has_weights(
    redis_url: str, client: Redis, namespace: str, tmp_path: Path
) -> None:
    keys = PartitionKeys(namespace, 0)
    weight = {name: RankerRecord(0.5, name, 400, 0.2, 0.2) for name in ("fbgd", "online")}
    write_mixture(client, keys, MixtureRecord(1, 400, 0, weight))
    with Api(settings_of(namespace, tmp_path), redis_url) as api:
        ready(api)
        assert api("GET", PATH).json()["score_kind"] == "rank_sum"
        assert api.runtime.recommender._users._entries["ada"].answers
        write_mixture(client, keys, JUDGED)
        ready(api)
        assert api("GET", PATH).json()["score_kind"] == "probability"
