"""Spans of requests, batches and trainings reach a collector, if there is to be one."""

from pathlib import Path

import httpx
import pytest

from tests.otlp_collector import Collector
from tests.server import wait_until
from tests.service.running import service

pytestmark = pytest.mark.flow

TRACE, PARENT = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"


def test_each_role_sends_its_spans(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # the library sends what it has after this time
    monkeypatch.setenv("OTEL_BSP_SCHEDULE_DELAY", "100")
    with Collector() as collector:
        with service(tmp_path, traces_url=collector.url) as running, running.client() as client:
            client.wait_until_ready()
            rows = [{"user": f"u{n % 5}", "item": f"i{n}", "rating": 3} for n in range(40)]
            client.post("/v1/events", rows)
            headers = {"traceparent": f"00-{TRACE}-{PARENT}-01"}
            answer = httpx.get(f"{running.url}/v1/items/no-such", headers=headers, timeout=60)
            job = client.post("/v1/retrain", {"model": "fbgd", "budget_s": 1})
            wait_until(lambda: collector.named("training"))
            wait_until(lambda: collector.named("learn") and collector.named("commit"))
        [training] = collector.named("training")
        assert (training.role, training.about["job"]) == ("trainer", job["id"])
        assert sum(one.about["events"] for one in collector.named("learn")) == 40
        [post] = collector.named("POST /v1/events")
        assert (post.role, post.about["http.response.status_code"]) == ("api", 202)
        assert 0 < post.seconds < 60
        [asked] = [one for one in collector.spans if one.trace == TRACE]
        assert asked.parent == PARENT
        assert asked.name == "GET /v1/items/{item}"
        assert asked.about["hedgerow.request_id"] == answer.headers["x-request-id"]
        said = "".join(map(str, collector.spans))
        assert "no-such" not in said
        assert "u1" not in {*said.split("'")}


def test_a_collector_that_is_away_holds_nothing_up(tmp_path: Path) -> None:
    url = "http://127.0.0.1:1/v1/traces"
    with service(tmp_path, trainer=False, traces_url=url) as running, running.client() as client:
        client.wait_until_ready()
        assert client.get("/v1/stats")["items"] == 0
