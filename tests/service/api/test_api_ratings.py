"""Posting feedback: accepted and refused events, and the answers."""

import asyncio
import json

import pytest

from service.settings import Settings
from service.store.log.codec import AWAITED, HAS_DIGEST, HAS_PRODUCER
from tests.api import JSON, NDJSON, Api, appended, check_problem, learning
from tests.service.bad_feedback import REFUSED

GOOD = {"user": "ada", "item": "x", "rating": 4}


def test_one_rating_becomes_one_event_of_the_log(api: Api) -> None:
    answer = api("POST", "/v1/ratings", json={**GOOD, "timestamp": "2026-01-02T03:04:05.678+01:00"})
    assert answer.status_code == 202
    assert answer.json() == {"accepted": 1, "rejected": [], "warnings": [], "sequence": "0:1"}
    [entry] = appended(api)
    assert entry.users == ("ada",)
    assert entry.value.tolist() == [4.0]
    assert entry.time_ms.tolist() == [1_767_319_445_678]
    assert (entry.kind.tolist(), entry.flags.tolist(), entry.digests) == ([0], [0], b"")


@pytest.mark.parametrize("given", [1_767_319_445.678, 1_767_319_445_678, 1_767_319_445_678.0])
@pytest.mark.parametrize("route", ["/v1/events", "/v1/ratings"])
def test_a_time_may_be_a_number_of_seconds_or_milliseconds(
    api: Api, route: str, given: float
) -> None:
    assert api("POST", route, json={**GOOD, "timestamp": given}).status_code == 202
    assert api("POST", route, json=[{**GOOD, "timestamp": given}]).status_code == 202
    lines = json.dumps({**GOOD, "timestamp": given}).encode()
    assert api("POST", f"{route}/stream", content=lines, headers=NDJSON).status_code == 202
    assert [entry.time_ms.tolist() for entry in appended(api)] == [[1_767_319_445_678]] * 3


def test_an_event_without_a_time_is_stamped(api: Api) -> None:
    api.rate("ada", "x", 3)
    [entry] = appended(api)
    assert entry.time_ms[0] == pytest.approx(entry.appended_ms, abs=60_000)


@pytest.mark.parametrize(("body", "code"), REFUSED.values(), ids=list(REFUSED))
def test_a_bad_event_is_refused_and_leaves_nothing(api: Api, body: bytes, code: str) -> None:
    answer = api("POST", "/v1/ratings", content=body, headers=JSON)
    assert (answer.status_code, answer.json()["code"]) == (422, code)
    assert appended(api) == []


def test_the_good_rows_of_an_array_are_kept(api: Api) -> None:
    rows = [body.decode("latin-1") for body, _ in REFUSED.values()]
    usable = [
        row for row in rows if row.startswith("{") and row.endswith("}") and "\xff" not in row
    ]
    text = "[" + ",".join([*usable, '{"user":"a","item":"b","rating":3}']) + "]"
    answer = api("POST", "/v1/ratings", content=text.encode(), headers=JSON)
    assert answer.status_code == 202
    written = answer.json()
    assert written["accepted"] == 1
    assert [row["index"] for row in written["rejected"]] == list(range(len(usable)))
    assert all(row["detail"] for row in written["rejected"])


def test_an_array_of_which_nothing_is_accepted_is_refused(api: Api) -> None:
    for rows in ([], [{**GOOD, "rating": 99}, 7]):
        answer = api("POST", "/v1/ratings", json=rows)
        assert (answer.status_code, answer.json()["code"]) == (422, "nothing_accepted")
        assert len(answer.json()["rejected"]) == len(rows)


def test_an_array_is_bounded(api: Api) -> None:
    answer = api("POST", "/v1/ratings", json=[GOOD] * (api.settings.max_array + 1))
    assert (answer.status_code, answer.json()["code"]) == (413, "too_large")


def test_a_field_name_with_a_lone_surrogate_is_answered(api: Api) -> None:
    body = b'[{"user":"a","item":"b","rating":1e999},{"\\ud800":1}]'
    answer = api("POST", "/v1/ratings", content=body, headers=JSON)
    assert answer.status_code == 422
    assert len(answer.json()["rejected"]) == 2


def test_requests_of_one_moment_each_get_their_own_place(api: Api) -> None:
    async def post(i: int) -> str:
        body = {"user": f"u{i}", "item": "x", "rating": 3}
        sequence: str = (await api.client.post("/v1/ratings", json=body)).json()["sequence"]
        return sequence

    async def all_at_once() -> list[str]:
        return list(await asyncio.gather(*(post(i) for i in range(100))))

    sequences = api.run(all_at_once())
    order = [entry.users[ix] for entry in appended(api) for ix in entry.user_ix]
    assert [f"0:{order.index(f'u{i}') + 1}" for i in range(100)] == sequences


def test_kinds_and_event_ids_reach_the_log(api: Api) -> None:
    rows = [{"user": "a", "item": "b", "kind": "like", "event_id": "1", "rec_id": "r"}, GOOD]
    assert api("POST", "/v1/ratings", json=rows).json()["accepted"] == 2
    [entry] = appended(api)
    assert entry.kind.tolist() == [api.settings.kinds["like"].code, 0]
    assert entry.flags.tolist() == [HAS_DIGEST | HAS_PRODUCER, 0]
    assert len(entry.digests) == 16


def test_a_key_gives_every_row_without_an_id_one_of_its_own(api: Api) -> None:
    rows = [GOOD, GOOD, {**GOOD, "event_id": "K#0"}]
    api("POST", "/v1/ratings", json=rows, headers={"idempotency-key": "K"})
    api("POST", "/v1/ratings", json=GOOD, headers={"idempotency-key": "K"})
    first, again = (entry.digests for entry in appended(api))
    digests = [first[i : i + 16] for i in (0, 16, 32)]
    assert digests[0] == digests[2] == again
    assert digests[0] != digests[1]


def test_the_producer_is_the_key_or_else_the_program(api: Api) -> None:
    def producer(**headers: str) -> tuple[bytes, bytes]:
        api("POST", "/v1/ratings", json={**GOOD, "event_id": "1"}, headers=headers)
        digests = appended(api)[-1].digests
        return digests[:12], digests[12:]

    shop, bulk = (producer(**{"user-agent": name}) for name in ("shop/1.0", "bulk/2.1"))
    assert shop == producer(**{"user-agent": "shop/1.0"})
    assert shop[0] == bulk[0]
    assert shop[1] != bulk[1]
    secrets = [api.new_key(role, role)[1] for role in ("admin", "write")]
    first, second = ({"authorization": f"Bearer {secret}"} for secret in secrets)
    assert producer(**first) == producer(**first, **{"user-agent": "shop/1.0"})
    assert len({shop, bulk, producer(**first), producer(**second)}) == 4


def test_a_key_that_came_with_another_body_is_refused(api: Api, redis_url: str) -> None:
    other = {**GOOD, "item": "y"}

    def status(route: str, body: object, key: str, through: Api = api) -> int:
        headers = {"idempotency-key": key}
        if route.endswith("stream"):
            lines = "\n".join(map(json.dumps, body if isinstance(body, list) else [body]))
            answer = through("POST", route, content=lines.encode(), headers=NDJSON | headers)
        else:
            answer = through("POST", route, json=body, headers=headers)
        if answer.status_code == 409:
            problem = check_problem(answer, 409, "idempotency_key_reused")
            assert "a key of its own" in problem["detail"]
        return answer.status_code

    with Api(api.settings, redis_url) as another:
        for route in ("/v1/events", "/v1/ratings?wait=learned", "/v1/events/stream"):
            for n, (first, second) in enumerate(((GOOD, other), ([GOOD, GOOD], [other, GOOD]))):
                key = f"{route} {n}"
                assert status(route, first, key) == 202
                stored = len(appended(api))
                # whichever process is asked, and once more
                assert status(route, second, key, another) == status(route, second, key) == 409
                assert len(appended(api)) == stored
                assert status(route, first, key, another) == 202
                assert status(route, second, f"{key} new") == 202
    # the JSON may be written otherwise
    text = b'{"rating": 4.0,   "item": "x", "user": "ada"}'
    headers = JSON | {"idempotency-key": "/v1/events 0"}
    assert api("POST", "/v1/events", content=text, headers=headers).status_code == 202


def test_a_body_may_come_again_under_its_key_once_a_row_is_mended(api: Api) -> None:
    headers = {"idempotency-key": "K"}
    bad, other = {**GOOD, "rating": 77}, {**GOOD, "item": "y"}
    none = api("POST", "/v1/events", json=[bad, bad], headers=headers)
    assert none.status_code == 422
    for rows in ([bad, GOOD, bad], [other, GOOD, bad], [other, GOOD, other]):
        assert api("POST", "/v1/events", json=rows, headers=headers).status_code == 202
    assert api("POST", "/v1/events", json=[other, other], headers=headers).status_code == 409


def test_an_unusable_key_is_refused(api: Api) -> None:
    for key in ("", "k" * 201):
        answer = api("POST", "/v1/ratings", json=GOOD, headers={"idempotency-key": key})
        assert (answer.status_code, answer.json()["code"]) == (422, "invalid_id")


def test_each_user_goes_to_their_partition(redis_url: str, namespace: str) -> None:
    with Api(Settings(namespace=namespace, partitions=4), redis_url) as api:
        rows = [{"user": f"u{i}", "item": "x", "rating": 3} for i in range(40)]
        sequence = api("POST", "/v1/ratings", json=rows).json()["sequence"]
        counts = [int(part.partition(":")[2]) for part in sequence.split(",")]
        assert len(counts) == 4
        assert sum(counts) == 40


def test_items_beyond_the_bound_are_refused_one_by_one(redis_url: str, namespace: str) -> None:
    with Api(Settings(namespace=namespace, max_items=2), redis_url) as api:
        rows = [{"user": "a", "item": item, "rating": 3} for item in ("x", "y", "z", "x")]
        written = api("POST", "/v1/ratings", json=rows).json()
        assert (written["accepted"], written["rejected"][0]["index"]) == (3, 2)
        assert written["rejected"][0]["code"] == "item_limit"
        one = api("POST", "/v1/ratings", json=rows[2])
        assert (one.status_code, one.json()["code"]) == (422, "item_limit")


def test_a_full_log_answers_503_and_says_when_to_try_again(redis_url: str, namespace: str) -> None:
    with Api(Settings(namespace=namespace, log_max_bytes=1 << 16), redis_url) as api:
        rows = [GOOD] * 4_000
        api("POST", "/v1/ratings", json=rows)
        answer = api("POST", "/v1/ratings", json=rows)
        assert (answer.status_code, answer.json()["code"]) == (503, "backlogged")
        assert answer.headers["retry-after"] == str(answer.json()["retry_after"])


def test_waiting_gives_the_predictions_made_before_learning(learned_api: Api) -> None:
    rows = [GOOD, {**GOOD, "rating": 9}, {"user": "a", "item": "x", "kind": "view"}, GOOD]
    answer = learned_api("POST", "/v1/ratings?wait=learned", json=rows)
    assert answer.status_code == 200
    written = answer.json()
    assert written["accepted"] == 3
    assert [row["index"] for row in written["predictions"]] == [0, 3]
    assert written["repeats"] == []
    assert set(written["predictions"][0]) == {"index", "rating", "low", "high"}
    one = learned_api("POST", "/v1/ratings?wait=learned", json=GOOD)
    assert (one.status_code, len(one.json()["predictions"])) == (200, 1)


def test_a_repeat_is_a_success_that_teaches_nothing(learned_api: Api) -> None:
    headers = {"idempotency-key": "again"}
    for n_predictions in (1, 0):
        answer = learned_api("POST", "/v1/ratings?wait=learned", json=GOOD, headers=headers)
        assert answer.status_code == 200
        assert len(answer.json()["predictions"]) == n_predictions
        assert answer.json()["repeats"] == [0][n_predictions:]
    assert len(learned_api("GET", "/v1/users/ada/ratings").json()["items"]) == 1


def test_waiting_in_vain_still_says_that_the_rows_are_safe(redis_url: str, namespace: str) -> None:
    settings = Settings(namespace=namespace, wait_timeout_ms=50)
    with Api(settings, redis_url) as api:
        answer = api("POST", "/v1/ratings?wait=learned", json=GOOD)
        assert (answer.status_code, answer.json()["accepted"]) == (202, 1)
        assert "predictions" not in answer.json()
        [entry] = appended(api)
        assert entry.flags.tolist() == [AWAITED]


def test_waiting_is_bounded_and_has_one_meaning(api: Api) -> None:
    many = api("POST", "/v1/ratings?wait=learned", json=[GOOD] * 101)
    assert (many.status_code, many.json()["code"]) == (413, "too_large")
    other = api("POST", "/v1/ratings?wait=done", json=GOOD)
    assert (other.status_code, other.json()["code"]) == (422, "invalid_request")
    bad = api("POST", "/v1/ratings?wait=learned", json={**GOOD, "rating": 7})
    assert (bad.status_code, bad.json()["code"]) == (422, "out_of_scale")


def test_waiting_works_across_partitions(redis_url: str, namespace: str) -> None:
    settings = Settings(namespace=namespace, partitions=2, wait_timeout_ms=60_000)
    with learning(settings, redis_url), Api(settings, redis_url) as api:
        rows = [{"user": f"u{i}", "item": "x", "rating": 1 + i % 5} for i in range(20)]
        answer = api("POST", "/v1/ratings?wait=learned", json=rows)
        assert answer.status_code == 200
        assert [row["index"] for row in answer.json()["predictions"]] == list(range(20))


@pytest.mark.parametrize("partitions", [1, 2])
def test_waiting_says_which_rows_are_repeats(
    redis_url: str, namespace: str, partitions: int
) -> None:
    settings = Settings(namespace=namespace, partitions=partitions, wait_timeout_ms=60_000)
    rows = [{"user": f"u{i}", "item": "x", "rating": 4, "event_id": f"{i}"} for i in range(20)]
    with learning(settings, redis_url), Api(settings, redis_url) as api:
        api("POST", "/v1/events", json=rows[::3])
        bad, view = {**rows[0], "rating": 9}, {"user": "u1", "item": "x", "kind": "view"}
        posted = [bad, *rows, rows[1], view]
        answer = api("POST", "/v1/events?wait=learned", json=posted).json()
        assert answer["accepted"] == 22
        repeated = [*range(1, 21, 3), 21]
        assert answer["repeats"] == repeated
        predicted = {row["index"] for row in answer["predictions"]}
        assert predicted == {*range(1, 21)} - {*repeated}


@pytest.mark.parametrize("partitions", [1, 2])
def test_rows_that_came_lately_are_told_before_anything_is_learned(
    redis_url: str, namespace: str, partitions: int
) -> None:
    rows = [{"user": f"u{i}", "item": "x", "rating": 4, "event_id": f"{i}"} for i in range(20)]
    with Api(Settings(namespace=namespace, partitions=partitions), redis_url) as api:
        assert "repeats" not in api("POST", "/v1/events", json=rows[::3]).json()
        bad, no_id = {**rows[0], "rating": 9}, {"user": "u1", "item": "x", "kind": "view"}
        again = api("POST", "/v1/events", json=[bad, *rows, rows[1], no_id]).json()
        assert again["repeats"] == [*range(1, 21, 3), 21]
        new = {**rows[0], "event_id": "new"}
        assert [api("POST", "/v1/events", json=new).json().get("repeats") for _ in "12"] == [
            None,
            [0],
        ]
        keyed = {"headers": {"idempotency-key": "k"}, "json": [no_id, no_id]}
        told = [api("POST", "/v1/events", **keyed).json().get("repeats") for _ in "12"]
        assert told == [None, [0, 1]]
