"""What is wrong is found, and said with what to do."""

import pytest

from service.served_models import Fault
from service.serving.alarms import Alarm, of_faults, of_losses, of_partition
from service.store.clock import now_ms
from service.store.connection import Client
from service.store.identity.known import Positions
from service.store.keys import NamespaceKeys, PartitionKeys
from service.store.recovery.healing import Rollback
from service.store.server.inspection import PartitionReport
from tests.api import Api, learning
from tests.server import wait_until

DAY_MS = 86_400_000


def codes(alarms: list[Alarm]) -> list[str]:
    return [one.code for one in alarms]


def shown(api: Api) -> list[str]:
    answer = api("GET", "/v1/alarms")
    assert answer.status_code == 200, answer.text
    return [one["code"] for one in answer.json()["items"]]


def test_roles_that_are_missing_are_alarms_until_they_are_there(
    client: Client, api: Api, redis_url: str
) -> None:
    api.ready()
    assert shown(api)[:2] == ["no_learner", "no_trainer"]
    client.set(NamespaceKeys(api.settings.namespace).trainer, "elsewhere:1:0")
    with learning(api.settings, redis_url):
        wait_until(lambda: not {"no_learner", "no_trainer"} & set(shown(api)))


def test_entries_that_could_not_be_learned_are_an_alarm(client: Client, api: Api) -> None:
    api.ready()
    keys = PartitionKeys(api.settings.namespace, 0)
    client.xadd(keys.dead, {"f": 1, "r": "damaged", "d": b"x"}, id="3-0")
    assert "dead_letters" in shown(api)


def test_a_training_that_failed_is_an_alarm_until_another_is_ordered(
    client: Client, api: Api
) -> None:
    api.ready()
    client.set(NamespaceKeys(api.settings.namespace).trainer, "elsewhere:1:0")
    order = {"model": "fbgd"}
    job = api("POST", "/v1/retrain", json=order).json()["id"]
    assert api.runtime.jobs.records.fail(job, "there is too little to learn from")
    alarms = api("GET", "/v1/alarms").json()["items"]
    [failed] = [one for one in alarms if one["code"] == "training_failed"]
    assert failed["mend"] == "retrain"
    assert failed["detail"] == "there is too little to learn from"
    api("POST", "/v1/retrain", json=order)
    assert "training_failed" not in shown(api)


@pytest.mark.parametrize(("lag_ms", "dead", "expected"), [(5_000, 0, []), (5_001, 2, None)])
def test_a_partition_may_be_a_little_behind(
    lag_ms: int, dead: int, expected: list[str] | None
) -> None:
    report = PartitionReport(1, 10, 7, 0, None, dead)
    found = of_partition(report, lag_ms)
    assert codes(found) == (["learning_behind", "dead_letters"] if expected is None else expected)
    assert {one.about for one in found} <= {"partition 1"}


def test_a_model_that_cannot_be_loaded_names_its_family() -> None:
    [alarm] = of_faults({"fbgd": Fault("4f2a", "its arrays are cut.")})
    assert (alarm.about, alarm.mend, alarm.severity) == ("fbgd", "roll_back", "error")


def test_only_the_last_loss_is_an_alarm_and_not_for_ever() -> None:
    def rollback(days: int, era: int) -> Rollback:
        return Rollback(now_ms() - days * DAY_MS, era, Positions((9,), 1), Positions((7,), 1))

    [alarm] = of_losses([rollback(1, 2), rollback(90, 1)])
    assert (alarm.code, alarm.about) == ("events_lost", "era 2")
    assert of_losses([rollback(90, 1)]) == []
    assert of_losses([]) == []
