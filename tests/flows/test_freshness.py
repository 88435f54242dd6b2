"""A rating counts in the very next answer of either api process, for new users too."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from core.batch.snapshot import of_objective
from service.processes.child import ServiceProcess
from service.store.connection import connect
from service.store.models.registry import Registry
from service.store.server.embedded import running_server
from tests.models import activated, objective
from tests.server import wait_until
from tests.service.running import activations, service

pytestmark = pytest.mark.flow

N, PROCESSES, NEW = 60, 2, 12
DEFAULT: dict[str, str] = {}
FBGD = {"model": "fbgd"}


@pytest.fixture
def running(room: Path) -> Iterator[ServiceProcess]:
    """Two api processes, popular items, and a trained model that all of them serve."""
    with service(room, api_processes=PROCESSES, trainer=False) as whole:
        with whole.client() as client:
            client.wait_until_ready()
            rows = [
                {"user": f"fan{n}", "item": f"i{item}", "rating": 5}
                for n in range(6)
                for item in range(N - 10 * n)
            ]
            client.wait_until_learned(client.post("/v1/ratings", rows)["sequence"])
        with connect(str(running_server(whole.log.parent)), role="test") as store:
            cuts = {"trained_through": {"0": 1}}
            made = of_objective("fbgd", objective(N, 8), settings={}, metrics={}, cuts=cuts)
            activated(Registry(store, "main"), made=made)
        wait_until(lambda: activations(whole) == PROCESSES)
        # the online model is published seconds after the first ratings; each api process then
        # reads it in its own time
        wait_until(lambda: slate(whole, "fan5", model="online")["strategy"] == "online")
        yield whole


def slate(running: ServiceProcess, user: str, **parameters: str) -> Any:
    """Ask over a new connection, so that either process may answer."""
    path = f"{running.url}/v1/users/{user}/recommendations"
    answer = httpx.get(path, params={"k": 20, **parameters}, timeout=180)
    assert answer.status_code == 200, answer.text
    return answer.json()


def rated(running: ServiceProcess, user: str, item: str) -> str:
    body = {"user": user, "item": item, "rating": 5}
    answer = httpx.post(f"{running.url}/v1/ratings", json=body, timeout=180)
    return str(answer.json()["sequence"])


def items(made: Any, without: str = "") -> list[str]:
    return [entry["item"] for entry in made["items"] if entry["item"] != without]


def test_a_rating_counts_in_the_next_answer(running: ServiceProcess) -> None:
    for name, asked in (("first", DEFAULT), ("other", FBGD)):
        lists = {after_one_event(running, f"{name}{n}", n, asked) for n in range(NEW)}
        assert len(lists) == NEW, "each is made of what was told of the own item"
    made = slate(running, "fan5", model="fbgd")
    for _ in range(NEW):
        item = items(made)[0]
        token = rated(running, "fan5", item)
        later = slate(running, "fan5", model="fbgd", min_sequence=token)
        assert item not in items(later)
        assert items(later)[: len(items(made, without=item))] != items(made, without=item)
        made = later


def after_one_event(
    running: ServiceProcess, user: str, place: int, asked: dict[str, str]
) -> tuple[str, ...]:
    """Return the slate of a new user after this one rating."""
    before = slate(running, user, **asked)
    assert before["strategy"] == "popular"
    item = items(before)[place]
    token = rated(running, user, item)
    after = slate(running, user, min_sequence=token, **asked)
    assert after["seen_through"] == token
    assert after["strategy"] in ({"fbgd"} if asked is FBGD else {"fbgd", "mixture"})
    assert item not in items(after)
    assert items(after) != items(slate(running, user, model="popular"))
    return tuple(items(after)[:10])
