"""GET /metrics says what the process has answered, by route and status."""

from dataclasses import asdict

import msgspec
import pytest
import redis
from prometheus_client.openmetrics.parser import text_string_to_metric_families

from service.api.store_figures import StoreFigures
from service.store.identity.known import Positions
from service.store.keys import NamespaceKeys
from service.store.recovery.healing import Rollback
from tests.api import NDJSON, Api
from tests.service.metrics.scrape import Samples, samples, total, value

REQUESTS = "hedgerow_http_requests_total"
SECONDS = "hedgerow_http_request_duration_seconds"
ACCEPTED, REFUSED = "hedgerow_events_accepted_total", "hedgerow_events_refused_total"


def read(api: Api) -> Samples:
    answer = api("GET", "/metrics")
    assert answer.status_code == 200
    assert answer.headers["content-type"].startswith("text/plain; version=")
    return samples(answer.text)


def test_requests_are_counted_by_method_template_and_status(api: Api) -> None:
    for name in ("ada", "bob", "c%2Fd"):
        api("GET", f"/v1/users/{name}/ratings")
    api("HEAD", "/v1/users/ada/ratings")
    api("GET", "/v1/users/ada/recommendations?k=none")
    api("PUT", "/v1/items/i1", json={})
    api("DELETE", "/healthz")
    found = read(api)
    ratings = "/v1/users/{user}/ratings"
    assert value(found, REQUESTS, method="GET", route=ratings, status="200") == 3
    assert value(found, REQUESTS, method="HEAD", route=ratings, status="200") == 1
    slates = "/v1/users/{user}/recommendations"
    assert value(found, REQUESTS, method="GET", route=slates, status="422") == 1
    assert total(found, REQUESTS, method="PUT", route="/v1/items/{item}") == 1
    assert value(found, REQUESTS, method="DELETE", route="/healthz", status="405") == 1


def test_times_are_spread_over_buckets_that_add_up(api: Api) -> None:
    for _ in range(5):
        api("GET", "/healthz")
    found = read(api)
    where = {"method": "GET", "route": "/healthz"}
    assert value(found, f"{SECONDS}_count", **where) == 5
    assert value(found, f"{SECONDS}_bucket", **where, le="+Inf") == 5
    assert value(found, f"{SECONDS}_sum", **where) > 0


def test_whatever_clients_ask_for_the_labels_stay_few(api: Api) -> None:
    for n in range(30):
        api("GET", f"/no/such/path/{n}")
        api("GET", f"/docs/interactive/files/{n}")
        api.run(api.client.request(f"MADE{n}", f"/v1/users/u{n}/ratings"))
    api("GET", "/docs")
    found = read(api)
    routes = {dict(labels)["route"] for name, labels in found if name == REQUESTS}
    assert {"unknown", "page", "/v1/users/{user}/ratings"} == routes
    methods = {dict(labels)["method"] for name, labels in found if name == REQUESTS}
    assert methods == {"GET", "other"}
    assert value(found, REQUESTS, method="GET", route="unknown", status="404") == 30


def test_routes_of_gorse_are_told_apart(api: Api) -> None:
    api("GET", "/api/user/ada")
    api("GET", "/api/recommend/ada/films")
    for path in ("no/such", "nor/this", "user"):
        api("GET", f"/api/{path}")
    found = read(api)
    routes = {dict(labels)["route"] for name, labels in found if name == REQUESTS}
    assert routes == {"/api/user/{user-id}", "/api/recommend/{user-id}[/{category}]", "unknown"}
    assert total(found, REQUESTS, route="unknown") == 3


def test_failures_of_a_route_are_counted_from_0(api: Api) -> None:
    api("GET", "/healthz")
    failed = (REQUESTS, frozenset({"method": "GET", "route": "/healthz", "status": "500"}.items()))
    assert read(api)[failed] == 0


def test_the_newest_rollback_is_dated(api: Api, client: redis.Redis) -> None:
    name = "hedgerow_last_rollback_timestamp_seconds"
    key = NamespaceKeys(api.settings.namespace).rollbacks
    assert name not in {known for known, _ in read(api)}
    nothing = Positions((0,), 0)
    for at_ms in (1_794_000_000_000, 1_795_000_000_500):
        client.lpush(key, msgspec.json.encode(asdict(Rollback(at_ms, 1, nothing, nothing))))
    api.app.state.store_figures = StoreFigures(api.runtime)
    assert value(read(api), name) == 1_795_000_000.5


def test_before_the_first_commit_there_is_no_lag_in_time(api: Api) -> None:
    api("POST", "/v1/events", json={"user": "a", "item": "b", "rating": 3})
    found = read(api)
    assert total(found, "hedgerow_lag_events") == 1
    assert total(found, "hedgerow_lag_seconds") == 0
    assert {one["lag_ms"] for one in api("GET", "/v1/stats").json()["partitions"]} == {0}


def test_a_request_to_an_untrusted_host_counts(api: Api) -> None:
    api.run(api.client.get("/v1/stats", headers={"host": "evil.example"}))
    assert value(read(api), REQUESTS, method="GET", route="unknown", status="421") == 1


def test_events_are_counted_as_the_client_was_told(api: Api) -> None:
    good, wrong = {"user": "a", "item": "b", "rating": 3}, {"user": "a", "item": "b", "rating": 9}
    assert api("POST", "/v1/events", json=good).status_code == 202
    assert api("POST", "/v1/events", json=wrong).status_code == 422
    assert api("POST", "/v1/events", json=good | {"user": ""}).status_code == 422
    assert api("POST", "/v1/events", json={"no": "event"}).status_code == 422
    many = api("POST", "/v1/ratings", json=[good, good, wrong]).json()
    assert (many["accepted"], len(many["rejected"])) == (2, 1)
    waited = api("POST", "/v1/events?wait=learned", json=[good, wrong]).json()
    assert (waited["accepted"], len(waited["rejected"])) == (1, 1)
    lines = b'{"user": "a", "item": "b", "rating": 3}\nnothing\n\n{"user": "a", "item": "c"}\n'
    told = api("POST", "/v1/events/stream", content=lines, headers=NDJSON).json()
    assert (told["accepted"], told["rejected_total"]) == (1, 2)
    assert api("POST", "/v1/events", content=b"[{", headers={"content-type": "application/json"})
    found = read(api)
    assert value(found, ACCEPTED) == 1 + 2 + 1 + 1
    assert value(found, REFUSED, code="out_of_scale") == 3
    assert value(found, REFUSED, code="invalid_id") == 1
    assert total(found, REFUSED) == 3 + 1 + 1 + 2 + 1


def test_openmetrics_is_spoken_to_those_who_ask_for_it(api: Api) -> None:
    api("GET", "/healthz")
    accept = {"accept": "application/openmetrics-text; version=1.0.0"}
    answer = api("GET", "/metrics", headers=accept)
    assert answer.headers["content-type"].startswith("application/openmetrics-text")
    names = {family.name for family in text_string_to_metric_families(answer.text)}
    assert "hedgerow_http_requests" in names


def test_a_parameter_is_refused_as_everywhere(api: Api) -> None:
    assert api("GET", "/metrics?name=all").status_code == 422


def test_the_store_s_figures_are_those_of_the_statistics(learned_api: Api) -> None:
    api = learned_api
    for n in range(5):
        token = api.rate(f"u{n}", "film", 4.0)
    api("GET", f"/v1/users/u1/recommendations?min_sequence={token}")
    found, stats = read(api), api("GET", "/v1/stats").json()
    assert value(found, "hedgerow_events_learned_total", partition="0", what="rating") == 5
    assert value(found, "hedgerow_lag_events", partition="0") == 0
    assert value(found, "hedgerow_learner_up", partition="0") == 1
    assert value(found, "hedgerow_items") == stats["items"] == 1
    for name in ("store_up", "accepting"):
        assert value(found, f"hedgerow_{name}") == 1
    assert value(found, "hedgerow_trainer_up") == 0
    assert value(found, "hedgerow_jobs", status="queued") == 0
    histories = value(found, "hedgerow_store_bytes", data="histories")
    # the store samples, and may have encoded a history more compactly in between
    assert histories == pytest.approx(stats["memory"]["histories"], rel=0.1)
    assert histories > 0
    assert total(found, "hedgerow_expert_error", partition="0") >= 0
