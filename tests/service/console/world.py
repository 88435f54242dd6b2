"""Small worlds for the console to show."""

from itertools import islice
from typing import Any

from service.client import ServiceClient, ndjson
from service.demo.sample_world import SampleWorld

RATINGS = 1_200


def small() -> SampleWorld:
    """Return a world that is sent and trained on within seconds."""
    return SampleWorld(n_users=40, n_items=60)


def ratings(world: SampleWorld, first: int, n: int) -> list[dict[str, Any]]:
    """Return some ratings of the endless stream of a world."""
    return [
        {"user": one.user, "item": one.item, "rating": one.rating}
        for one in islice(world.events(), first, first + n)
    ]


def fill(client: ServiceClient, world: SampleWorld, n: int = RATINGS) -> None:
    """Send a world and its first ratings, and wait until they are learned."""
    client.upload("/v1/items", ndjson([item.document() for item in world.items]))
    sent = client.upload("/v1/events/stream", ndjson(ratings(world, 0, n)))
    client.wait_until_learned(sent.sequence)


def show_and_click(client: ServiceClient, users: list[str]) -> None:
    """Send showings of lists, and a click on the first item of every other list."""
    for number, user in enumerate(users):
        slate = client.get(f"/v1/users/{user}/recommendations", k=5)
        seen = {"user": user, "rec_id": slate["rec_id"]}
        rows = [seen | {"item": one["item"], "kind": "impression"} for one in slate["items"]]
        if number % 2:
            rows.append(seen | {"item": slate["items"][0]["item"], "kind": "click"})
        client.post("/v1/events", rows)
