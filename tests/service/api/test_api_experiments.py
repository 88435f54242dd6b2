"""Experiments over HTTP: whose lists change, what is counted, and how they end."""

import json
import uuid
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest
from msgspec.json import encode

from service.settings import Settings
from tests.api import NDJSON, Api, check_problem, learning
from tests.server import wait_until
from tests.service.shop import get, items, opened, post

USERS = [f"user-{n}" for n in range(60)]
BODY: dict[str, Any] = {
    "name": "latest",
    "arms": [
        {"name": "as-before", "share": 0.5},
        {"name": "newest", "share": 0.5, "parameters": {"model": "latest"}},
    ],
}


@pytest.fixture(scope="module")
def open_shop(redis_server: str) -> Iterator[Api]:
    settings = Settings(namespace=f"t-{uuid.uuid4().hex[:12]}", min_sequence_wait_ms=60_000)
    with learning(settings, redis_server), Api(settings, redis_server) as api:
        yield opened(api)


@pytest.fixture
def shop(open_shop: Api) -> Iterator[Api]:
    """The shop, in which no experiment was ever begun."""
    yield open_shop
    for one in get(open_shop, "/v1/experiments")["items"]:
        open_shop("DELETE", f"/v1/experiments/{one['name']}")


def begin(api: Api, **other: Any) -> Any:
    answer = api("POST", "/v1/experiments", json=BODY | other)
    assert answer.status_code == 201, answer.text
    return answer.json()


def slate(api: Api, user: str, **parameters: Any) -> Any:
    return get(api, f"/v1/users/{user}/recommendations", **parameters)


def arm_of(slate: Any) -> str | None:
    experiment = slate["experiment"]
    return None if experiment is None else experiment["arm"]


def by_arm(api: Api) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for user in USERS:
        found.setdefault(arm_of(slate(api, user)) or "", []).append(user)
    return found


def report(api: Api, name: str = "latest") -> Any:
    return get(api, f"/v1/experiments/{name}")


def test_lists_are_made_by_the_arms_of_their_users(shop: Api) -> None:
    before = {user: slate(shop, user) for user in USERS[:30]}
    assert {arm_of(one) for one in before.values()} == {None}
    assert "latest" not in {one["strategy"] for one in before.values()}
    begin(shop)
    assert {*by_arm(shop)} == {"as-before", "newest"}
    newest = items(slate(shop, "nobody", model="latest"))
    for user in before:
        for _ in range(2):  # once made, once as it was kept
            own = slate(shop, user)
            assert (own["strategy"] == "latest") == (arm_of(own) == "newest")
            assert arm_of(own) == "as-before" or items(own) == newest


def test_a_request_that_sets_what_is_decided_takes_no_part(shop: Api) -> None:
    begin(shop)
    for user in USERS[:10]:
        assert arm_of(slate(shop, user, model="popular")) is None
        assert arm_of(slate(shop, user, k=3, category="none")) is not None


def test_bodies_and_batches_take_part_and_pages_go_on(shop: Api) -> None:
    begin(shop)
    arms = {user: arm_of(slate(shop, user)) for user in USERS[:12]}
    lines = shop("POST", "/v1/recommendations/batch", json={"users": [*arms]})
    assert [arm_of(line) for line in map(json.loads, lines.text.splitlines())] == [*arms.values()]
    for user, arm in arms.items():
        assert arm_of(post(shop, "/v1/recommendations", user=user)) == arm
        first = slate(shop, user, k=15)
        second = slate(shop, user, k=15, cursor=first["next_cursor"])
        assert (arm_of(second), second["strategy"]) == (arm, first["strategy"])
        assert len({*items(first), *items(second)}) == 30
        if arm == "newest":
            assert items(first) + items(second) == items(slate(shop, user, k=30))
    assert arm_of(post(shop, "/v1/recommendations", history=[{"item": "i1", "rating": 5}])) is None


def test_candidates_are_put_in_order_as_the_arm_says(shop: Api) -> None:
    varied = {"name": "varied", "share": 0.5, "parameters": {"diversity": 0.5}}
    begin(shop, arms=[BODY["arms"][0], varied])
    for user in USERS[:5]:
        ranked = post(shop, "/v1/rank", user=user, candidates=["i1", "i2", "i9"])
        assert arm_of(ranked) == arm_of(slate(shop, user))


def test_feedback_to_a_list_of_the_longest_context_counts(shop: Api) -> None:
    begin(shop)
    own = slate(shop, "ada", context=f"a={'x' * 64},b={'y' * 64},c={'z' * 23}")
    assert len(own["rec_id"]) > 256
    row = {"user": "ada", "item": "i1", "kind": "impression", "rec_id": own["rec_id"]}
    answer = shop("POST", "/v1/events", json=row)
    assert answer.status_code == 202, answer.text
    get(shop, "/v1/users/ada/recommendations", min_sequence=answer.json()["sequence"])
    assert sum(arm["impressions"] for arm in report(shop)["arms"]) == 1


@pytest.mark.parametrize("stream", [False, True])
def test_what_follows_counts_for_the_arm(shop: Api, stream: bool) -> None:
    begin(shop)
    sent: Counter[tuple[str, str]] = Counter()
    rows: list[dict[str, Any]] = []
    for number, user in enumerate(USERS):
        own = slate(shop, user, **({"context": "device=phone"} if number % 3 else {}))
        for place, item in enumerate(items(own)[:3]):
            for kind in ("impression", "click") if (number + place) % 4 == 0 else ("impression",):
                rows.append({"user": user, "item": item, "kind": kind, "rec_id": own["rec_id"]})
                sent[str(arm_of(own)), kind] += 1
    # said again, said of no list, and said of another user's list
    repeated = rows[0] | {"event_id": f"of a stream: {stream}"}
    sent[str(arm_of(slate(shop, rows[0]["user"]))), "impression"] += 1
    foreign = rows[0] | {"user": "somebody"}
    rows += [repeated, repeated, {"user": "user-1", "item": "i1", "kind": "click"}, foreign]
    if stream:
        content = b"\n".join(map(encode, rows))
        answer = shop("POST", "/v1/events/stream", content=content, headers=NDJSON)
    else:
        answer = shop("POST", "/v1/events", json=rows)
    assert answer.is_success, answer.text
    get(shop, "/v1/users/ada/recommendations", min_sequence=answer.json()["sequence"])
    found = report(shop)
    assert found["reason"] is None
    for arm in found["arms"]:
        own = {kind: n for (name, kind), n in sent.items() if name == arm["name"]}
        assert arm["events"] == own
        assert arm["impressions"] == own["impression"]
    # neither by context nor in what is known of a user is there anything of the experiment
    contexts = get(shop, "/v1/stats/contexts")["contexts"]
    named = {one["context"].partition("=")[0] for one in contexts}
    assert "device" in named <= {"device", "a", "b", "c"}


def test_a_guardrail_ends_it(shop: Api) -> None:
    begin(shop, guardrail={"kind": "click"})
    rows = []
    for user, own in ((user, slate(shop, user)) for user in USERS):
        shown = {"user": user, "item": "i1", "rec_id": own["rec_id"]}
        rows += [shown | {"kind": "impression"}] * 10
        rows += [shown | {"kind": "click"}] * (8 if arm_of(own) == "as-before" else 1)
    answer = shop("POST", "/v1/events", json=rows)
    get(shop, "/v1/users/ada/recommendations", min_sequence=answer.json()["sequence"])
    followed = shop.runtime.experiments
    followed._guarded_at -= 3_600
    shop.run(followed.refresh())
    found = report(shop)
    assert (found["state"], found["ended_by"]) == ("stopped", "the guardrail")
    assert found["why"].startswith("`newest` has 8")
    lift = found["arms"][1]["lifts"]["click"]
    assert lift["low"] < lift["value"] == -0.875 < lift["high"] < 0
    assert {*by_arm(shop)} == {""}


def test_a_promoted_arm_holds_for_everybody_until_it_is_deleted(shop: Api) -> None:
    begin(shop)
    usual = slate(shop, "nobody", model="popular")["strategy"]
    answer = shop("POST", "/v1/experiments/latest/promote", json={"arm": "newest"})
    assert (answer.json()["state"], answer.json()["promoted"]) == ("promoted", "newest")
    for user in USERS[:10]:
        assert (slate(shop, user)["strategy"], arm_of(slate(shop, user))) == ("latest", None)
    assert post(shop, "/v1/recommendations", history=[])["strategy"] == "latest"
    assert slate(shop, "ada", model="popular")["strategy"] == usual
    assert shop("DELETE", "/v1/experiments/latest").json()["name"] == "latest"
    assert {slate(shop, user)["strategy"] for user in USERS[:10]} != {"latest"}
    assert get(shop, "/v1/experiments")["items"] == []


def test_another_process_follows_and_counts_outlive_a_stop(shop: Api, redis_url: str) -> None:
    begin(shop)
    with Api(shop.settings, redis_url) as other:
        other.run(other.runtime.experiments.refresh())
        assert by_arm(other) == by_arm(shop)
        late = slate(other, "ada")
        stopped = other("POST", "/v1/experiments/latest/stop")
        assert (stopped.json()["state"], stopped.json()["why"]) == ("stopped", "it was stopped")
        wait_until(lambda: {*by_arm(shop)} == {""})
    row = {"user": "ada", "item": "i1", "kind": "impression", "rec_id": late["rec_id"]}
    answer = shop("POST", "/v1/events", json=row)
    get(shop, "/v1/users/ada/recommendations", min_sequence=answer.json()["sequence"])
    assert sum(arm["impressions"] for arm in report(shop)["arms"]) == 1


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"arms": BODY["arms"][:1]}, "at least 2"),
        ({"arms": [{"name": "a", "share": 0.5}, {"name": "b", "share": 0.5}]}, "same parameters"),
        ({"arms": [BODY["arms"][0], BODY["arms"][1] | {"share": 0.6}]}, "more than 1 together"),
        ({"arms": [BODY["arms"][1], BODY["arms"][1]]}, "a name of its own"),
        ({"arms": [BODY["arms"][0], {"name": "b", "share": 0.5, "parameters": {"k": 3}}]}, "model"),
        (
            {"arms": [BODY["arms"][0], BODY["arms"][1] | {"parameters": {"blend": 0.5}}]},
            "give both",
        ),
        ({"guardrail": {"kind": "glance"}}, "must be one of: "),
        ({"guardrail": {"kind": "impression"}}, "must be one of: "),
        ({"name": "Not a name"}, "name"),
    ],
)
def test_what_cannot_be_an_experiment_is_refused(shop: Api, change: Any, says: str) -> None:
    answer = shop("POST", "/v1/experiments", json=BODY | change)
    assert answer.status_code == 422
    assert says in answer.text
    assert get(shop, "/v1/experiments")["items"] == []


def test_a_second_one_and_an_unknown_one_say_what_to_do(shop: Api) -> None:
    begin(shop)
    check_problem(shop("POST", "/v1/experiments", json=BODY | {"name": "b"}), 409, "conflict")
    for method, path, body in [
        ("GET", "/v1/experiments/none", None),
        ("DELETE", "/v1/experiments/none", None),
        ("POST", "/v1/experiments/none/stop", None),
        ("POST", "/v1/experiments/none/promote", {"arm": "newest"}),
        ("POST", "/v1/experiments/latest/promote", {"arm": "none"}),
    ]:
        check_problem(shop(method, path, json=body), 404, "not_found")
    assert report(shop)["reason"].startswith("nothing was shown yet: send an `impression`")
