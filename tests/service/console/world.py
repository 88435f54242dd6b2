"""A small world for the console to show."""

from itertools import islice

from service.client import ServiceClient, ndjson
from service.demo.sample_world import SampleWorld

USERS, ITEMS, RATINGS = 40, 60, 1_200


def fill(client: ServiceClient) -> None:
    """Send a small world and wait until it is learned."""
    world = SampleWorld(n_users=USERS, n_items=ITEMS)
    client.upload("/v1/items", ndjson([item.document() for item in world.items]))
    rows = [
        {"user": one.user, "item": one.item, "rating": one.rating}
        for one in islice(world.events(), RATINGS)
    ]
    client.upload("/v1/events/stream", ndjson(rows))
    last = {"user": rows[-1]["user"], "item": rows[-1]["item"], "kind": "view"}
    client.post("/v1/events", [last], wait="learned")
