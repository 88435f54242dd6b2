"""Predictions: of anything, as of now or later, and reading leaves no trace."""

import numpy as np
import pytest

from service.settings import Settings
from service.store.keys import PartitionKeys
from service.store.partitions import partition_of
from tests.api import Api, learning


def test_cold_users_and_items_get_an_answer(api: Api) -> None:
    one = api("GET", "/v1/users/nobody/predictions/nothing")
    assert one.status_code == 200
    answer = one.json()
    assert set(answer) == {
        "user",
        "item",
        "rating",
        "low",
        "high",
        "experts",
        "model_version",
        "short_version",
        "strategy",
        "trained_through",
        "seen_through",
    }
    assert 1 <= answer["low"] <= answer["rating"] <= answer["high"] <= 5
    assert (answer["strategy"], answer["seen_through"]) == ("online", "0:0")
    assert len(answer["experts"]) == len(api.runtime.model.names)
    assert sum(part["weight"] for part in answer["experts"]) == pytest.approx(1)


def test_asking_stores_nothing(api: Api, namespace: str) -> None:
    def keys() -> list[bytes]:
        return sorted(api.run(api.runtime.redis.keys(f"hr:{{{namespace}*")))

    before = keys()
    api("GET", "/v1/users/nobody/predictions/nothing")
    api("POST", "/v1/predictions", json={"pairs": [{"user": "a", "item": "b"}]})
    api("GET", "/v1/users/nobody/ratings")
    assert keys() == before


def test_a_rating_changes_the_prediction_that_waits_for_it(learned_api: Api) -> None:
    path = "/v1/users/ada/predictions/x"
    before = learned_api("GET", path).json()
    for rating in (5, 5, 5):
        sequence = learned_api.rate("ada", "x", rating)
    after = learned_api("GET", f"{path}?min_sequence={sequence}").json()
    assert after["rating"] > before["rating"]
    assert after["seen_through"] == sequence
    assert after["model_version"] == before["model_version"]


def test_a_batch_equals_single_predictions(learned_api: Api) -> None:
    pairs = [{"user": f"u{i % 7}", "item": f"i{i % 5}"} for i in range(60)]
    rows = [{**pair, "rating": 1 + i % 5} for i, pair in enumerate(pairs)]
    learned_api("POST", "/v1/ratings?wait=learned", json=rows)
    pairs += [{"user": "new", "item": "i1"}, {"user": "u1", "item": "new"}]
    batch = learned_api("POST", "/v1/predictions", json={"pairs": pairs}).json()["predictions"]
    for pair, prediction in zip(pairs, batch, strict=True):
        single = learned_api("GET", f"/v1/users/{pair['user']}/predictions/{pair['item']}").json()
        assert single == prediction


def test_partitions_predict_from_their_own_state(redis_url: str, namespace: str) -> None:
    settings = Settings(namespace=namespace, partitions=2)
    with learning(settings, redis_url), Api(settings, redis_url) as api:
        rows = [{"user": f"u{i}", "item": "x", "rating": 5} for i in range(20)]
        sequence = api("POST", "/v1/ratings", json=rows).json()["sequence"]
        pairs = [{"user": f"u{i}", "item": "x"} for i in range(20)]
        answer = api("POST", f"/v1/predictions?min_sequence={sequence}", json={"pairs": pairs})
        seen = {one["seen_through"] for one in answer.json()["predictions"]}
        assert seen == set(sequence.split(","))
        for partition in (0, 1):
            experts = api("GET", f"/v1/experts?partition={partition}").json()
            learned = max(expert["updates"] for expert in experts["experts"])
            assert learned == int(sequence.split(",")[partition].partition(":")[2])


def test_a_sequence_that_is_never_reached_is_a_503(redis_url: str, namespace: str) -> None:
    with Api(Settings(namespace=namespace, min_sequence_wait_ms=50), redis_url) as api:
        sequence = api.rate("ada", "x", 4)
        answer = api("GET", f"/v1/users/ada/predictions/x?min_sequence={sequence}")
        assert (answer.status_code, answer.json()["code"]) == (503, "sequence_not_reached")
        assert answer.json()["retry_after"] == 1


def test_a_request_waits_only_for_the_partitions_of_its_users(
    redis_url: str, namespace: str
) -> None:
    settings = Settings(namespace=namespace, partitions=2, min_sequence_wait_ms=50)
    own = partition_of("ada", 2)
    with Api(settings, redis_url) as api:
        for partition, status in ((1 - own, 200), (own, 503)):
            params = {"min_sequence": f"{partition}:1"}
            answer = api("GET", "/v1/users/ada/recommendations", params=params)
            assert answer.status_code == status
        both = {"min_sequence": f"{own}:0,{1 - own}:9"}
        assert api("GET", "/v1/users/ada/recommendations", params=both).is_success


@pytest.mark.parametrize("path", ["/v1/users/ada/predictions/x", "/v1/users/ada/recommendations"])
def test_a_sequence_of_a_partition_that_is_not_there_is_refused(api: Api, path: str) -> None:
    for token in ("7:1", "0:0,1:0"):
        answer = api("GET", f"{path}?min_sequence={token}")
        assert (answer.status_code, answer.json()["code"]) == (422, "invalid_sequence")
        assert "the last one here is 0" in answer.json()["detail"]


def test_batches_are_bounded_and_strict(api: Api) -> None:
    pair = {"user": "a", "item": "b"}
    for pairs in (
        [],
        [pair] * 1_001,
        [{"user": "a"}],
        [{**pair, "x": 1}],
        [{**pair, "user": 1}],
        pair,
    ):
        answer = api("POST", "/v1/predictions", json={"pairs": pairs})
        assert (answer.status_code, answer.json()["code"]) == (422, "invalid_request")


def test_experts_report_what_they_learned(learned_api: Api) -> None:
    rng = np.random.default_rng(0)
    rows = [
        {"user": f"u{u}", "item": f"i{i}", "rating": 1 + (u + i) % 5}
        for u, i in rng.integers(20, size=(6_000, 2)).tolist()
    ]
    sequence = learned_api("POST", "/v1/ratings", json=rows).json()["sequence"]
    learned_api("GET", f"/v1/users/u1/predictions/i1?min_sequence={sequence}")
    answer = learned_api("GET", "/v1/experts").json()
    assert answer["seen_through"] == sequence
    experts = answer["experts"]
    assert [expert["name"] for expert in experts] == list(learned_api.runtime.model.names)
    assert sum(expert["weight"] for expert in experts) == pytest.approx(1)
    assert min(expert["regret_to_best"] for expert in experts) == 0
    assert max(expert["updates"] for expert in experts) == 6_000


def test_a_partition_that_is_not_there_is_a_404(api: Api) -> None:
    for path in ("/v1/experts", "/v1/experts/history"):
        assert api("GET", f"{path}?partition=1").status_code == 404
        assert api("GET", path).status_code == 200


def test_rows_of_other_experts_are_never_predicted_from(redis_url: str, namespace: str) -> None:
    settings = Settings(namespace=namespace)
    with learning(settings, redis_url), Api(settings, redis_url) as api:
        sequence = api.rate("ada", "x", 4)
        api("GET", f"/v1/users/ada/predictions/x?min_sequence={sequence}")
    with Api(Settings(namespace=namespace, experts="paper"), redis_url) as api:
        answer = api("GET", "/v1/users/ada/predictions/x")
        assert (answer.status_code, answer.json()["code"]) == (503, "not_ready")
        assert "rebuild" in answer.json()["detail"]
        ready = api("GET", "/readyz")
        assert (ready.status_code, ready.json()["code"]) == (503, "not_ready")
        assert "rebuild" in ready.json()["detail"]


def test_history_is_paged_newest_first_and_new_events_move_nothing(learned_api: Api) -> None:
    for i in range(5):
        learned_api.rate("ada", f"i{i}", 1 + i / 2)
    learned_api(
        "POST", "/v1/ratings?wait=learned", json={"user": "ada", "item": "i0", "kind": "like"}
    )
    first = learned_api("GET", "/v1/users/ada/ratings?limit=2").json()
    learned_api(
        "POST", "/v1/ratings?wait=learned", json={"user": "ada", "item": "new", "rating": 1}
    )
    second = learned_api(
        "GET", f"/v1/users/ada/ratings?limit=3&cursor={first['next_cursor']}"
    ).json()
    third = learned_api("GET", f"/v1/users/ada/ratings?cursor={second['next_cursor']}").json()
    pages = first["items"] + second["items"] + third["items"]
    assert [(event["item"], event["kind"], event["rating"]) for event in pages] == [
        ("i0", "like", None),
        ("i4", "rating", 3.0),
        ("i3", "rating", 2.5),
        ("i2", "rating", 2.0),
        ("i1", "rating", 1.5),
        ("i0", "rating", 1.0),
    ]
    assert third["next_cursor"] is None


def test_a_rating_is_shown_as_it_was_sent(redis_url: str, namespace: str) -> None:
    settings = Settings(namespace=namespace, scale="-10:10")
    with learning(settings, redis_url), Api(settings, redis_url) as api:
        row = {"user": "a", "item": "b", "rating": -3.7, "timestamp": "1969-12-31T23:59:59.999Z"}
        api("POST", "/v1/ratings?wait=learned", json=row)
        [event] = api("GET", "/v1/users/a/ratings").json()["items"]
        assert (event["rating"], event["timestamp"]) == (-3.7, "1969-12-31T23:59:59.999Z")


def test_a_cursor_belongs_to_its_list(learned_api: Api) -> None:
    for item in ("x", "y"):
        sequence = learned_api.rate("ada", item, 3)
    learned_api("GET", f"/v1/users/ada/predictions/x?min_sequence={sequence}")
    cursor = learned_api("GET", "/v1/users/ada/ratings?limit=1").json()["next_cursor"]
    for path, given in (
        ("/v1/users/eve/ratings", cursor),
        ("/v1/items", cursor),
        ("/v1/users", cursor),
        ("/v1/users/ada/ratings", "x"),
        ("/v1/users/ada/ratings", "WyJyYXRpbmdzIG9mIGFkYSIsIngiXQ"),
        ("/v1/users/ada/ratings", "\u00e9"),
    ):
        answer = learned_api("GET", path, params={"cursor": given})
        assert (answer.status_code, answer.json()["code"]) == (422, "invalid_cursor")


def test_deleted_ratings_stay_deleted(learned_api: Api) -> None:
    for item in ("x", "y"):
        learned_api.rate("ada", item, 5)
    receipt = learned_api("DELETE", "/v1/users/ada/ratings/x").json()
    assert (receipt["deleted"], receipt["learned"], receipt["sequence"]) == ("rating", True, "0:3")
    kept = learned_api("GET", "/v1/users/ada/ratings").json()["items"]
    assert [event["item"] for event in kept] == ["y"]
    learned_api("DELETE", "/v1/users/ada")
    assert learned_api("GET", "/v1/users/ada/ratings").json()["items"] == []
    assert learned_api("GET", "/v1/users/ada").status_code == 404
    cold = learned_api("GET", "/v1/users/ada/predictions/x").json()
    new = learned_api("GET", "/v1/users/new/predictions/x").json()
    assert cold["rating"] - cold["low"] == pytest.approx(new["rating"] - new["low"])


def test_a_deletion_that_is_not_learned_yet_is_safe(redis_url: str, namespace: str) -> None:
    with Api(Settings(namespace=namespace, wait_timeout_ms=50), redis_url) as api:
        api.rate("ada", "x", 4)
        for path in ("/v1/users/ada/ratings/x", "/v1/items/x", "/v1/users/ada"):
            answer = api("DELETE", path)
            assert (answer.status_code, answer.json()["learned"]) == (202, False)
        length = api.run(api.runtime.redis.xlen(PartitionKeys(namespace, 0).log))
        assert length == 4
        assert api("DELETE", "/v1/users/ada/ratings/never-named").status_code == 404


def test_a_deleted_item_leaves_every_history(redis_url: str, namespace: str) -> None:
    settings = Settings(namespace=namespace, partitions=2)
    with learning(settings, redis_url), Api(settings, redis_url) as api:
        rows = [{"user": f"u{i}", "item": item, "rating": 4} for i in range(8) for item in "xy"]
        api("POST", "/v1/ratings?wait=learned", json=rows)
        receipt = api("DELETE", "/v1/items/x").json()
        assert (receipt["learned"], len(receipt["sequence"].split(","))) == (True, 2)
        for i in range(8):
            events = api("GET", f"/v1/users/u{i}/ratings").json()["items"]
            assert [event["item"] for event in events] == ["y"]
