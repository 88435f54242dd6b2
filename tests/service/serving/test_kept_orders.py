"""Cached rankings change no answer: a process that caches everything beside one without cache."""

import asyncio
import threading
from collections.abc import Callable, Iterator
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from msgspec.json import encode
from redis import Redis

from core.batch.snapshot import of_objective
from service.ranking.pool import HEAD
from service.serving.cache_warming import CacheWarming
from service.settings import Settings
from service.store.models.records import LEAD
from service.store.models.registry import Registry
from tests.api import NDJSON, Api, learning
from tests.models import activated, objective
from tests.server import wait_until

N, K = 2 * HEAD, 120
USERS = ("ada", "bob")
PATH = "/v1/users/ada/recommendations"
WAYS: tuple[dict[str, Any], ...] = (
    {"k": 10},
    {"k": K},
    {"k": 10, "offset": HEAD - 5},
    {"k": 20, "category": "even", "filter": "year < 1"},
    {"k": 10, "exclude": ",".join(f"i{n}" for n in range(0, N, 3))},
    {"k": 10, "exclude_seen": "false"},
)


class Two:
    """Two processes over one store: one caches what it computes of users, the other does not."""

    def __init__(self, keeping: Api, plain: Api, redis_url: str) -> None:
        self.keeping, self.plain, self._redis_url = keeping, plain, redis_url
        self.token = ""

    def write(self, method: str, path: str, **more: Any) -> None:
        answer = self.keeping(method, path, **more)
        assert answer.is_success, answer.text
        self.token = answer.json().get("sequence") or self.token

    def rate(self, user: str, item: int, rating: float) -> None:
        self.token = self.keeping.rate(user, f"i{item}", rating)

    def activate(self, strategy: str, seed: int) -> None:
        model = objective(N - 6, 8, seed=seed)
        through = {"trained_through": {"0": 7}}
        made = of_objective(strategy, model, settings={}, metrics={LEAD: 0.1}, cuts=through)
        with self._registry() as registry:
            activated(registry, made=made, strategy=strategy)

    def roll_back(self) -> None:
        with self._registry() as registry:
            registry.roll_back("fbgd", who="a test", why="")

    def _registry(self) -> Any:
        return _Opened(self._redis_url, self.keeping.settings.namespace)

    def follow(self) -> None:
        """Let both processes catch up with the store."""
        for api in (self.keeping, self.plain):
            api.follow_models()
            for polled in (
                api.runtime.popularity,
                api.runtime.online_items,
                api.runtime.mixture_weights,
            ):
                api.run(polled.refresh())
        feed = self.keeping.runtime.view._feed
        version = self.keeping.run(feed.version())
        wait_until(lambda: self._sees(self.keeping, version) and self._sees(self.plain, version))

    def online_is_new(self) -> bool:
        """Return whether both rank with the last online snapshot, which holds all events."""
        self.follow()
        found = [api.runtime.online_items.current.online[0] for api in (self.keeping, self.plain)]
        return {f"0:{items.seen_through}" for items in found} == {self.token}

    @staticmethod
    def _sees(api: Api, version: int) -> bool:
        api("GET", "/healthz")
        seen: int = api.runtime.view.current.version
        return seen >= version

    def agree(self) -> None:
        """Assert equal answers; the caching process answers from an empty and a full cache."""
        self.follow()
        asked = [("ada", way) for way in WAYS] + [("bob", WAYS[0])]
        for (user, way), model in product(asked, ("fbgd", "online", "mixture")):
            self._compare(user, {**way, "model": model, "min_sequence": self.token})
        # finished answers are kept only of requests that wait for nothing
        for user in USERS:
            for model in ("fbgd", "online"):
                self._compare(user, {"k": 10, "model": model})
            self._compare_mixture(user)

    def _compare(self, user: str, asked: dict[str, Any]) -> None:
        def alike() -> bool:
            """The online snapshot may be replaced between two of them; a stale head would stay."""
            return self._slate(self.keeping, user, asked) == self._slate(self.plain, user, asked)

        self._slate(self.keeping, user, asked)
        if alike():
            return
        assert asked["model"] in {"online", "mixture"}, asked

        def alike_anew() -> bool:
            self.follow()
            return alike()

        wait_until(alike_anew, deadline_s=20)

    def _compare_mixture(self, user: str) -> None:
        """A mixture stands while what others do hardly changes it: its scores may be older."""
        asked = {"k": 10, "model": "mixture"}
        found, *made_of = self._slate(self.keeping, user, asked)
        whole, *made_of_now = self._slate(self.plain, user, {**asked, "k": N})
        assert made_of == made_of_now
        assert {item for item, _ in found} <= {item for item, _ in whole}

    @staticmethod
    def _slate(api: Api, user: str, asked: dict[str, Any]) -> Any:
        answer = api("GET", f"/v1/users/{user}/recommendations", params=asked)
        assert answer.is_success, answer.text
        slate = answer.json()
        found = [(entry["item"], entry["score"]) for entry in slate["items"]]
        return found, slate["strategy"], slate["model_version"], slate["seen_through"]

    def pages(self, api: Api, user: str, model: str) -> list[str]:
        """Return all items page by page."""
        found: list[str] = []
        cursor: dict[str, str] | None = {}
        while cursor is not None:
            asked = {"k": 23, "model": model, **cursor}
            page = api("GET", f"/v1/users/{user}/recommendations", params=asked).json()
            found += [entry["item"] for entry in page["items"]]
            cursor = {"cursor": page["next_cursor"]} if page["next_cursor"] else None
        return found


class _Opened:
    def __init__(self, redis_url: str, name: str) -> None:
        self._client, self._name = Redis.from_url(redis_url), name

    def __enter__(self) -> Registry:
        return Registry(self._client, self._name)

    def __exit__(self, *_: object) -> None:
        self._client.close()


@pytest.fixture
def two(redis_url: str, namespace: str, tmp_path: Path) -> Iterator[Two]:
    settings = Settings(
        namespace=namespace,
        data_dir=tmp_path,
        min_sequence_wait_ms=60_000,
        online_snapshot_s=0.2,
        judged_per_s=0,
    )
    plain = settings.model_copy(update={"user_cache_mb": 0})
    with (
        learning(settings, redis_url),
        Api(settings, redis_url) as keeping,
        Api(plain, redis_url) as nothing,
    ):
        both = Two(keeping, nothing, redis_url)
        rng = np.random.default_rng(1)
        rows = [
            {"user": f"fan{n % 9}", "item": f"i{n}", "rating": int(rng.integers(1, 6))}
            for n in range(N)
        ]
        rows += [{"user": user, "item": f"i{n}", "rating": 5} for user in USERS for n in (3, 8)]
        both.write("POST", "/v1/ratings", json=rows)
        lines = [
            {
                "item": f"i{n}",
                "categories": ["odd" if n % 2 else "even"],
                "features": {"year": n % 10},
            }
            for n in range(N)
        ]
        both.write("POST", "/v1/items", content=b"\n".join(map(encode, lines)), headers=NDJSON)
        both.activate("fbgd", 0)
        both.activate("ocmf", 1)
        yield both


def test_a_kept_order_never_outlives_what_it_was_made_of(two: Two) -> None:
    rng = np.random.default_rng(2)

    def best(n: int) -> list[str]:
        slate = two.keeping("GET", PATH, params={"k": n}).json()
        return [entry["item"] for entry in slate["items"]]

    def hide(items: list[str], **more: Any) -> None:
        for item in items:
            two.write("PATCH", f"/v1/items/{item}", json=more)

    def rate() -> None:
        two.rate("ada", int(best(1)[0][1:]), float(rng.integers(1, 6)))

    gone = best(40)[5:40]
    steps: list[Callable[[], None]] = [
        lambda: None,
        rate,
        lambda: hide(best(30), hidden=True),
        lambda: two.activate("fbgd", 2),
        two.roll_back,
        lambda: two.write("DELETE", "/v1/users/ada/ratings/i3"),
        lambda: hide(gone, available_until="2020-01-01T00:00:00Z"),
        lambda: two.write("DELETE", f"/v1/items/{best(1)[0]}"),
        lambda: hide(gone, available_until=None),
        lambda: two.write("POST", "/v1/users/bob/merge", json={"source": "ada"}),
        rate,
        lambda: two.write("DELETE", "/v1/users/bob"),
        rate,
    ]
    for step in steps:
        step()
        two.agree()


def test_deep_pages_go_on_where_a_kept_order_ends(two: Two) -> None:
    two.rate("ada", 5, 4.0)
    two.agree()
    wait_until(two.online_is_new)
    whole = two.keeping("GET", PATH, params={"k": N, "model": "fbgd"}).json()
    items = [entry["item"] for entry in whole["items"]]
    assert len(items) == N - 3
    assert two.pages(two.keeping, "ada", "fbgd") == items
    mixed = two.pages(two.keeping, "ada", "mixture")
    assert sorted(mixed) == sorted(items)
    assert mixed == two.pages(two.plain, "ada", "mixture")


def test_a_model_finds_where_its_orders_begin_when_it_takes_over(two: Two) -> None:
    two.agree()
    two.activate("fbgd", 2)
    two.follow()
    users = two.keeping.runtime.recommender._users
    ada = users._entries["ada"]
    version = two.keeping.runtime.active.current.models["fbgd"].record.version
    assert ada.heads["fbgd"].version != ada.warmed["fbgd"].version == version
    made = ada.warmed["fbgd"]
    two.agree()
    assert ada.heads["fbgd"] is made
    assert "fbgd" not in ada.warmed


def test_a_roll_back_waits_for_nothing_that_is_made_ahead(two: Two) -> None:
    two.agree()
    released = threading.Event()
    models, users = two.keeping.runtime.active, two.keeping.runtime.recommender._users
    usual = models._prepare

    def waiting(*_: Any) -> None:
        released.wait(60)

    loop = two.keeping._runner.get_loop()
    models._prepare = CacheWarming(users, loop, make=waiting, inline=0).begin

    def served() -> tuple[str, bool]:
        """Return the model that answers after one poll, and whether another is being prepared."""
        two.keeping.run(asyncio.to_thread(models.refresh))
        slate = two.keeping("GET", PATH, params={"model": "fbgd"}).json()
        return slate["model_version"], bool(models._coming)

    first, _ = served()
    try:
        two.activate("fbgd", 2)
        assert served() == (first, True)
        two.roll_back()
        assert served() == (first, False)
    finally:
        released.set()
    models._prepare = usual
    two.activate("fbgd", 3)
    two.follow()
    assert served()[0] != first
    two.roll_back()
    assert served() == (first, False)


def test_a_warmed_ranking_is_dropped_with_its_history(two: Two) -> None:
    two.agree()
    two.activate("fbgd", 2)
    two.follow()
    ahead = two.keeping("GET", PATH, params={"model": "fbgd", "k": 1}).json()["items"][0]["item"]
    two.rate("ada", int(ahead[1:]), 5.0)
    two.agree()
    slate = two.keeping("GET", PATH, params={"model": "fbgd", "k": K}).json()["items"]
    assert ahead not in [entry["item"] for entry in slate]
