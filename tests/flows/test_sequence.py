"""Train the family `sequence` in a whole service; then every event changes the list at once."""

from pathlib import Path
from typing import Any

import pytest

from service.cli.clients.watching import watch
from service.client import ServiceClient
from tests.server import wait_until
from tests.service.running import service

pytestmark = pytest.mark.flow

N = 24


def test_an_event_of_any_meaning_changes_the_list_at_once(room: Path) -> None:
    """Everybody walks round the circle i0, i1, ...; who comes to an item gets the one after it."""
    with service(room) as whole, whole.client() as client:
        client.wait_until_ready()
        rows = [
            {"user": f"u{user}", "item": f"i{(user + step) % N}", "rating": 1 + (user + step) % 5}
            for user in range(60)
            for step in range(8)
        ]
        client.wait_until_learned(client.post("/v1/ratings", rows)["sequence"])
        order = {"model": "sequence", "budget_s": 1.0, "promote_unjudged": True}
        job = watch(client, client.post("/v1/retrain", order))
        assert (job["status"], job["decision"]["outcome"]) == ("succeeded", "promoted"), job
        wait_until(lambda: answered(client, "u1")["strategy"] == "sequence")
        assert first_of(client, "u0") == "i8"
        # neither middling ratings nor dislikes are preferences for the item
        for item, stars in ((14, 3), (2, 3), (20, 1)):
            rating = {"user": "new", "item": f"i{item}", "rating": stars}
            sequence = client.post("/v1/ratings", rating)["sequence"]
            assert first_of(client, "new", min_sequence=sequence) == f"i{item + 1}"
        posted = {
            "history": [{"item": "i3", "kind": "view"}, {"item": "i4", "kind": "view"}],
            "model": "sequence",
            "k": 1,
        }
        answer = client.post("/v1/recommendations", posted)
        assert answer["items"][0]["item"] == "i5"


def first_of(client: ServiceClient, user: str, **parameters: str) -> str:
    answer = answered(client, user, **parameters)
    assert answer["strategy"] == "sequence", answer
    return str(answer["items"][0]["item"])


def answered(client: ServiceClient, user: str, **parameters: str) -> Any:
    return client.get(f"/v1/users/{user}/recommendations", model="sequence", k=1, **parameters)
