import pytest

from service.ranking.families import FAMILIES
from service.settings import Settings
from service.store.keys import PartitionKeys
from service.store.models.mixture import (
    ArmRecord,
    LengthRecord,
    MixtureRecord,
    RankerRecord,
    StackRecord,
    write_mixture,
)
from service.store.models.registry import Registry
from tests.api import Api
from tests.models import activated
from tests.server import wait_until


def ranker(weight, judged, mrr, version="v"):
    return RankerRecord(weight, version, judged, mrr, 2 * mrr)


def test_before_the_first_judgement_there_is_nothing_to_compare(api):
    answer = api("GET", "/v1/rankers")
    assert answer.status_code == 200
    body = answer.json()
    assert body.pop("reason").startswith("no positive was judged yet")
    assert body == {
        "rankers": [],
        "mixture": None,
        "by_length": [],
        "arms": [],
        "stack": None,
        "judged": 0,
        "passed_over": 0,
        "seen_through": "0:0",
    }


def test_rankers_come_by_weight_with_what_they_foresaw(api, client):
    version = "4f2a" * 16
    rankers = {"popular": ranker(0.2, 10, 0.1, "popular"), "fbgd": ranker(0.8, 10, 0.3, version)}
    by_length = {
        20: LengthRecord(6, {"popular": 0.1, "fbgd": 0.9}),
        0: LengthRecord(4, {"popular": 0.7, "fbgd": 0.3}),
    }
    record = MixtureRecord(77, 10, 3, rankers, ranker(1.0, 10, 0.35, ""), by_length)
    write_mixture(client, PartitionKeys(api.settings.namespace, 0), record)
    body = api("GET", "/v1/rankers").json()
    assert [one["name"] for one in body["rankers"]] == ["fbgd", "popular"]
    assert body["rankers"][0] == {
        "name": "fbgd",
        "title": "Matrix factorisation",
        "about": FAMILIES["fbgd"].about,
        "weight": 0.8,
        "model_version": version,
        "short_version": version[:12],
        "judged": 10,
        "mrr": pytest.approx(0.3),
        "ndcg_at_10": pytest.approx(0.6),
    }
    assert body["mixture"]["mrr"] == pytest.approx(0.35)
    assert body["by_length"] == [
        {
            "preferences_from": 0,
            "preferences_to": 4,
            "judged": 4,
            "weights": [{"name": "popular", "weight": 0.7}, {"name": "fbgd", "weight": 0.3}],
        },
        {
            "preferences_from": 20,
            "preferences_to": None,
            "judged": 6,
            "weights": [{"name": "fbgd", "weight": 0.9}, {"name": "popular", "weight": 0.1}],
        },
    ]
    assert body["reason"] is None
    assert (body["judged"], body["passed_over"], body["seen_through"]) == (10, 3, "0:77")


def test_the_arms_and_the_weights_of_the_stack_are_told_with_what_they_gain(api, client):
    stack = StackRecord(
        names=("fbgd: score", "history: seen", "popular: log score"),
        mean=(0.0, 0.0, 1.0),
        scale=(1.0, 0.0, 2.0),
        weights=((0.3, 0.1, 0.5), (0.0, 0.0, 0.0), (-0.7, 0.2, -0.1)),
        length=(2.0, 1.0),
        events=90,
        added={"popular": 0.01, "fbgd": 0.05},
    )
    arms = {
        "fusion": ArmRecord(0.2, 400, 0.1, 0.12, 0.03, 0.0409),
        "stack": ArmRecord(0.8, 300, 0.2, 0.15, 0.0, 0.0),
    }
    record = MixtureRecord(77, 400, 0, {"fbgd": ranker(1.0, 9, 0.1)}, stack=stack, arms=arms)
    write_mixture(client, PartitionKeys(api.settings.namespace, 0), record)
    body = api("GET", "/v1/rankers").json()
    assert [(one["name"], one["judged"]) for one in body["arms"]] == [
        ("stack", 300),
        ("fusion", 400),
    ]
    lead = body["arms"][1]["served_lead"]
    # 1.96 standard errors of 400 differences with the standard deviation .2
    assert lead == pytest.approx({"mean": 0.03, "low": 0.0104, "high": 0.0496})
    assert body["stack"] == {
        "partition": 0,
        "events": 90,
        "weights": [
            {"signal": "popular: log score", "weight": -0.7, "by_length": 0.2, "short": -0.1},
            {"signal": "fbgd: score", "weight": 0.3, "by_length": 0.1, "short": 0.5},
        ],
        "added": [
            {"name": "fbgd", "ndcg_at_10": 0.05},
            {"name": "popular", "ndcg_at_10": 0.01},
        ],
    }


def test_the_follower_of_a_partition_that_is_gone_has_no_say_in_what_serves_now(
    client, redis_url, namespace, tmp_path
):
    settings = Settings(namespace=namespace, data_dir=tmp_path, partitions=2)
    registry = Registry(client, namespace)
    versions = [activated(registry, seed=seed).version for seed in (1, 2)]
    before, now = (
        MixtureRecord(
            watermark,
            judged,
            0,
            {
                "fbgd": ranker(own, judged, 0.3, version),
                "popular": ranker(1 - own, 50, 0.1, "popular"),
            },
            by_length={0: LengthRecord(judged, {"fbgd": own, "popular": 1 - own})},
        )
        for watermark, judged, own, version in (
            (5, 900, 0.1, versions[0]),
            (7, 2, 0.8, versions[1]),
        )
    )
    for partition, record in enumerate((now, before)):
        write_mixture(client, PartitionKeys(namespace, partition), record)
    with Api(settings, redis_url) as api:
        api.follow_models()
        api.run(api.runtime.mixture_weights.refresh())
        assert api.runtime.mixture_weights.current == now.weights
        body = api("GET", "/v1/rankers").json()
    fbgd = body["rankers"][0]
    assert (fbgd["weight"], fbgd["model_version"], fbgd["judged"]) == (0.8, versions[1], 2)
    assert [one["judged"] for one in body["by_length"]] == [2]
    assert (body["judged"], body["seen_through"]) == (902, "0:7,1:5")


def test_rankers_that_were_not_judged_have_no_figures(api, client):
    rankers = {"popular": ranker(0.2, 3, 0.1, "popular"), "fbgd": ranker(0.8, 0, 0.0, "4f2a")}
    record = MixtureRecord(77, 3, 0, rankers, ranker(1.0, 3, 0.1, ""))
    write_mixture(client, PartitionKeys(api.settings.namespace, 0), record)
    fbgd, popular = api("GET", "/v1/rankers").json()["rankers"]
    assert (fbgd["judged"], fbgd["mrr"], fbgd["ndcg_at_10"]) == (0, None, None)
    assert popular["mrr"] == pytest.approx(0.1)


def test_an_import_that_only_passed_by_says_why_there_are_no_figures(api, client):
    rankers = {"popular": ranker(1.0, 0, 0.0, "popular")}
    record = MixtureRecord(0, 0, 5246, rankers)
    write_mixture(client, PartitionKeys(api.settings.namespace, 0), record)
    body = api("GET", "/v1/rankers").json()
    assert (body["judged"], body["passed_over"], body["by_length"]) == (0, 5246, [])
    assert "of an import" in body["reason"]


def test_rankers_are_weighted_by_users_events(learned_api):
    for n in range(60):
        learned_api.rate(f"u{n % 6}", f"i{n % 11}", 5)
    wait_until(lambda: learned_api("GET", "/v1/rankers").json()["judged"] > 0)
    body = learned_api("GET", "/v1/rankers").json()
    assert {one["name"] for one in body["rankers"]} == {"next", "online", "popular", "trending"}
    assert sum(one["weight"] for one in body["rankers"]) == pytest.approx(1.0)


def test_an_unknown_parameter_is_refused(api):
    assert api("GET", "/v1/rankers?x=1").status_code == 422
