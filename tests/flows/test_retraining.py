"""Trainings by a real trainer and its forked processes: how they end, and which model serves."""

import contextlib
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from core.batch.snapshot import encoders_of, users_of
from core.snapshot import mapped
from service.ranking.families import FAMILIES
from service.store.jobs.job import TrainingOrder
from service.store.jobs.schedule import Schedule, Schedules
from service.store.keys import NamespaceKeys
from service.training.orders import family_of
from tests.flows.roles import Role
from tests.flows.shop import shop
from tests.forged_jobs import forge
from tests.histories import START_MS, Record, store_histories, world
from tests.proxy import LossyProxy
from tests.server import wait_until

pytestmark = pytest.mark.flow

STAGES = ("reading", "searching", "fitting", "judging", "refining", "publishing", "promoting")
QUICK = {"factors": 8, "epochs": 4}
WORSE = {"factors": 1, "epochs": 1, "reg": 1e5, "alpha0": 1e4}


def test_a_training_ends_in_a_model_that_serves(room, redis_url, namespace):
    with shop(room, redis_url, namespace, world()) as here:
        job = here.trained(budget_s=1.0)
        assert (job.status, job.progress, job.error) == ("succeeded", 1.0, None)
        assert job.decision["outcome"] == "promoted"
        assert here.serving == {"fbgd": job.version}
        assert job.metrics["judges"] >= 200
        assert job.metrics["ndcg@10"] > 1.5 * job.metrics["popular"]["ndcg@10"]
        record = here.registry.record(str(job.version))
        assert (record.job, record.model, record.decision) == (job.id, "fbgd", job.decision)
        assert record.cuts["trained_through"] == {"0": 300 * 25}
        assert record.cuts["held_out_after_ms"] < record.cuts["trained_until_ms"]
        assert record.metrics["ndcg@10"] == job.metrics["ndcg@10"]
        assert record.metrics["lead"] == job.metrics["lead"] > 0
        [change] = here.registry.changes(10)
        assert (change.who, change.version) == ("a test", job.version)


@pytest.mark.slow
def test_an_unchanged_world_never_locks_the_gate(room, redis_url, namespace):
    with shop(room, redis_url, namespace, world()) as here:
        reasons = []
        for order in (QUICK, QUICK, {"budget_s": 0.5}, {"budget_s": 0.5}):
            job = here.trained(**order)
            assert (job.status, job.decision["outcome"]) == ("succeeded", "promoted")
            assert here.serving == {"fbgd": job.version}
            reasons.append(job.decision["reason"])
        assert reasons[1] == "the same model serves already"


def test_a_worse_candidate_is_refused_and_kept(room, redis_url, namespace):
    with shop(room, redis_url, namespace, world()) as here:
        good = here.trained(**QUICK)
        worse = here.trained(**WORSE)
        assert worse.status == "succeeded"
        assert worse.decision["outcome"] == "refused"
        assert worse.decision["difference"]["high"] < 0
        assert worse.metrics["rival"]["ndcg@10"] > worse.metrics["ndcg@10"]
        assert here.serving == {"fbgd": good.version}
        kept = {record.version: record.decision["outcome"] for record in here.registry.records()}
        assert kept == {good.version: "promoted", worse.version: "refused"}


def test_a_pinned_version_is_not_replaced(room, redis_url, namespace):
    with shop(room, redis_url, namespace, world()) as here:
        first = here.trained(**QUICK)
        here.registry.pin(first.version, "a test", "")
        second = here.trained(factors=8, epochs=6)
        assert second.decision["outcome"] == "refused"
        assert "is pinned" in second.decision["reason"]
        assert here.serving == {"fbgd": first.version}


@pytest.mark.slow
def test_the_served_model_itself_is_compared_when_enough_is_new(room, redis_url, namespace):
    with shop(room, redis_url, namespace, world()) as here:
        first = here.trained(**QUICK)
        later = world(seed=1, items=200, each=8, start_ms=1_763_000_000_000 + 40 * 86_400_000)
        store_histories(here.client, here.settings, later)
        second = here.trained(**WORSE)
        cuts = here.registry.record(str(second.version)).cuts
        assert cuts["held_out_after_ms"] >= cuts["trained_until_ms"] - 2 * 86_400_000
        assert (second.decision["outcome"], here.serving["fbgd"]) == ("refused", first.version)
        third = here.trained(**QUICK)
        assert third.decision["outcome"] == "promoted"


def test_a_damaged_model_does_not_block_the_next(room, redis_url, namespace):
    with shop(room, redis_url, namespace, world()) as here:
        first = here.trained(**QUICK)
        later = world(seed=1, items=200, each=8, start_ms=1_763_000_000_000 + 40 * 86_400_000)
        store_histories(here.client, here.settings, later)
        keys = NamespaceKeys(namespace)
        upload = here.client.hget(keys.model(str(first.version)), "upload").decode()
        assert here.client.delete(keys.model_chunk(upload, 0)) == 1
        second = here.trained(**QUICK)
        assert (second.status, second.decision["outcome"]) == ("succeeded", "promoted")
        assert here.serving["fbgd"] == second.version != first.version


OTHERS = [
    recipe
    for family in FAMILIES.values()
    for recipe in family.recipes
    # the items of this world have no documents
    if family.reads_history and not family.reads_item_features and family.strategy != "fbgd"
]


@pytest.mark.parametrize("recipe", OTHERS, ids=lambda recipe: recipe.name)
def test_each_strategy_has_a_model_of_its_own(room, redis_url, namespace, recipe):
    small = {name: n for name, n in {"factors": 8, "rounds": 3}.items() if name in recipe.names}
    with shop(room, redis_url, namespace, world(users=220), partitions=2) as here:
        fbgd = here.trained(**QUICK)
        other = here.trained(model=recipe.name, **small)
        assert other.status == "succeeded", other.error
        assert here.serving == {
            "fbgd": fbgd.version,
            family_of(recipe.name).strategy: other.version,
        }
        assert other.metrics["ndcg@10"] > other.metrics["popular"]["ndcg@10"]


def test_users_without_a_history_are_ranked_by_their_features(room, redis_url, namespace):
    with shop(room, redis_url, namespace, world()) as here:
        keys = NamespaceKeys(namespace)
        for n in range(300):
            body = {"version": 1, "features": {"taste": f"t{n % 4}"}, "links": []}
            here.client.set(keys.user_document(f"u{n:04d}"), json.dumps(body))
        job = here.trained(model="ocmf-sq-wsq", factors=8, rounds=4)
        assert job.status == "succeeded", job.error
        snapshot = mapped(
            here.registry.manifest(job.version), b"".join(here.registry.chunks(job.version))
        )
        users, (encoder, _) = users_of(snapshot), encoders_of(snapshot)
        vectors = users.feature_vectors(encoder.transform([{"taste": f"t{n}"} for n in range(4)]))
        best = (vectors @ users.row.item_factors.T).argsort(axis=1)[:, -5:]
        assert (best % 4 == np.arange(4)[:, None]).mean() > 0.8


@pytest.mark.slow
def test_feedback_that_arrived_user_by_user_has_a_hold_out(room, redis_url, namespace):
    events = sorted(world(), key=lambda record: record.user)
    events = [replace(record, time_ms=START_MS + n) for n, record in enumerate(events)]
    with shop(room, redis_url, namespace, events) as here:
        good, worse = here.trained(**QUICK), here.trained(**WORSE)
        assert good.metrics["judges"] == 300
        assert good.metrics["ndcg@10"] > good.metrics["popular"]["ndcg@10"]
        assert worse.decision["outcome"] == "refused"
        cuts = here.registry.record(str(good.version)).cuts
        assert (cuts["held_out"], cuts["held_out_after_ms"]) == ("the latest of each user", None)
        assert here.serving == {"fbgd": good.version}


def test_with_few_users_the_better_model_serves(room, redis_url, namespace):
    with shop(room, redis_url, namespace, world(users=40)) as here:
        first, better, worse = (here.trained(**one) for one in (WORSE, QUICK, WORSE))
        assert first.decision["outcome"] == "promoted"
        few = "no other model of its strategy serves yet; only 40 users can judge"
        assert few in first.decision["reason"]
        assert {first.metrics[name] for name in ("judges", "splits", "held_out")} == {
            40,
            5,
            "the latest of each user",
        }
        assert abs(first.metrics["lead"]) < 0.2
        assert (better.decision["outcome"], worse.decision["outcome"]) == ("promoted", "refused")
        for job in (better, worse):
            says = "only 40 users can judge, fewer than 200: the mean decides"
            assert says in job.decision["reason"]
        assert here.serving == {"fbgd": better.version}
        assert worse.version in {record.version for record in here.registry.records()}


def test_with_nobody_to_judge_the_order_may_let_a_second_model_serve(room, redis_url, namespace):
    alone = [Record(f"u{n}", n % 3) for n in range(30)]
    with shop(room, redis_url, namespace, alone) as here:
        first, second = here.trained(**QUICK), here.trained(factors=9, epochs=4)
        assert "nobody can judge" in first.decision["reason"]
        assert "lead" not in first.metrics
        assert second.decision["outcome"] == "not_judged"
        assert "promote it by hand if you want it to serve" in second.decision["reason"]
        assert here.serving == {"fbgd": first.version}
        third = here.jobs.submit(
            TrainingOrder(
                "fbgd", WORSE, budget_s=0, who="a test", why="order", promote_unjudged=True
            )
        )
        let = here.ended(third).decision
        assert let["outcome"] == "promoted"
        assert let["reason"].endswith("the order allows it to serve all the same")
        assert "promote it" not in let["reason"]


def test_without_feedback_a_training_fails_and_says_what_to_do(room, redis_url, namespace):
    events = [Record("ada", 0, value=1.0), Record("bob", 1, value=3.0)]
    with shop(room, redis_url, namespace, events) as here:
        job = here.trained()
        assert (job.status, job.version) == ("failed", None)
        assert "no positive feedback" in str(job.error)
        assert "POST /v1/events" in str(job.error)


@pytest.mark.parametrize("events", [[Record("ada", 0)], [Record("ada", 0), Record("bob", 0)]])
def test_the_smallest_worlds_can_be_learned(room, redis_url, namespace, events):
    with shop(room, redis_url, namespace, events) as here:
        job = here.trained(budget_s=1.0)
        assert job.status == "succeeded", job.error
        assert here.serving == {"fbgd": job.version}


def test_a_crash_in_any_stage_leaves_the_served_model(room, redis_url, namespace):
    with shop(room, redis_url, namespace, world()) as here:
        first = here.trained(**QUICK)
        for stage in STAGES:
            dead = here.ended(here.ordered(budget_s=0.5, who=f"killed in {stage}"))
            assert (dead.status, dead.stage) == ("failed", stage)
            assert "SIGKILL" in str(dead.error)
            assert here.serving == {"fbgd": first.version}
        last = here.trained(factors=12, epochs=4)
        assert last.status == "succeeded"
        promoted = last.decision["outcome"] == "promoted"
        assert here.serving == {"fbgd": last.version if promoted else first.version}


def test_a_forged_record_runs_nothing_but_a_training(room, redis_url, namespace):
    with shop(room, redis_url, namespace, world()) as here:
        here.trainer.stop()
        job = here.ordered(**QUICK)
        forge(here.client, job.id, room / "forged")
        here.trainer.start()
        assert here.ended(job).status == "succeeded"
        assert here.serving
        assert not (room / "forged").exists()


@contextmanager
def nobody_waited_for() -> Iterator[None]:
    """Let processes that are started now leave the waiting for their children to the system."""
    before = signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGCHLD, before)


def test_a_training_whose_process_is_gone_fails_even_if_nobody_could_wait_for_it(
    room, redis_url, namespace
):
    with shop(room, redis_url, namespace, world()) as here:
        here.trainer.stop()
        with nobody_waited_for():
            here.trainer.start()
        dead = here.ended(here.ordered(budget_s=0.5, who="killed in fitting"))
        assert (dead.status, dead.stage) == ("failed", "fitting")
        assert "its process is gone" in str(dead.error)
        job = here.ordered(budget_s=0.5, who="hangs in fitting")
        wait_until(lambda: here.jobs.records.record(job.id).stage == "fitting")
        here.trainer.stop()
        assert "the trainer was stopped" in str(here.ended(job).error)
        assert "TypeError" not in here.trainer.log


def test_a_job_fails_within_seconds_when_its_trainer_is_killed(room, redis_url, namespace):
    with shop(room, redis_url, namespace, world()) as here:
        job = here.ordered(budget_s=60.0)
        waiting = here.ordered(**QUICK)
        wait_until(lambda: here.jobs.records.record(job.id).stage == "searching")
        here.trainer.kill()
        dead = here.ended(job)
        assert dead.status == "failed"
        assert "searching" in str(dead.error)
        assert here.serving == {}
        here.trainer.start()
        assert here.ended(waiting).status == "succeeded"


@pytest.mark.slow
def test_a_server_that_restarts_costs_a_job_at_most(room, private_server, namespace):
    with shop(room, private_server.url, namespace, world()) as here:
        first = here.trained(**QUICK)
        job = here.ordered(budget_s=3.0)
        wait_until(lambda: here.jobs.records.record(job.id).stage == "searching")
        private_server.kill()
        private_server.start()

        def over() -> bool:
            # like the supervisor
            here.trainer.revive()
            return here.jobs.records.record(job.id).has_ended

        wait_until(over)
        ended = here.jobs.records.record(job.id)
        assert here.serving["fbgd"] == (ended.version or first.version)
        assert here.trained(**QUICK).status == "succeeded"


def test_an_outage_of_an_idle_trainer_is_logged_once(room, private_server, namespace):
    with shop(room, private_server.url, namespace, world()) as here:
        # the trainer waits for a job
        wait_until(lambda: any("b" in one["flags"] for one in here.client.client_list()))
        private_server.kill()
        wait_until(lambda: "store_unavailable" in here.trainer.log)
        private_server.start()
        wait_until(lambda: "store_answers" in here.trainer.log)
        assert here.trainer.log.count("store_unavailable") == 1
        assert "library_message" not in here.trainer.log
        assert here.trained(**QUICK).status == "succeeded"


@pytest.mark.parametrize(
    "away", [signal.SIGKILL, pytest.param(signal.SIGSTOP, marks=pytest.mark.slow)]
)
def test_an_idle_trainer_can_be_stopped_while_the_store_is_away(
    room, private_server, namespace, away
):
    with shop(room, private_server.url, namespace, world(users=30)) as here:
        wait_until(lambda: any("b" in one["flags"] for one in here.client.client_list()))
        os.kill(private_server.pid, away)
        try:
            wait_until(lambda: "store_unavailable" in here.trainer.log)
            here.trainer.send(signal.SIGTERM)
            assert here.trainer.wait(60) == 0
            assert "Traceback" not in here.trainer.log
        finally:
            os.kill(private_server.pid, signal.SIGCONT)


@pytest.mark.slow
def test_a_lost_reply_beside_a_running_job_costs_nothing(room, redis_url, namespace):
    lost: list[bytes] = []

    def loses(request: bytes) -> bool:
        # the trainer's own note, not that of the job's process, which is part of a transaction
        alone = request.startswith(b"*4\r\n$4\r\nHSET")
        if not lost and alone and b"current_job_working_time" in request:
            lost.append(request)
            return True
        return False

    proxy = LossyProxy(redis_url, room / "proxy.sock", loses)
    with contextlib.closing(proxy), shop(room, proxy.url, namespace, world()) as here:
        job = here.trained(budget_s=3.0)
        assert proxy.lost == 1
        assert (job.status, job.error) == ("succeeded", None)
        assert here.trainer.log.count("trainer_started") == 1


def test_a_trainer_that_is_stopped_ends_its_job_at_once(room, redis_url, namespace):
    with shop(room, redis_url, namespace, world()) as here:
        job = here.ordered(budget_s=60.0)
        wait_until(lambda: here.jobs.records.record(job.id).stage == "searching")
        here.trainer.send(signal.SIGTERM)
        assert here.trainer.wait() == 0
        assert "the trainer was stopped" in str(here.jobs.records.record(job.id).error)
        assert "warning" not in here.trainer.log


def test_a_job_that_lingers_after_its_end_is_logged_once_and_finishes(room, redis_url, namespace):
    """A look between the report of a job and the end of its process killed what was left of it."""
    with shop(room, redis_url, namespace, world()) as here:
        job = here.trained(**QUICK, who="lingers")
        wait_until(lambda: job.id in here.trainer.log and "training_ended" in here.trainer.log)
        assert here.trained(**QUICK).status == "succeeded"
        assert "training_given_up" not in here.trainer.log
        assert "training_died" not in here.trainer.log
        assert here.jobs.records.record(job.id).status == "succeeded"


def test_a_running_job_can_be_cancelled(room, redis_url, namespace):
    with shop(room, redis_url, namespace, world()) as here:
        job = here.ordered(budget_s=60.0)
        wait_until(lambda: here.jobs.records.record(job.id).stage == "searching")
        assert here.jobs.cancel(job.id, "ada").status == "cancelled"
        # its process has ended before the next job begins
        assert here.trained(**QUICK).status == "succeeded"
        cancelled = here.jobs.records.record(job.id)
        assert (cancelled.status, cancelled.error) == ("cancelled", "cancelled by ada")
        assert here.trainer.log.count("training_given_up") == 1
        assert "library_message" not in here.trainer.log


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux lists the children of a process")
def test_a_training_yields_to_others_as_soon_as_a_model_serves(room, redis_url, namespace):
    with shop(room, redis_url, namespace, world(), trainer_nice=7) as here:
        own = os.getpriority(os.PRIO_PROCESS, 0)
        assert niceness_of_a_training(here) == own
        assert here.trained(**QUICK).status == "succeeded"
        assert niceness_of_a_training(here) == min(own + 7, 19)


def niceness_of_a_training(here):
    job = here.ordered(**QUICK, who="hangs in fitting")
    wait_until(lambda: here.jobs.records.record(job.id).stage == "fitting")
    children = Path(f"/proc/{here.trainer.pid}/task/{here.trainer.pid}/children")
    [process] = map(int, children.read_text().split())
    niceness = os.getpriority(os.PRIO_PROCESS, process)
    here.jobs.cancel(job.id, "ada")
    return niceness


def test_a_model_that_is_cancelled_while_it_is_published_is_never_seen(room, redis_url, namespace):
    with shop(room, redis_url, namespace, world()) as here:
        job = here.ordered(**QUICK, who="hangs in publishing")
        wait_until(lambda: here.jobs.records.record(job.id).stage == "publishing")
        assert here.jobs.cancel(job.id, "ada").status == "cancelled"
        done = here.trained(**QUICK)
        assert [record.job for record in here.registry.records()] == [done.id]
        assert here.serving == {"fbgd": done.version}
        assert here.jobs.records.record(job.id).status == "cancelled"


def test_a_second_trainer_waits_for_the_first(room, redis_url, namespace):
    with shop(room, redis_url, namespace, world(users=20)) as here:
        wait_until(lambda: here.client.exists(NamespaceKeys(namespace).trainer))
        with Role(room, "second", here.settings, "trainer") as second:
            assert here.trained(**QUICK).status == "succeeded"
            assert "training_started" not in second.log
            here.trainer.kill()
            assert here.trained(**QUICK).status == "succeeded"
            assert "training_started" in second.log


def test_new_events_start_a_training(room, redis_url, namespace):
    with shop(room, redis_url, namespace, world(users=30), retrain_pause_s=0) as here:
        schedule = Schedule(after_events=100, parameters=QUICK, budget_s=0.0)
        Schedules(here.client, here.settings).replace(schedule, "a test")
        wait_until(lambda: any(record.has_ended for record in here.jobs.records.records()))
        [job] = here.jobs.records.records()
        assert (job.status, job.who, job.why) == ("succeeded", "schedule", "events")
        assert Schedules(here.client, here.settings).last().events == 30 * 25


def test_the_first_training_starts_by_itself(room, redis_url, namespace):
    settings = {"retrain_after_events": None, "retrain_budget_s": 0.5}
    with shop(room, redis_url, namespace, world(), **settings) as here:
        wait_until(lambda: here.serving)
        wait_until(lambda: here.jobs.records.records()[0].has_ended)
        # no second training starts until there is more to learn
        [job] = here.jobs.records.records()
        assert (job.who, job.why, job.decision["outcome"]) == ("schedule", "events", "promoted")
        assert job.metrics["judges"] >= 200


def test_cancelled_trainings_and_other_models_do_not_reset_the_schedule(room, redis_url, namespace):
    with shop(room, redis_url, namespace, world(), retrain_after_events=0) as here:
        plan = Schedules(here.client, here.settings)
        plan.replace(Schedule(model="fbgd"), "a test")
        job = here.ordered(budget_s=60.0)
        wait_until(lambda: here.jobs.records.record(job.id).stage == "searching")
        here.jobs.cancel(job.id, "ada")
        before = plan.last()
        other = here.trained(model="ocmf-sq-wsq", factors=8, rounds=2)
        assert other.status == "succeeded", other.error
        assert plan.last() == before
        assert (before.events, before.at_ms) == (0, 0)
        here.trained(**QUICK)
        assert plan.last().events == 300 * 25


def test_the_schedule_repeats_a_training_that_a_restart_ended(room, redis_url, namespace):
    settings = {"retrain_pause_s": 0, "retrain_after_events": 0}
    with shop(room, redis_url, namespace, world(), **settings) as here:
        records = here.jobs.records
        schedule = Schedule(after_events=100, budget_s=60.0)
        Schedules(here.client, here.settings).replace(schedule, "a test")
        wait_until(lambda: any(record.stage == "searching" for record in records.records()))
        [first] = records.records()
        here.trainer.stop()
        assert "the trainer was stopped" in str(records.record(first.id).error)
        here.trainer.start()
        wait_until(lambda: len(records.records()) == 2)
        again = records.records()[0]
        assert (again.who, again.why) == ("schedule", "events")


@pytest.mark.slow
def test_the_schedule_trains_every_strategy_that_serves(room, redis_url, namespace):
    settings = {"retrain_pause_s": 0, "retrain_after_events": 0}
    with shop(room, redis_url, namespace, world(users=220), **settings) as here:
        first = here.trained(model="ocmf-sq-wsq", factors=8, rounds=2)
        assert here.serving == {"ocmf": first.version}
        schedule = Schedule(after_events=100, parameters=QUICK, budget_s=0.5)
        Schedules(here.client, here.settings).replace(schedule, "a test")
        records = here.jobs.records
        wait_until(lambda: len(records.records()) == 3)
        [other, own, _] = (here.ended(record) for record in records.records())
        assert [(one.model, one.status) for one in (own, other)] == [
            ("fbgd", "succeeded"),
            ("ocmf-sq-wsq", "succeeded"),
        ]
        assert (other.who, other.why) == ("schedule", "events")


@pytest.mark.slow
def test_scheduled_trainings_of_other_strategies_keep_their_order(room, redis_url, namespace):
    settings = {"retrain_pause_s": 0, "retrain_after_events": 0}
    stated = {"factors": 8, "rounds": 2, "graph": 0.1}
    with shop(room, redis_url, namespace, world(users=40), **settings) as here:
        first = here.ended(
            here.jobs.submit(
                TrainingOrder(
                    "ocmf-sq-wsq", stated, budget_s=0, who="ada", why="order", promote_unjudged=True
                )
            )
        )
        assert here.serving == {"ocmf": first.version}
        schedule = Schedule(after_events=100, parameters=QUICK, budget_s=0.0)
        Schedules(here.client, here.settings).replace(schedule, "a test")
        records = here.jobs.records
        wait_until(lambda: len(records.records()) == 3)
        other = here.ended(records.records()[0])
        assert (other.model, other.parameters) == ("ocmf-sq-wsq", stated)
        assert (other.promote_unjudged, other.decision["outcome"]) == (True, "promoted")


@pytest.mark.slow
def test_the_schedule_leaves_out_pinned_strategies(room, redis_url, namespace):
    settings = {"retrain_pause_s": 0, "retrain_after_events": 0}
    with shop(room, redis_url, namespace, world(users=30), **settings) as here:
        pinned = here.trained(model="ocmf-sq-wsq", factors=8, rounds=2)
        here.registry.pin(pinned.version, "ada", "")
        schedule = Schedule(after_events=100, parameters=QUICK, budget_s=0.0)
        Schedules(here.client, here.settings).replace(schedule, "a test")
        wait_until(lambda: here.trainer.log.count("training_ended") == 2)
        [own, _] = here.jobs.records.records()
        assert (own.model, own.who) == ("fbgd", "schedule")


def test_an_outage_after_the_promotion_fails_no_job(room, redis_url, namespace):
    lost: list[tuple[bytes, ...]] = [(b"last-retrain", b"watermark.0")]

    def loses(request: bytes) -> bool:
        return any(all(part in request for part in parts) for parts in lost)

    proxy = LossyProxy(redis_url, room / "proxy.sock", loses)
    settings = {"retrain_pause_s": 0, "retrain_after_events": 0}
    with (
        contextlib.closing(proxy),
        shop(room, proxy.url, namespace, world(users=30), **settings) as here,
    ):
        Schedules(here.client, here.settings).replace(Schedule(model="fbgd"), "a test")
        first = here.trained(**QUICK)
        assert (first.status, here.serving) == ("succeeded", {"fbgd": first.version})
        assert here.trainer.log.count("training_not_noted") == 1
        here.trained(model="ocmf-sq-wsq", factors=8, rounds=2)
        lost[:] = [(b"ocmf-sq-wsq", b"queued")]
        schedule = Schedule(after_events=30 * 25, parameters=QUICK, budget_s=0.0)
        Schedules(here.client, here.settings).replace(schedule, "a test")
        store_histories(here.client, here.settings, world(users=30))
        wait_until(lambda: "others_not_ordered" in here.trainer.log)
        own = [one for one in here.jobs.records.records() if one.model == "fbgd"]
        assert [(one.status, one.why) for one in own[:1]] == [("succeeded", "events")]
        assert "training_failed" not in here.trainer.log


def test_old_versions_are_removed(room, redis_url, namespace):
    with shop(room, redis_url, namespace, world(users=30), keep_models=1) as here:
        here.trained(**QUICK)
        for factors in (9, 10, 11):
            here.trained(factors=factors, epochs=2)
        left = [record.version for record in here.registry.records()]
        assert len(left) == 2
        assert here.serving["fbgd"] in left


def test_the_waiting_process_loads_neither_numba_nor_numpy():
    code = (
        "import sys, service.cli.running.trainer\n"
        "heavy = {'numba', 'numpy', 'scipy'} & set(sys.modules)\n"
        "assert not heavy, heavy\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, env=os.environ)
