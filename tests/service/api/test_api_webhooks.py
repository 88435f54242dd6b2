"""Webhooks over HTTP: made, tried, looked at and deleted."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from service.settings import Settings
from service.store.webhooks.records import EVENT_TYPES, MOST
from tests.api import Api, check_problem
from tests.server import wait_until
from tests.webhook_receiver import Receiver

BODY = {"url": "https://ops.example/hedgerow", "events": ["alarm.opened"], "name": "on call"}


@pytest.fixture
def inside(redis_url: str, namespace: str, tmp_path: Path) -> Iterator[Api]:
    """The application, which may ask private addresses."""
    settings = Settings(namespace=namespace, data_dir=tmp_path, webhooks_to_private=True)
    with Api(settings, redis_url) as api:
        yield api


def test_the_secret_is_in_one_answer_only(api: Api) -> None:
    made = api("POST", "/v1/webhooks", json=BODY)
    assert made.status_code == 201
    assert made.headers["cache-control"] == "no-store"
    webhook = made.json()
    assert webhook["secret"].startswith("whsec_")
    [listed] = api("GET", "/v1/webhooks").json()["items"]
    assert listed.items() >= {name: BODY[name] for name in BODY}.items()
    assert "secret" not in listed
    gone = api("DELETE", f"/v1/webhooks/{webhook['id']}")
    assert webhook["secret"] not in gone.text
    assert api("GET", "/v1/webhooks").json()["items"] == []
    acts = [(one["act"], one["about"]) for one in api("GET", "/v1/audit").json()["items"]]
    about = {"webhook": webhook["id"]}
    assert acts == [("deleteWebhook", about), ("createWebhook", about)]


def test_without_events_it_is_told_of_all(api: Api) -> None:
    made = api("POST", "/v1/webhooks", json={"url": BODY["url"]}).json()
    assert made["events"] == list(EVENT_TYPES)


@pytest.mark.parametrize("url", ["https://10.0.0.1/", "http://ops.example/", "ops.example"])
def test_an_address_that_must_not_be_asked_is_refused(api: Api, url: str) -> None:
    answer = api("POST", "/v1/webhooks", json={"url": url})
    check_problem(answer, 422, "invalid_webhook")
    assert api("GET", "/v1/webhooks").json()["items"] == []


def test_an_event_that_there_is_not_is_refused(api: Api) -> None:
    answer = api("POST", "/v1/webhooks", json=BODY | {"events": ["alarm.rang"]})
    assert answer.status_code == 422
    assert "alarm.opened" in answer.json()["detail"]


def test_there_are_not_too_many(api: Api) -> None:
    for _ in range(MOST):
        assert api("POST", "/v1/webhooks", json=BODY).status_code == 201
    check_problem(api("POST", "/v1/webhooks", json=BODY), 409, "conflict")


def test_a_webhook_that_is_not_there_is_not_found(api: Api) -> None:
    path = f"/v1/webhooks/{'0' * 10}"
    for method, more in (("DELETE", ""), ("POST", "/test"), ("GET", "/deliveries")):
        check_problem(api(method, path + more), 404, "not_found")


def test_a_webhook_that_is_tried_gets_a_test(inside: Api) -> None:
    with Receiver() as receiver:
        made = inside("POST", "/v1/webhooks", json={"url": receiver.url}).json()
        path = f"/v1/webhooks/{made['id']}"
        tried = inside("POST", f"{path}/test")
        assert tried.status_code == 202
        # the loop of this application runs during requests only
        wait_until(lambda: _ended(inside, path, tried.json()["id"]))
    first = next(one for one in receiver.received if one.id == tried.json()["id"])
    assert first.event["type"] == "webhook.test"
    assert first.is_signed_with(made["secret"])
    [listed] = inside("GET", "/v1/webhooks").json()["items"]
    assert listed["delivered"] >= 1
    counted = inside("GET", "/metrics").text
    assert 'hedgerow_webhook_deliveries_total{outcome="delivered"}' in counted


def _ended(api: Api, path: str, delivery: str) -> bool:
    found = api("GET", f"{path}/deliveries").json()["items"]
    return any(one["id"] == delivery and one["state"] == "delivered" for one in found)


def test_a_webhook_that_is_disabled_is_not_tried(inside: Api) -> None:
    with Receiver(410) as receiver:
        made = inside("POST", "/v1/webhooks", json={"url": receiver.url}).json()
        path = f"/v1/webhooks/{made['id']}"
        inside("POST", f"{path}/test")
        wait_until(lambda: inside("GET", "/v1/webhooks").json()["items"][0]["disabled"])
    check_problem(inside("POST", f"{path}/test"), 409, "conflict")
