import pytest

from service.store.keys import PartitionKeys
from service.store.mixture import LengthRecord, MixtureRecord, RankerRecord, write_mixture
from tests.server import wait_until


def ranker(weight, judged, mrr, version="v"):
    return RankerRecord(weight, version, judged, mrr, 2 * mrr)


def test_before_the_first_judgement_there_is_nothing_to_compare(api):
    answer = api("GET", "/v1/rankers")
    assert answer.status_code == 200
    assert answer.json() == {
        "rankers": [],
        "mixture": None,
        "by_length": [],
        "judged": 0,
        "passed_over": 0,
        "seen_through": "0:0",
    }


def test_rankers_come_by_weight_with_what_they_foresaw(api, client):
    rankers = {"popular": ranker(0.2, 10, 0.1, "popular"), "fbgd": ranker(0.8, 10, 0.3, "4f2a")}
    short = {0: LengthRecord(4, {"popular": 0.7, "fbgd": 0.3})}
    record = MixtureRecord(77, 10, 3, rankers, ranker(1.0, 10, 0.35, ""), short)
    write_mixture(client, PartitionKeys(api.settings.namespace, 0), record)
    body = api("GET", "/v1/rankers").json()
    assert [one["name"] for one in body["rankers"]] == ["fbgd", "popular"]
    assert body["rankers"][0] == {
        "name": "fbgd",
        "weight": 0.8,
        "model_version": "4f2a",
        "judged": 10,
        "mrr": pytest.approx(0.3),
        "ndcg_at_10": pytest.approx(0.6),
    }
    assert body["mixture"]["mrr"] == pytest.approx(0.35)
    assert body["by_length"] == [
        {"preferences_from": 0, "judged": 4, "weights": {"popular": 0.7, "fbgd": 0.3}}
    ]
    assert (body["judged"], body["passed_over"], body["seen_through"]) == (10, 3, "0:77")


def test_what_users_do_weighs_the_rankers(learned_api):
    for n in range(60):
        learned_api.rate(f"u{n % 6}", f"i{n % 11}", 5)
    wait_until(lambda: learned_api("GET", "/v1/rankers").json()["judged"] > 0)
    body = learned_api("GET", "/v1/rankers").json()
    assert {one["name"] for one in body["rankers"]} == {"online", "popular", "trending"}
    assert sum(one["weight"] for one in body["rankers"]) == pytest.approx(1.0)


def test_an_unknown_parameter_is_refused(api):
    assert api("GET", "/v1/rankers?x=1").status_code == 422
