"""Health, readiness and statistics; the pages of the OpenAPI document."""

import re
from pathlib import Path

import pytest

from service.api.roles import ROLES
from service.http.codes import CODES
from service.settings import KINDS, Settings
from service.store.connection import connect
from service.store.keys import PartitionKeys
from tests.api import Api, learning
from tests.server import PrivateServer, wait_until


def test_the_document_and_its_page_are_served(api: Api) -> None:
    assert api("GET", "/openapi.json").json()["info"]["title"] == "Hedgerow"
    for path in ("/docs", "/docs/interactive"):
        assert "text/html" in api("GET", path).headers["content-type"]


def test_the_interactive_page_has_everything_it_needs_here(api: Api) -> None:
    page = api("GET", "/docs/interactive").text
    needed = re.findall(r'(?:src|href)="([^"]+)"', page)
    assert len(needed) == 3
    for path in needed:
        assert path.startswith("/docs/interactive/files/")
        file = api("GET", path)
        assert (file.status_code, len(file.content) > 500) == (200, True), path
    assert "http" not in page.replace("<!DOCTYPE html>", "")
    assert '"validatorUrl": null' in page


FROM_ELSEWHERE = r"<script|<link|<img|src=|@import|url\(|=[\"']?https?:"
"""What a browser would load or lead to; an address in the text of an example is neither."""


def test_the_page_of_routes_names_all_of_them_and_needs_nothing_from_elsewhere(api: Api) -> None:
    page = api("GET", "/docs").text
    # no part of the document: an answer for Prometheus, and a WebSocket
    for method, route in ROLES.keys() - {("GET", "/metrics"), ("GET", "/v1/events/ws")}:
        assert f"<code>{method} {route}</code>" in page
    for name in ("max_per_category", "candidates", "available_until", "event_id"):
        assert f"<code>{name}</code>" in page
    for field in ("items[].score", "experts[].regret_to_best", "partitions[].lag_ms"):
        assert f"<code>{field}</code>" in page, "answers have fields too"
    assert not re.search(FROM_ELSEWHERE, page)


def test_the_page_of_errors_has_each_code_and_needs_nothing_from_elsewhere(api: Api) -> None:
    page = api("GET", "/docs/errors").text
    assert [name for name in CODES if f'<h2 id="{name}">' not in page] == []
    assert not re.search(FROM_ELSEWHERE, page)


def test_the_text_for_programs_leads_to_pages_that_are_there(api: Api) -> None:
    text = api("GET", "/llms.txt")
    assert text.headers["content-type"] == "text/plain; charset=utf-8"
    links = re.findall(r"^- \[[^\]]+\]\(([^)]+)\)", text.text, re.MULTILINE)
    assert len(links) > 4
    assert {link: api("GET", f"/{link}").status_code for link in links} == dict.fromkeys(links, 200)


def test_readiness_reports_the_durability_of_the_store(
    api: Api, private_server: PrivateServer, namespace: str
) -> None:
    ready = api.ready()
    assert (ready["status"], ready["durable"]) == ("ready", False), "the shared server has no AOF"
    assert ready["warning"]
    with Api(Settings(namespace=namespace), private_server.url) as durable:
        assert durable.ready()["durable"] is True


def test_readiness_reports_partitions_without_a_learner(
    private_server: PrivateServer, namespace: str, tmp_path: Path
) -> None:
    settings = Settings(namespace=namespace, data_dir=tmp_path, partitions=2)
    with Api(settings, private_server.url) as api:
        api.ready()
        with learning(settings, private_server.url):
            wait_until(lambda: api.ready()["learning"])
            assert api.ready()["warning"] is None
        ready = api.ready()
        assert (ready["status"], ready["learning"]) == ("ready", False)
        assert ready["warning"].startswith("no learner runs for partition 0, 1: ")
        with connect(private_server.url, role="test") as client:
            client.set(PartitionKeys(namespace, 1).lease, "somewhere:1:2")
        assert api.ready()["warning"].startswith("no learner runs for partition 0: ")


def test_not_ready_until_the_kernels_are_compiled(api: Api) -> None:
    api.ready()
    api.runtime.online_predictions._warm.clear()
    answer = api("GET", "/readyz")
    assert (answer.status_code, answer.json()["missing"]) == (503, ["kernels"])
    api.runtime.online_predictions._warm.set()


def test_not_ready_until_the_registry_was_read(api: Api) -> None:
    api.ready()
    api.runtime.active.close()
    api.runtime.active.ready = False
    answer = api("GET", "/readyz")
    assert (answer.status_code, answer.json()["missing"]) == (503, ["registry"])
    assert "registry" in answer.json()["detail"]


def test_stats_count_what_happened(learned_api: Api) -> None:
    rows = [{"user": f"u{i % 3}", "item": f"i{i}", "rating": 3} for i in range(10)]
    rows += [
        {"user": "u0", "item": "i0", "kind": "view"},
        {"user": "u0", "item": "i1", "kind": "impression"},
    ]
    headers = {"idempotency-key": "k"}
    for _ in range(2):
        learned_api("POST", "/v1/ratings?wait=learned", json=rows, headers=headers)
    learned_api("DELETE", "/v1/users/u1")
    stats = learned_api("GET", "/v1/stats").json()
    [partition] = stats["partitions"]
    counted = {
        name: partition[name]
        for name in ("appended", "learned_through", "lag_events", "ratings", "duplicates")
    }
    assert counted == {
        "appended": 25,
        "learned_through": 25,
        "lag_events": 0,
        "ratings": 10,
        "duplicates": 12,
    }
    assert (partition["other_events"], partition["deletions"]) == (2, 1)
    assert partition["learner"]
    assert stats["items"] == 10
    assert stats["seen_through"] == "0:25"
    assert stats["memory"]["histories"] > 0
    assert {kind["name"]: kind["weight"] for kind in stats["kinds"]} == {
        name: kind.weight for name, kind in KINDS.items()
    }
    assert stats["rating"] == {
        "positive_from": 3.4,
        "negative_to": 2.0,
        "weight": 1.0,
        "hides": True,
    }


def test_stats_say_how_much_waits(api: Api) -> None:
    api.rate("ada", "x", 3)
    [partition] = api("GET", "/v1/stats").json()["partitions"]
    assert (partition["lag_events"], partition["learner"]) == (1, None)
    assert partition["log_bytes"] > 0


@pytest.mark.parametrize("path", ["/docs", "/docs/interactive", "/openapi.json"])
def test_pages_for_everybody_are_made_once(api, path, monkeypatch):
    plain = api("GET", path, headers={"accept-encoding": "identity"})
    packed = api("GET", path, headers={"accept-encoding": "gzip"})
    assert "content-encoding" not in plain.headers
    assert packed.headers["content-encoding"] == "gzip"
    assert plain.content == packed.content
    assert int(packed.headers["content-length"]) < int(plain.headers["content-length"])
    # nothing is left to do for another request
    monkeypatch.setattr(api.app, "openapi", None)
    monkeypatch.setattr("gzip.compress", None)
    assert api("GET", path).content == plain.content
    assert api("HEAD", path).headers["vary"] == "accept-encoding"
