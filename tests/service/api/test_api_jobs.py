"""Trainings and their schedule over HTTP, without a trainer: ordered jobs wait."""

import json
from collections.abc import Iterator
from datetime import datetime
from typing import Any

import pytest

from service.settings import Settings
from service.store.clock import now_ms
from service.store.jobs.growth import FIRST
from service.store.keys import NamespaceKeys, PartitionKeys
from service.training.recipes import SERVED
from tests.api import Api, check_problem


@pytest.fixture
def api(redis_url: str, namespace: str) -> Iterator[Api]:
    with Api(Settings(namespace=namespace), redis_url) as running:
        yield running


def ordered(api: Api, **body: Any) -> dict[str, Any]:
    answer = api("POST", "/v1/retrain", json=body)
    assert answer.status_code == 202, answer.text
    job: dict[str, Any] = answer.json()
    assert answer.headers["location"] == f"/v1/jobs/{job['id']}"
    return job


def test_an_order_is_a_queued_job(api: Api) -> None:
    job = ordered(api, model="fbgd", parameters={"factors": 16}, budget_s=3)
    assert (job["status"], job["progress"], job["stage"]) == ("queued", 0.0, "")
    assert (job["model"], job["parameters"], job["budget_s"]) == ("fbgd", {"factors": 16}, 3.0)
    assert (job["who"], job["why"], job["error"], job["version"]) == ("local", "order", None, None)
    assert api("GET", f"/v1/jobs/{job['id']}").json() == job


def test_an_empty_order_means_what_is_worth_it_and_the_usual_budget(api: Api) -> None:
    found = [
        api("POST", "/v1/retrain", **order)
        for order in ({}, {"json": {}}, {"json": {"model": None}})
    ]
    assert [answer.status_code for answer in found] == [202, 200, 200]
    job = found[0].json()
    assert (job["model"], job["budget_s"], job["tried"]) == (None, 15.0, [])
    assert [answer.json() for answer in found] == [job] * 3


def test_two_identical_orders_become_one_job(api: Api, client: Any, namespace: str) -> None:
    body = {"model": "fbgd", "parameters": {"factors": 16}, "budget_s": 3}
    job = ordered(api, **body)["id"]
    other = ordered(api, **body | {"budget_s": 4})["id"]
    again = api("POST", "/v1/retrain", json=body)
    assert (again.status_code, again.json()["id"]) == (200, job)
    assert again.headers["location"] == f"/v1/jobs/{job}"
    # a running job is the same until it is worth it to learn what came since
    client.set(NamespaceKeys(namespace).trainer, "host:1:cafe")
    assert api.runtime.jobs.records.claim(job, "host:1:cafe", 100)
    client.hset(PartitionKeys(namespace, 0).state, "watermark", 199)
    assert api("POST", "/v1/retrain", json=body).json()["id"] == job
    client.hset(PartitionKeys(namespace, 0).state, "watermark", 200)
    newer = ordered(api, **body)["id"]
    assert newer not in {job, other}
    api("DELETE", f"/v1/jobs/{newer}")
    assert ordered(api, **body)["id"] not in {job, newer}


def test_a_strategy_of_several_recipes_can_be_ordered(api: Api) -> None:
    assert ordered(api, model="ocmf")["model"] == "ocmf"
    assert ordered(api, model="ocmf", parameters={"factors": 8})["parameters"] == {"factors": 8}
    wrong = {"model": "ocmf", "parameters": {"rank": 3}}
    check_problem(api("POST", "/v1/retrain", json=wrong), 422, "invalid_training")
    check_problem(api("POST", "/v1/retrain", json={"model": "popular"}), 422, "invalid_training")


def test_settings_without_a_recipe_are_those_of_the_usual_one(api: Api) -> None:
    assert ordered(api, parameters={"factors": 16})["model"] == "fbgd"
    order = {"after_events": 100, "parameters": {"factors": 16}}
    assert api("PUT", "/v1/retrain/schedule", json=order).json()["model"] == "fbgd"
    assert api("PUT", "/v1/retrain/schedule", json={"after_events": 100}).json()["model"] is None


@pytest.mark.parametrize(
    ("body", "code", "says"),
    [
        ({"model": "magic"}, "invalid_training", "there are: fbgd, ocmf-lr-wsq"),
        ({"parameters": {"rank": 3}}, "invalid_training", "it has: factors, alpha0"),
        ({"parameters": {"factors": 0}}, "invalid_training", "factors must be at least 1"),
        ({"parameters": {"factors": 2.5}}, "invalid_training", "must be a whole number"),
        ({"parameters": {"factors": True}}, "invalid_training", "must be a number"),
        ({"parameters": {"factors": 10**9}}, "invalid_training", "factors must be at most"),
        ({"parameters": {"reg": "high"}}, "invalid_training", "must be a number, not 'high'"),
        ({"parameters": {"reg": 10**400}}, "invalid_training", "reg must be a number between"),
        ({"parameters": {"seed": -(10**400)}}, "invalid_training", "seed must be a number between"),
        (
            {"model": "ocmf-sq-sq", "parameters": {"weight": 0.1}},
            "invalid_training",
            "no parameter",
        ),
        ({"budget": 3}, "invalid_request", "budget"),
        ({"budget_s": -1}, "invalid_request", "budget_s"),
    ],
)
def test_an_order_that_cannot_be_met_says_what_could(
    api: Api, body: dict[str, Any], code: str, says: str
) -> None:
    problem = check_problem(api("POST", "/v1/retrain", json=body), 422, code)
    assert says in problem["detail"]
    assert api("GET", "/v1/jobs").json()["items"] == []


SEEDED = [name for name, recipe in SERVED.items() if "seed" in recipe.settings.names]
"""Recipes that draw numbers at random; the others always find the same."""


@pytest.mark.parametrize("model", SEEDED)
def test_no_model_is_trained_with_a_seed_below_0(api: Api, model: str) -> None:
    order = {"model": model, "parameters": {"seed": -1}}
    problem = check_problem(api("POST", "/v1/retrain", json=order), 422, "invalid_training")
    assert "seed must be" in problem["detail"]


def test_jobs_are_paged_newest_first(api: Api) -> None:
    jobs = [ordered(api, budget_s=n)["id"] for n in range(5)]
    shown, path = [], "/v1/jobs?limit=2"
    while path:
        page = api("GET", path).json()
        shown += [job["id"] for job in page["items"]]
        cursor = page["next_cursor"]
        path = f"/v1/jobs?limit=2&cursor={cursor}" if cursor else ""
        ordered(api, budget_s=100 + len(shown))
    assert sorted(shown) == sorted(jobs)


def test_a_waiting_job_can_be_cancelled_once(api: Api) -> None:
    job = ordered(api)["id"]
    cancelled = api("DELETE", f"/v1/jobs/{job}").json()
    assert (cancelled["status"], cancelled["error"]) == ("cancelled", "cancelled by local")
    assert cancelled["ended"]
    check_problem(api("DELETE", f"/v1/jobs/{job}"), 409, "conflict")


def test_very_many_waiting_jobs_are_refused(api: Api) -> None:
    for n in range(20):
        ordered(api, budget_s=100 + n)
    problem = check_problem(api("POST", "/v1/retrain"), 503, "backlogged")
    assert "cancel some" in problem["detail"]


def test_an_unknown_job_is_not_found(api: Api) -> None:
    for method, path in [("GET", ""), ("DELETE", ""), ("GET", "/events")]:
        check_problem(api(method, f"/v1/jobs/{'0' * 16}{path}"), 404, "not_found")
    check_problem(api("GET", "/v1/jobs/nonsense"), 422, "invalid_request")


def test_a_job_whose_trainer_is_gone_has_failed(api: Api, namespace: str) -> None:
    job = ordered(api)["id"]
    jobs = api.runtime.jobs.records
    assert jobs.claim(job, "host:1:dead")
    failed = api("GET", f"/v1/jobs/{job}").json()
    assert failed["status"] == "failed"
    assert "retrain again" in failed["error"]
    assert api("GET", "/v1/jobs").json()["items"] == [failed]


def test_the_events_of_a_job_end_with_it(api: Api) -> None:
    job = ordered(api)["id"]
    api("DELETE", f"/v1/jobs/{job}")
    answer = api("GET", f"/v1/jobs/{job}/events")
    assert answer.headers["content-type"].startswith("text/event-stream")
    [name, data] = answer.text.strip().splitlines()
    assert name == "event: job"
    assert json.loads(data.removeprefix("data: "))["status"] == "cancelled"


def test_the_schedule_begins_with_the_settings_defaults(redis_url: str, namespace: str) -> None:
    settings = Settings(namespace=namespace, retrain_cron="0 4 * * *", retrain_after_events=0)
    with Api(settings, redis_url) as api:
        schedule = api("GET", "/v1/retrain/schedule").json()
    assert (schedule["cron"], schedule["after_events"], schedule["drift"]) == (
        "0 4 * * *",
        None,
        None,
    )
    assert (schedule["version"], schedule["who"], schedule["changed"]) == (0, None, None)
    assert (schedule["last_began"], schedule["events_at_last"], schedule["new_events"]) == (
        None,
        0,
        0,
    )
    assert (schedule["of_settings"], schedule["not_before"]) == (True, None)


def test_the_schedule_is_replaced_as_a_whole_by_version(api: Api) -> None:
    put = {"cron": "*/5 * * * *", "drift": 1.2, "parameters": {"factors": 8}, "budget_s": 2}
    first = api("PUT", "/v1/retrain/schedule?if_version=0", json=put).json()
    assert (first["version"], first["who"], first["drift"]) == (1, "local", 1.2)
    assert first["after_events"] is None
    check_problem(api("PUT", "/v1/retrain/schedule?if_version=0", json={}), 409, "version_conflict")
    second = api("PUT", "/v1/retrain/schedule", json={}).json()
    assert (second["version"], second["cron"], second["parameters"]) == (2, None, {})
    assert api("GET", "/v1/retrain/schedule").json() == second
    usual = api("DELETE", "/v1/retrain/schedule").json()
    assert (usual["version"], usual["after_events"]) == (3, FIRST)
    assert (second["of_settings"], usual["of_settings"]) == (False, True)
    assert api("GET", "/v1/retrain/schedule").json() == usual


def test_the_schedule_says_when_the_pause_ends(api: Api) -> None:
    api.runtime.schedules.trained(None, now_ms(), [0])
    schedule = api("GET", "/v1/retrain/schedule").json()
    began, ends = (datetime.fromisoformat(schedule[n]) for n in ("last_began", "not_before"))
    assert (ends - began).total_seconds() == api.settings.retrain_pause_s


@pytest.mark.parametrize(
    ("body", "code"),
    [
        ({"cron": "whenever"}, "invalid_schedule"),
        ({"cron": "* * * * * *"}, "invalid_schedule"),
        ({"cron": "61 * * * *"}, "invalid_schedule"),
        ({"after_events": 0}, "invalid_request"),
        ({"drift": 1.0}, "invalid_request"),
        ({"model": "magic"}, "invalid_training"),
        ({"hourly": True}, "invalid_request"),
    ],
)
def test_a_schedule_that_makes_no_sense_is_refused(
    api: Api, body: dict[str, Any], code: str
) -> None:
    check_problem(api("PUT", "/v1/retrain/schedule", json=body), 422, code)
    assert api("GET", "/v1/retrain/schedule").json()["version"] == 0


def test_job_records_expire(api: Api, namespace: str, redis_url: str) -> None:
    job = ordered(api)["id"]
    left = api.run(api.runtime.redis.ttl(NamespaceKeys(namespace).job(job)))
    assert 0 < left <= 30 * 86_400
