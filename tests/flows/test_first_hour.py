"""The first hour: an empty service, an import, and personal lists without any further command."""

import json
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import pytest

from bench.small_worlds import GOODS, SmallWorld, Told, send, slates_ndcg
from service.cli.clients.next_training import wait_for_lists
from service.client import ServiceClient, ndjson, segment
from service.demo.sample_world import SampleWorld
from service.processes.child import ServiceProcess
from tests.server import wait_until
from tests.service.running import hedgerow, service

pytestmark = pytest.mark.flow


@pytest.fixture
def running(room: Path) -> Iterator[ServiceProcess]:
    """Run a service with the usual schedule."""
    with service(room, retrain_after_events=None, retrain_budget_s=2.0) as whole:
        with whole.client() as client:
            client.wait_until_ready()
        yield whole


@pytest.fixture
def client(running: ServiceProcess) -> Iterator[ServiceClient]:
    with running.client() as client:
        yield client


def lines(path: Path, rows: list[dict[str, Any]]) -> str:
    path.write_bytes(ndjson(rows))
    return str(path)


def test_an_import_alone_brings_personal_lists(running, client, room):
    world = SampleWorld(n_users=120, n_items=150)
    ratings = [
        {"user": one.user, "item": one.item, "rating": one.rating, "timestamp": one.timestamp_ms}
        for one in islice(world.events(), 4_000)
    ]
    items = lines(room / "items.ndjson", [item.document() for item in world.items])
    file = lines(room / "ratings.ndjson", ratings)
    done = hedgerow("import", file, "--items", items, "--wait", "--json", "--url", running.url)
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert told["training"]["status"] == "succeeded", told
    assert (told["training"]["who"], told["training"]["why"]) == ("schedule", "events")
    assert "a training begins by itself after" in told["next"]
    [users] = [{row["user"] for row in ratings}]
    slates = [client.get(f"/v1/users/{segment(user)}/recommendations", k=5) for user in users]
    personal = [slate for slate in slates if slate["strategy"] not in {"popular", "online", "next"}]
    assert len(personal) >= 0.95 * len(users)
    assert len({tuple(one["item"] for one in slate["items"]) for slate in slates}) > len(users) / 2


def test_an_import_says_what_happens_next(running, room):
    few = lines(room / "few.ndjson", [{"user": "ada", "item": "heat", "kind": "view"}])
    said = hedgerow("import", few, "--url", running.url).stderr
    assert "nothing is trained yet; a training begins by itself after 19 more events" in said
    views = [{"user": f"u{n % 8}", "item": f"i{n % 7}", "kind": "view"} for n in range(40)]
    said = hedgerow("import", lines(room / "views.ndjson", views), "--url", running.url).stderr
    begins = "a training begins by itself within seconds: personal lists come with it"
    assert begins in said or "a training is under way" in said


def test_a_small_shop_has_personal_lists_and_goes_on_learning(client):
    world = SmallWorld(80, 36, 2)
    told = world.told()
    client.upload("/v1/items", ndjson(world.documents()))
    send(client, told.events)
    first = wait_for_lists(client)
    assert first is not None
    assert first["decision"]["outcome"] == "promoted", first
    # the follower reads what the training foretells within some seconds
    wait_until(lambda: client.get("/v1/rankers")["stack"] is not None)
    assert better_than_popular(client, told) >= BETTER
    assert_new_shoes_are_near_shoes(client, world)
    assert_one_like_shows(client, world)
    before = client.get("/v1/models")["active"]
    more = SmallWorld(80, 36, 2, seed=1).told().events
    send(client, [row | {"user": f"{row['user']}-too"} for row in more])
    second = wait_for_lists(client)
    assert second is not None
    assert second["id"] != first["id"]
    judged = [one["decision"] for one in second["tried"] if one["decision"]]
    assert {one["outcome"] for one in judged} <= {"promoted", "refused"}
    assert client.get("/v1/models")["active"] != before
    assert better_than_popular(client, told) >= BETTER


BETTER = 1.3
"""What nine of ten such worlds have (bench/results/small-shops.md): with one item to be found for
each user, a world alone has 1.3 to 2.1 by chance."""


def better_than_popular(client: ServiceClient, told: Told) -> float:
    """Return the ndcg@10 of default lists, as a multiple of that of popular items."""
    return slates_ndcg(client, told.held) / slates_ndcg(client, told.held, model="popular")


def assert_new_shoes_are_near_shoes(client: ServiceClient, world: SmallWorld) -> None:
    """Check that goods that nobody has seen yet stand beside goods of their kind."""
    new = [
        {"item": f"new-{kind}", "categories": [kind], "features": {"price": 40, "colour": "green"}}
        for kind in GOODS[: world.n_tastes]
    ]
    client.upload("/v1/items", ndjson(new))
    kind = {one["item"]: one["categories"] for one in [*world.documents(), *new]}

    def near(item: str) -> Any:
        return client.get(f"/v1/items/{item}/similar", k=5)

    # an api process reads new documents within some seconds
    wait_until(lambda: all(near(one["item"])["strategy"] == "content" for one in new))
    for one in new:
        found = [kind[other["item"]] for other in near(one["item"])["items"]]
        assert found == 5 * [one["categories"]]


def assert_one_like_shows(client: ServiceClient, world: SmallWorld) -> None:
    """Check that a new user's first event changes the list, and that the list says why."""
    goods = {one["item"]: one["categories"] for one in world.documents()}
    for user, liked in (("gus", "item-004"), ("ida", "item-005")):
        event = {"user": user, "item": liked, "kind": "like"}
        sequence = client.post("/v1/events", event)["sequence"]
        path = f"/v1/users/{user}/recommendations"
        slate = client.get(path, k=6, explain=True, min_sequence=sequence)
        own = [one for one in slate["items"] if goods[one["item"]] == goods[liked]]
        assert len(own) >= 4, slate
        reasons = [why["item"] for one in slate["items"] for why in one["because"]]
        assert liked in reasons, slate
