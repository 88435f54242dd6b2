"""When it is time to retrain."""

import json
import threading

import pytest
from pydantic import ValidationError

from service.errors import InvalidSchedule, VersionConflict
from service.settings import Settings
from service.store.clock import now_ms
from service.store.jobs import growth
from service.store.jobs.drift import FEWEST_POINTS
from service.store.jobs.schedule import Schedule, Schedules
from service.store.keys import NamespaceKeys, PartitionKeys

HOUR_MS = 3_600_000


@pytest.fixture
def plan(client, namespace):
    return Schedules(client, Settings(namespace=namespace, partitions=2, retrain_pause_s=0))


def learned(client, namespace, *watermarks):
    for partition, watermark in enumerate(watermarks):
        client.hset(PartitionKeys(namespace, partition).state, "watermark", watermark)


def last_began(client, namespace, events=0, ago_ms=0):
    stored = {"watermark.0": events, "at_ms": now_ms() - ago_ms}
    client.hset(NamespaceKeys(namespace).last_retrain, mapping=stored)


def errors(client, namespace, losses):
    """Add points to the experts' history, a thousand events apart."""
    keys = PartitionKeys(namespace, 0)
    for at, loss in enumerate(losses, client.xlen(keys.expert_history) + 1):
        point = {"experts": [{"recent_loss": loss}, {"recent_loss": 2 * loss}]}
        client.xadd(keys.expert_history, {"d": json.dumps(point)}, id=f"{1000 * at}-0")
        learned(client, namespace, 1000 * at)


def began_now(plan, model=None):
    """Record a successful training of all events learned so far."""
    last = plan.last()
    learned = [plan.new_events(last) + last.events, 0]
    return plan.trained(model, now_ms(), learned)


def users(client, namespace, n):
    client.zadd(PartitionKeys(namespace, 1).users, {f"u{at}": 0 for at in range(n)})


def changed_before(client, namespace, schedule, ago_ms):
    """Put a schedule as if it had been changed some time ago."""
    stored = vars(schedule) | {"version": 1, "changed_ms": now_ms() - ago_ms}
    client.set(NamespaceKeys(namespace).schedule, json.dumps(stored))


def test_without_conditions_it_is_never_time(plan, client, namespace):
    plan.replace(Schedule(), "ada")
    learned(client, namespace, 10**9)
    assert plan.due() is None


def test_new_events_of_all_partitions_count(plan, client, namespace):
    plan.replace(Schedule(after_events=100), "ada")
    last_began(client, namespace, events=50)
    learned(client, namespace, 100, 49)
    assert plan.due() is None
    learned(client, namespace, 100, 50)
    assert plan.due() == "events"
    assert began_now(plan)
    assert (plan.last().events, plan.new_events(plan.last())) == (150, 0)
    assert plan.due() is None


def looks(plan, client, namespace, end):
    """Return what is due after events up to ``end``, at once and after a quiet time."""
    client.set(PartitionKeys(namespace, 0).sequence, end)
    first = plan.due()
    threading.Event().wait(growth.QUIET_MS / 1000 + 0.05)
    return first, plan.due()


def test_the_first_training_starts_as_soon_as_no_more_events_come(plan, client, namespace):
    users(client, namespace, growth.FEWEST_USERS)
    learned(client, namespace, growth.FIRST, 0)
    assert looks(plan, client, namespace, growth.FIRST) == (None, "events")
    # the learner is not yet as far as the log
    plan.due()
    assert looks(plan, client, namespace, growth.FIRST + 1) == (None, None)
    learned(client, namespace, growth.FIRST + 1, 0)
    assert plan.due() == "events"


def test_there_is_nothing_to_train_on_before(plan, client, namespace):
    users(client, namespace, growth.FEWEST_USERS)
    learned(client, namespace, growth.FIRST - 1, 0)
    assert not plan.is_urgent(plan.current(), plan.last())
    learned(client, namespace, growth.FIRST, 0)
    assert plan.is_urgent(plan.current(), plan.last())
    client.delete(PartitionKeys(namespace, 1).users)
    assert not plan.is_urgent(plan.current(), plan.last())


def test_a_rush_that_does_not_end_is_waited_for_only_so_long():
    rush = growth.Rush()
    found = [rush.is_over(end=n, learned=n, now_ms=1_000 * n) for n in range(62)]
    assert found.index(True) == growth.PATIENCE_MS // 1_000
    rush.forget()
    assert not rush.is_over(end=62, learned=62, now_ms=62_000)
    assert not rush.is_over(end=62, learned=61, now_ms=64_000)
    assert rush.is_over(end=62, learned=62, now_ms=64_000)


def test_neither_a_restart_nor_a_pause_postpones_the_first_training(client, namespace):
    plan = Schedules(client, Settings(namespace=namespace, retrain_pause_s=1_800))
    client.zadd(PartitionKeys(namespace, 0).users, {"ada": 0, "bob": 0})
    learned(client, namespace, 100)
    for _ in range(2):
        plan.trainer_came()
        assert plan.is_urgent(plan.current(), plan.last())
    assert plan.not_before_ms(plan.last()) == 0


def test_what_somebody_else_trained_is_no_reason_to_hurry(client, namespace):
    plan = Schedules(client, Settings(namespace=namespace))
    client.zadd(PartitionKeys(namespace, 0).users, {"ada": 0, "bob": 0})
    learned(client, namespace, 100)
    client.hset(NamespaceKeys(namespace).active_models, "fbgd", "4f2a")
    plan.trainer_came()
    assert not plan.is_urgent(plan.current(), plan.last())
    assert plan.due() is None
    client.hset(NamespaceKeys(namespace).last_retrain, "trainer_ms", now_ms() - HOUR_MS)
    assert plan.due() == "events"


def test_no_pause_holds_while_the_log_outgrows_what_was_trained(client, namespace):
    plan = Schedules(client, Settings(namespace=namespace, retrain_pause_s=1_800))
    client.zadd(PartitionKeys(namespace, 0).users, {"ada": 0, "bob": 0})
    learned(client, namespace, 10_000)
    plan.trained(None, now_ms(), [10_000])
    learned(client, namespace, 14_999)
    assert (plan.is_urgent(plan.current(), plan.last()), plan.due()) == (False, None)
    learned(client, namespace, 15_000)
    assert plan.is_urgent(plan.current(), plan.last())
    plan.ordered()
    assert not plan.is_urgent(plan.current(), plan.last())
    learned(client, namespace, 22_500)
    assert plan.is_urgent(plan.current(), plan.last())


def test_first_orders_that_come_to_nothing_are_repeated_soon_and_then_less_often(client, namespace):
    plan = Schedules(client, Settings(namespace=namespace, retrain_pause_s=1_800))
    pauses = []
    for _ in range(20):
        plan.ordered()
        last = plan.last()
        pauses.append((plan.not_before_ms(last) - last.tried_ms) // 1_000)
    assert (pauses[:4], pauses[-1]) == ([10, 20, 40, 80], 1_800 * 128)


def test_growth_is_no_condition_where_somebody_set_one_or_none(client, namespace):
    never = Schedules(client, Settings(namespace=namespace, retrain_after_events=0))
    usual = Schedules(client, Settings(namespace=namespace))
    found = [plan.after_events(plan.current(), plan.last()) for plan in (never, usual)]
    assert found == [None, growth.FIRST]
    usual.replace(Schedule(cron="0 4 * * *"), "ada")
    assert usual.after_events(usual.current(), usual.last()) is None
    usual.reset("ada")
    assert usual.after_events(usual.current(), usual.last()) == growth.FIRST


def test_a_failed_training_changes_nothing_but_the_pause(client, namespace):
    plan = Schedules(client, Settings(namespace=namespace, retrain_after_events=100))
    learned(client, namespace, 100)
    client.hset(NamespaceKeys(namespace).active_models, "fbgd", "4f2a")
    pauses = []
    for _ in range(3):
        plan.ordered()
        last = plan.last()
        assert (last.at_ms, last.events) == (0, 0)
        pauses.append((plan.not_before_ms(last) - last.tried_ms) // 1_000)
    assert pauses == [600, 1_200, 2_400]
    client.hset(NamespaceKeys(namespace).last_retrain, "tried_ms", now_ms() - HOUR_MS)
    assert plan.due() == "events"
    plan.ordered()
    plan.replace(Schedule(after_events=50), "ada")
    last = plan.last()
    assert plan.not_before_ms(last) - last.tried_ms == 600_000


def test_without_a_pause_failed_trainings_still_wait_longer_and_longer(plan, client, namespace):
    client.hset(NamespaceKeys(namespace).active_models, "fbgd", "4f2a")
    pauses = []
    for _ in range(12):
        plan.ordered()
        last = plan.last()
        pauses.append((plan.not_before_ms(last) - last.tried_ms) // 1_000)
    assert pauses == [0, 120, 240, 480, 960, 1_920, 3_840, *[7_680] * 5]


def test_a_night_that_came_to_nothing_is_made_up_for(plan, client, namespace):
    changed_before(client, namespace, Schedule(cron="0 * * * *"), ago_ms=3 * HOUR_MS)
    last_began(client, namespace, ago_ms=2 * HOUR_MS)
    plan.ordered()
    assert plan.due() == "cron"
    began_now(plan)
    assert plan.due() is None


def test_the_very_first_night_is_made_up_for_after_a_restart(client, namespace):
    chosen = Settings(namespace=namespace, retrain_cron="0 * * * *", retrain_pause_s=0)
    plan = Schedules(client, chosen)
    plan.trainer_came()
    client.hset(NamespaceKeys(namespace).last_retrain, "first_ms", now_ms() - 2 * HOUR_MS)
    plan.ordered()
    plan.trainer_came()
    assert plan.due() == "cron"


def test_a_training_of_another_model_does_not_count(plan, client, namespace):
    learned(client, namespace, 500)
    assert not began_now(plan, model="exmlds")
    assert plan.last().events == 0


def test_nothing_is_due_within_the_pause(client, namespace):
    plan = Schedules(client, Settings(namespace=namespace, retrain_pause_s=1_800))
    plan.replace(Schedule(after_events=1), "ada")
    learned(client, namespace, 5)
    assert (plan.not_before_ms(plan.last()), plan.due()) == (0, "events")
    last_began(client, namespace, ago_ms=HOUR_MS)
    assert plan.due() == "events"
    plan.trainer_came()
    assert plan.due() is None
    last = plan.last()
    assert plan.not_before_ms(last) == last.trainer_ms + HOUR_MS // 2 > now_ms()
    client.hset(NamespaceKeys(namespace).last_retrain, "trainer_ms", now_ms() - HOUR_MS)
    assert plan.due() == "events"
    began_now(plan)
    learned(client, namespace, 50)
    assert plan.due() is None


def test_cron_is_due_once_after_each_of_its_moments(plan, client, namespace):
    hourly = Schedule(cron="0 * * * *")
    changed_before(client, namespace, hourly, ago_ms=3 * HOUR_MS)
    assert plan.due() == "cron"
    last_began(client, namespace, ago_ms=2 * HOUR_MS)
    assert plan.due() == "cron"
    began_now(plan)
    assert plan.due() is None


def test_a_cron_that_was_just_set_waits_for_its_next_moment(plan):
    plan.replace(Schedule(cron="0 0 1 1 *"), "ada")
    assert plan.due() is None


def test_a_cron_of_the_settings_waits_for_its_next_moment_on_the_first_day(client, namespace):
    chosen = Settings(namespace=namespace, retrain_cron="0 0 1 1 *", retrain_pause_s=0)
    plan = Schedules(client, chosen)
    plan.trainer_came()
    assert plan.due() is None
    # after a first training, a missed one is caught up on
    last_began(client, namespace, ago_ms=400 * 24 * HOUR_MS)
    assert plan.due() == "cron"


def test_drift_is_a_recent_error_above_the_usual_one(plan, client, namespace):
    plan.replace(Schedule(drift=1.1), "ada")
    errors(client, namespace, [0.2] * 19)
    assert (plan.drift(), plan.due()) == (1.0, None)
    errors(client, namespace, [0.23])
    assert plan.drift() == pytest.approx(1.15)
    assert plan.due() == "drift"


def test_one_drift_starts_one_training(plan, client, namespace):
    plan.replace(Schedule(drift=1.1), "ada")
    errors(client, namespace, [0.2] * 40 + [0.3])
    assert plan.due() == "drift"
    began_now(plan)
    found = []
    for error in (0.3, 0.31, 0.29, 0.3, 0.32) * 8:
        errors(client, namespace, [error])
        found.append(plan.due())
    assert set(found) == {None}


@pytest.mark.parametrize("between", [[], [0.2] * 40])
def test_the_next_drift_starts_the_next_training(plan, client, namespace, between):
    plan.replace(Schedule(drift=1.1), "ada")
    errors(client, namespace, [0.2] * 40 + [0.3])
    began_now(plan)
    errors(client, namespace, [0.3] * 5 + between)
    assert plan.due() is None
    errors(client, namespace, [0.3 if between else 0.4])
    assert plan.due() == "drift"


def test_a_young_history_of_errors_is_no_drift(plan, client, namespace):
    plan.replace(Schedule(drift=1.1), "ada")
    errors(client, namespace, [0.1] * (FEWEST_POINTS - 2) + [0.9])
    assert plan.due() is None


def test_the_schedule_is_what_the_settings_say_until_somebody_sets_it(client, namespace):
    chosen = Settings(namespace=namespace, retrain_cron="5 4 * * *", retrain_on_drift=1.2)
    plan = Schedules(client, chosen)
    assert plan.current() == Schedule("5 4 * * *", None, True, 1.2, of_settings=True)
    new = plan.replace(Schedule(model="ocmf-sq-wsq", parameters={"factors": 8}), "ada")
    assert plan.current() == new
    assert (new.version, new.who, new.of_settings) == (1, "ada", False)


def test_a_schedule_that_is_forgotten_leaves_its_version(client, namespace):
    plan = Schedules(client, Settings(namespace=namespace, retrain_after_events=7))
    plan.replace(Schedule(after_events=5), "ada")
    plan.reset("bob")
    # the present settings count, not those of that time
    later = Schedules(client, Settings(namespace=namespace, retrain_after_events=8))
    found = later.current()
    assert (found.after_events, found.of_settings) == (8, True)
    assert (found.version, found.who) == (2, "bob")
    with pytest.raises(VersionConflict):
        later.replace(Schedule(), "eve", expected=0)
    assert later.replace(Schedule(), "eve", expected=2).version == 3


def test_the_second_change_of_one_version_is_refused(plan):
    plan.replace(Schedule(after_events=5), "ada", expected=0)
    with pytest.raises(VersionConflict, match="at version 1"):
        plan.replace(Schedule(after_events=6), "bob", expected=0)
    assert plan.replace(Schedule(), "bob").version == 2


@pytest.mark.parametrize(
    "wrong",
    [
        Schedule(cron="daily"),
        Schedule(cron="* * * * * *"),
        Schedule(cron="0 25 * * *"),
        Schedule(cron="0 0 30 2 *"),
        Schedule(cron="R * * * *"),
        Schedule(cron="0 r(1-5) * * *"),
        Schedule(cron=""),
        Schedule(after_events=0),
        Schedule(drift=1.0),
        Schedule(drift=float("nan")),
    ],
)
def test_conditions_that_cannot_be_read_are_refused(plan, wrong):
    with pytest.raises(InvalidSchedule):
        plan.replace(wrong, "ada")


def test_a_wrong_schedule_of_the_settings_is_refused_with_what_it_should_look_like():
    with pytest.raises(ValidationError, match="five fields, minute hour day month weekday"):
        Settings(retrain_cron="daily")
