"""The metrics of a whole service are what its clients counted, and no restart changes that."""

import os
import signal
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from service.processes.child import ServiceProcess
from tests.server import wait_until
from tests.service.metrics.scrape import Samples, samples, total, value
from tests.service.running import service, started

pytestmark = pytest.mark.flow

PROCESSES = 4
REQUESTS = "hedgerow_http_requests_total"


@pytest.fixture
def running(room: Path) -> Iterator[ServiceProcess]:
    with service(room, api_processes=PROCESSES, trainer=False) as whole:
        with whole.client() as client:
            client.wait_until_ready()
        yield whole


class Shop:
    """A client that counts what it is told."""

    def __init__(self, url: str) -> None:
        self._url = url
        self.told: Counter[tuple[str, str, str]] = Counter()
        self.accepted = 0
        self.refused: Counter[str] = Counter()

    def visit(self, n: int) -> None:
        """Send events, good ones and others, and ask for lists, over a new connection."""
        with httpx.Client(base_url=self._url, timeout=180) as client:
            rows = [
                {"user": f"u{n}", "item": f"i{at}", "rating": 1 + at} for at in range(1 + n % 7)
            ]
            answer = client.post("/v1/events", json=rows)
            self._note("/v1/events", answer)
            if answer.is_success:
                told = answer.json()
                self.accepted += told["accepted"]
                self.refused.update(row["code"] for row in told["rejected"])
            self._note(
                "/v1/users/{user}/recommendations", client.get(f"/v1/users/u{n}/recommendations")
            )
            self._note("unknown", client.get(f"/nowhere/{n}"))

    def _note(self, route: str, answer: httpx.Response) -> None:
        self.told[answer.request.method, route, str(answer.status_code)] += 1


def scraped(running: ServiceProcess) -> Samples:
    answer = httpx.get(f"{running.url}/metrics", timeout=180)
    assert answer.status_code == 200, answer.text
    return samples(answer.text)


def agree(found: Samples, shop: Shop) -> bool:
    routes = {route for _, route, _ in shop.told}
    counted = {
        (has["method"], has["route"], has["status"]): n
        for (name, labels), n in found.items()
        if n and name == REQUESTS and (has := dict(labels))["route"] in routes
    }
    refused = {
        dict(labels)["code"]: n
        for (name, labels), n in found.items()
        if name == "hedgerow_events_refused_total"
    }
    accepted = value(found, "hedgerow_events_accepted_total")
    return (counted, accepted, refused) == (dict(shop.told), shop.accepted, dict(shop.refused))


def test_the_counts_of_four_processes_add_up_to_what_the_client_counted(
    running: ServiceProcess,
) -> None:
    shop = Shop(running.url)
    for n in range(60):
        shop.visit(n)
    assert shop.accepted
    assert shop.refused["out_of_scale"]
    # a request is counted when its answer has left, a moment before or after it arrives
    wait_until(lambda: agree(scraped(running), shop))
    folder = running.log.parent / "metrics" / "main"
    assert len(list(folder.glob("api-*.cells"))) == PROCESSES

    before = scraped(running)
    never = ("hedgerow_process_restarts_total", frozenset({("role", "api")}))
    assert before[never] == 0, "an alarm sees a rise only if the count begins at 0"
    victim = started(running)["api-0"][-1]
    os.kill(victim, signal.SIGKILL)
    wait_until(lambda: len(started(running)["api-0"]) == 2)
    held = scraped(running)
    assert agree(held, shop)
    assert all(held[sample] >= n for sample, n in before.items() if sample[0].endswith("_total"))
    for n in range(60, 90):
        shop.visit(n)
    wait_until(lambda: agree(scraped(running), shop))
    assert len(list(folder.glob("api-*.cells"))) == PROCESSES
    found = scraped(running)
    assert total(found, REQUESTS, route="/metrics") > 0
    assert value(found, "hedgerow_process_restarts_total", role="api") == 1
    fresh = "hedgerow_event_freshness_seconds_count"
    wait_until(lambda: value(scraped(running), fresh, partition="0") == shop.accepted)
    assert value(scraped(running), "hedgerow_learner_commit_seconds_count", partition="0") > 0
