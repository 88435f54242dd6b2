"""Orders without a recipe: which families are trained, what the job says, and how it can end."""

import json
import signal

import pytest

from service.store.jobs.schedule import Schedule, Schedules
from service.store.keys import NamespaceKeys
from service.store.models.mixture import read_first_stack
from service.training.orders import TRAINED, recipes_of
from tests.flows.shop import Shop, shop
from tests.histories import Record, half_in_order, world
from tests.server import wait_until

pytestmark = pytest.mark.flow

QUICK = {"factors": 8, "epochs": 4}
FEATURELESS = {"exmlds", "ordinal", "ocmf-lr-wsq", "ocmf-sq-wsq", "ocmf-sq-sq"}


def tried(job) -> dict[str, dict]:
    return {one["model"]: one for one in job.tried}


def describe_users(here: Shop, n: int = 300) -> None:
    """Give each user the taste of ``world`` as a feature."""
    keys = NamespaceKeys(here.settings.namespace)
    for user in range(n):
        body = {"version": 1, "features": {"taste": f"t{user % 4}"}, "links": []}
        here.client.set(keys.user_document(f"u{user:04d}"), json.dumps(body))


def test_the_stack_begins_at_the_weights_that_the_hold_out_foretells(room, redis_url, namespace):
    with shop(room, redis_url, namespace, half_in_order()) as here:
        job = here.trained(model=None, budget_s=0.5)
        assert job.status == "succeeded", job.error
        assert here.serving
        first = read_first_stack(here.client, namespace)
        assert first is not None
        assert first.job == job.id
        logit = first.stack.logit
        parts = {name.split(":")[0] for name in logit.names}
        assert parts == {"popular", "next", "history", *here.serving}
        weights = dict(zip(logit.names, logit.weights[:, 0].tolist(), strict=True))
        told = job.metrics["weights"]
        assert {name: round(weights[name], 6) for name in told} == told
        assert job.metrics["ndcg@10"] > job.metrics["counted"]["ndcg@10"]
        assert all(job.metrics["ndcg@10"] > (one["ndcg10"] or 0.0) for one in job.tried)


def test_only_what_adds_to_the_rest_is_trained(room, redis_url, namespace):
    with shop(room, redis_url, namespace, world()) as here:
        job = here.trained(model=None, budget_s=1.0)
        assert (job.status, job.error, job.version) == ("succeeded", None, None)
        found = tried(job)
        assert set(found) == set(TRAINED)
        chosen = [name for name, one in found.items() if one["chosen"]]
        assert {found[name]["strategy"]: found[name]["version"] for name in chosen} == here.serving
        assert {"fbgd", "neighbours"} & set(chosen)
        for one in found.values():
            assert bool(one["decision"]) == (one["version"] is not None) == one["chosen"]
            assert one["why"]
            assert one["chosen"] == (one["added"] is not None and one["added"]["low"] > 0)
        assert all("no user with a history has features" in found[n]["why"] for n in FEATURELESS)
        metrics, first = job.metrics, found[chosen[0]]
        assert metrics["judges"] >= 200
        assert metrics["events"] >= metrics["judges"]
        gained = metrics["ndcg@10"] - metrics["counted"]["ndcg@10"]
        assert gained == pytest.approx(sum(found[name]["added"]["mean"] for name in chosen))
        assert first["metrics"]["ndcg@10"] > first["metrics"]["popular"]["ndcg@10"]
        record = here.registry.record(first["version"])
        assert (record.job, record.decision) == (job.id, first["decision"])
        assert job.decision["outcome"] == "promoted"
        assert job.decision["reason"].startswith(f"{', '.join(chosen)} chosen")
        assert here.trainer.log.count("recipe_tried") == len(TRAINED)


def test_a_family_that_serves_already_is_kept_up_to_date(room, redis_url, namespace):
    with shop(room, redis_url, namespace, world()) as here:
        first, other = here.trained(**QUICK), here.trained(model="sequence")
        # nothing of it adds to itself: a second training of the same settings is the same model
        job = here.trained(model=None)
        found = tried(job)
        assert found["fbgd"]["serves"]
        assert found["sequence"]["serves"]
        assert not found["neighbours"]["serves"]
        assert here.serving["fbgd"] == found["fbgd"]["version"] == first.version
        assert here.serving["sequence"] == found["sequence"]["version"] == other.version
        assert found["fbgd"]["decision"]["reason"] == "the same model serves already"
        parameters = here.registry.record(found["fbgd"]["version"]).parameters
        assert {name: parameters[name] for name in QUICK} == QUICK
        for one in found.values():
            if one["serves"] and not one["chosen"]:
                assert one["why"].endswith("it is kept up to date, as it serves already")


def test_a_pinned_family_is_left_alone(room, redis_url, namespace):
    with shop(room, redis_url, namespace, world()) as here:
        first = here.trained(**QUICK)
        here.registry.pin(first.version, "a test", "")
        found = tried(here.trained(model=None))
        assert "is pinned" in found["fbgd"]["why"]
        assert found["fbgd"]["version"] is None
        assert here.serving["fbgd"] == first.version


def test_few_users_judge_what_adds_and_the_second_training_serves_too(room, redis_url, namespace):
    with shop(room, redis_url, namespace, world(users=40)) as here:
        job = here.trained(model=None)
        found = tried(job)
        assert (job.metrics["judges"], job.metrics["splits"]) == (40, 5)
        assert None not in {found[name]["ndcg10"] for name in ("fbgd", "neighbours", "sequence")}
        chosen = {one["strategy"]: one["version"] for one in job.tried if one["chosen"]}
        assert here.serving == chosen
        assert read_first_stack(here.client, here.settings.namespace) is not None
        again = here.trained(model=None, budget_s=0.5)
        outcomes = {one["decision"]["outcome"] for one in again.tried if one["version"]}
        assert outcomes <= {"promoted", "refused"}


def test_with_nobody_to_judge_the_usual_recipe_is_trained(room, redis_url, namespace):
    alone = [Record(f"u{n}", n % 3) for n in range(30)]
    with shop(room, redis_url, namespace, alone) as here:
        found = tried(here.trained(model=None))
        assert here.serving == {"fbgd": found["fbgd"]["version"]}
        says = "nobody likes two items, so nobody can tell what it adds"
        assert found["neighbours"]["why"] == found["sequence"]["why"] == says


@pytest.mark.parametrize("events", [[Record("ada", 0)], [Record("ada", 0), Record("bob", 0)]])
def test_the_smallest_worlds_can_be_learned(room, redis_url, namespace, events):
    with shop(room, redis_url, namespace, events) as here:
        job = here.trained(model=None, budget_s=1.0)
        assert job.status == "succeeded", job.error
        assert set(here.serving) == {"fbgd"}


def test_without_feedback_the_job_fails_and_says_what_to_do(room, redis_url, namespace):
    with shop(room, redis_url, namespace, [Record("ada", 0, value=1.0)]) as here:
        job = here.trained(model=None)
        assert (job.status, job.tried) == ("failed", [])
        assert "no positive feedback" in str(job.error)


def test_with_features_families_that_read_them_take_part(room, redis_url, namespace):
    with shop(room, redis_url, namespace, world()) as here:
        describe_users(here)
        job = here.trained(model=None, budget_s=2.0)
        assert job.status == "succeeded", job.error
        found = tried(job)
        assert found["exmlds"]["chosen"]
        assert "to popular" in found["exmlds"]["why"]
        assert here.serving["exmlds"] == found["exmlds"]["version"]
        assert found["ordinal"]["why"] == "no item has features that others share"
        ocmf = [found[name] for name in found if name.startswith("ocmf")]
        assert all(one["ndcg10"] > 0.0 for one in ocmf)
        assert sum(one["chosen"] for one in ocmf) <= 1


EARLIER = ["reading", "searching 2", "fitting 3", "judging 2", "refining 2"]
"""Nothing is published then."""


@pytest.mark.parametrize(
    "moments",
    [
        ["publishing 2"],
        pytest.param(["weighing", "promoting"], marks=pytest.mark.slow),
        pytest.param(EARLIER, marks=pytest.mark.slow),
    ],
    ids=["half published", "late", "early"],
)
def test_a_crash_leaves_all_models_that_serve(room, redis_url, namespace, moments):
    with shop(room, redis_url, namespace, world()) as here:
        describe_users(here)
        first = here.trained(**QUICK)
        for moment in moments:
            who = f"killed in {moment}"
            dead = here.ended(here.ordered(model=None, budget_s=0.5, who=who))
            assert (dead.status, dead.stage) == ("failed", moment.split(" ")[0])
            assert "SIGKILL" in str(dead.error)
            # one of two models may be published by then, but it does not serve
            assert here.serving == {"fbgd": first.version}
        last = here.trained(model=None, budget_s=0.5)
        assert last.status == "succeeded"
        assert set(here.serving) >= {"fbgd", "exmlds"}


@pytest.mark.slow
def test_a_cancelled_job_leaves_all_models_that_serve(room, redis_url, namespace):
    with shop(room, redis_url, namespace, world()) as here:
        describe_users(here)
        job = here.ordered(model=None, who="hangs in publishing 2")
        records = here.jobs.records
        wait_until(lambda: sum(bool(one["version"]) for one in records.record(job.id).tried) == 2)
        assert here.jobs.cancel(job.id, "ada").status == "cancelled"
        assert here.serving == {}
        second = here.trained(model=None)
        assert second.status == "succeeded"
        assert here.serving


@pytest.mark.slow
def test_of_two_orders_at_once_the_second_sees_what_the_first_made(room, redis_url, namespace):
    with shop(room, redis_url, namespace, world()) as here:
        jobs = [here.ordered(model=None), here.ordered(model=None)]
        first, second = (tried(here.ended(job)) for job in jobs)
        serves = {name for name, one in first.items() if one["version"]}
        assert {name for name, one in second.items() if one["serves"]} == serves
        assert all(second[name]["version"] == first[name]["version"] for name in serves)


def test_the_schedule_trains_what_is_worth_it_and_nothing_else(room, redis_url, namespace):
    settings = {"retrain_pause_s": 0, "retrain_after_events": 0}
    with shop(room, redis_url, namespace, world(), **settings) as here:
        plan, records = Schedules(here.client, here.settings), here.jobs.records
        plan.replace(Schedule(after_events=100, budget_s=0.5), "a test")
        wait_until(lambda: any(record.has_ended for record in records.records()))
        [job] = records.records()
        assert (job.model, job.status, job.why) == (None, "succeeded", "events")
        assert here.serving
        assert plan.last().events == 300 * 25


def test_a_trainer_that_is_stopped_ends_the_job(room, redis_url, namespace):
    with shop(room, redis_url, namespace, world()) as here:
        job = here.ordered(model=None, budget_s=60.0)
        wait_until(lambda: here.jobs.records.record(job.id).stage == "searching")
        here.trainer.send(signal.SIGTERM)
        assert here.trainer.wait() == 0
        assert "the trainer was stopped" in str(here.jobs.records.record(job.id).error)
        assert here.serving == {}


def test_an_order_that_names_a_strategy_trains_the_best_of_its_recipes(room, redis_url, namespace):
    with shop(room, redis_url, namespace, world(users=220)) as here:
        job = here.trained(model="ocmf", budget_s=0.5)
        assert (job.status, job.model, job.version) == ("succeeded", "ocmf", None), job.error
        assert {one["model"] for one in job.tried} == set(recipes_of("ocmf"))
        [best] = [one for one in job.tried if one["chosen"]]
        # what it adds decides, not what it finds alone: the two can name different recipes
        assert best["added"]["mean"] == max(one["added"]["mean"] for one in job.tried)
        assert here.serving == {"ocmf": best["version"]}
        # a stack of one family says nothing of the others
        assert read_first_stack(here.client, namespace) is None
