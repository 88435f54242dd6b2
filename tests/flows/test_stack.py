"""The stack through the whole service: learned from what users do, served, told, and kept."""

import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from service.client import ServiceClient
from tests.server import wait_until
from tests.service.running import service

pytestmark = pytest.mark.flow

N = 24


def test_a_stack_is_learned_from_what_users_do_next_and_then_ranks(room: Path) -> None:
    """Some walk round a circle, others take what is popular: only together do rankers know both."""
    directory = {"online_snapshot_s": 0.2, "judged_per_s": 500}
    with service(room, **directory) as whole, whole.client() as client:
        client.wait_until_ready()
        people = People(client)
        wait_until(people.have_taught_a_stack)
        wait_until(lambda: people.have_taught_a_stack() and ranks_by_chance(client))
        said = client.get("/v1/rankers")
        parts = {one["name"]: one["ndcg_at_10"] for one in said["stack"]["added"]}
        assert parts.keys() >= {"next", "popular", "online", "history"}
        assert {"stack", "fusion", "next", "popular"} <= {one["name"] for one in said["arms"]}
        # what follows what is read again every few seconds, later on a busy machine
        wait_until(lambda: "next" in parts_of_the_first(client))
        answer = answered(client, explain=True)
        scores = [item["score"] for item in answer["items"]]
        assert scores == pytest.approx(sorted(scores, reverse=True), abs=1e-6)
        assert 0.5 < sum(scores) <= 1.0 + 1e-5
        assert {*answer["items"][0]["parts"]} >= {"next", "popular"}
        before = said["stack"]["weights"]
        a_list_ends_with_an_event_of_its_user(client)
    with service(room, **directory) as whole, whole.client() as client:
        client.wait_until_ready()
        wait_until(lambda: client.get("/v1/rankers")["stack"] is not None)
        again = {one["signal"] for one in client.get("/v1/rankers")["stack"]["weights"]}
        assert again == {one["signal"] for one in before}


class People:
    """Sends what ever more people do."""

    def __init__(self, client: ServiceClient) -> None:
        self._client, self._dice, self._n = client, np.random.default_rng(1), 0

    def have_taught_a_stack(self) -> bool:
        """Let ten more people take six items, one after the other."""
        users = range(self._n, self._n + 10)
        self._n += 10
        at = {user: 7 * user % N for user in users}
        for _ in range(6):
            rows = [{"user": f"u{user}", "item": f"i{at[user]}", "rating": 5} for user in users]
            self._client.wait_until_learned(self._client.post("/v1/ratings", rows)["sequence"])
            # a step is judged by what was published of the steps before it
            threading.Event().wait(0.25)
            at = {user: self._next(item) for user, item in at.items()}
        return bool(self._client.get("/v1/rankers")["stack"])

    def _next(self, item: int) -> int:
        return (item + 1) % N if self._dice.random() < 0.5 else 3 * int(self._dice.integers(4))


def ranks_by_chance(client: ServiceClient) -> bool:
    """Whether a mixed slate is the stack's."""
    return bool(answered(client)["score_kind"] == "probability")


def a_list_ends_with_an_event_of_its_user(client: ServiceClient) -> None:
    """Assert that the user's event ends a list of the stack, and that one of others does not."""
    best = answered(client)["items"][0]["item"]
    own = client.post("/v1/ratings", {"user": "u3", "item": best, "rating": 5})
    client.wait_until_learned(own["sequence"])
    fresh = answered(client, min_sequence=own["sequence"])
    assert best not in [one["item"] for one in fresh["items"]]
    others = client.post("/v1/ratings", {"user": "somebody", "item": best, "rating": 5})
    client.wait_until_learned(others["sequence"])
    wait_until(lambda: answered(client)["seen_through"] == others["sequence"])
    after = answered(client)
    assert after["items"] == fresh["items"]
    assert after["score_kind"] == "probability"


def parts_of_the_first(client: ServiceClient) -> Any:
    return answered(client, explain=True)["items"][0].get("parts", {})


def answered(client: ServiceClient, **parameters: Any) -> Any:
    return client.get("/v1/users/u3/recommendations", k=10, **parameters)
