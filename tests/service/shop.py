"""A small shop behind the api: its ratings, requests to it, and models that serve it."""

from typing import Any

import numpy as np
from redis import Redis

from core.batch.snapshot import of_objective
from service.store.models.registry import Registry
from tests.api import Api
from tests.models import activated, objective

N = 40
RECOMMENDATIONS = "/v1/users/ada/recommendations"
ADA = {3: 1.0, 5: 1.0, 7: 0.0}
SEEN = {3, 5, 7}


def opened(api: Api) -> Api:
    """Fill an application with 40 items, the first ones most popular; ada likes i3, i5, not i7."""
    for n in range(N):
        api.rate("everybody", f"i{n}", 5)
    for n in range(6):
        for item in range(6 - n):
            api.rate(f"fan{n}", f"i{item}", 5)
    api.rate("ada", "i3", 5)
    api.rate("ada", "i5", 4)
    get(api, "/v1/users/ada/recommendations", min_sequence=api.rate("ada", "i7", 1))
    api.run(api.runtime.popularity.refresh())
    return api


def get(api: Api, path: str, **parameters: Any) -> Any:
    answer = api("GET", path, params=parameters)
    assert answer.status_code == 200, answer.text
    return answer.json()


def post(api: Api, path: str, **body: Any) -> Any:
    answer = api("POST", path, json=body)
    assert answer.status_code == 200, answer.text
    return answer.json()


def fault(api: Api, path: str, **parameters: Any) -> tuple[int, str]:
    answer = api("GET", path, params=parameters)
    return answer.status_code, answer.json()["code"]


def items(slate: Any) -> list[str]:
    return [entry["item"] for entry in slate["items"]]


def activate(
    api: Api, redis_url: str, *, n_items: int = N, seed: int = 0, strategy: str = "fbgd"
) -> str:
    """Let a made-up model serve and wait until this process knows it."""
    snapshot = of_objective(
        strategy,
        objective(n_items, 8, seed=seed),
        settings={},
        metrics={},
        cuts={"trained_through": {"0": 7}},
    )
    with Redis.from_url(redis_url) as client:
        registry = Registry(client, api.settings.namespace)
        record = activated(registry, made=snapshot, strategy=strategy)
    api.follow_models()
    return record.version


def expected(n_items: int, liked: dict[int, float], seen: set[int], seed: int = 0) -> list[str]:
    """Fold the user in and sort all items."""
    model = objective(n_items, 8, seed=seed)
    own = np.array(sorted(liked), np.int32)
    target = np.array([liked[item] for item in sorted(liked)], np.float32)
    score = model.item_factors @ model.vector(own, None, target)
    order = sorted(set(range(n_items)) - seen, key=lambda y: (-score[y], y))
    return [f"i{item}" for item in order]
