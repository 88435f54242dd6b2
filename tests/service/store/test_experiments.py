"""Stored experiments: one runs at a time, whoever changes them at the same moment."""

import threading

import pytest
from redis import Redis

from service.errors import Conflict, NotFound
from service.store.experiments import MOST, Arm, Experiment, Experiments

ARMS = (Arm("as-before", 0.5, {}), Arm("varied", 0.5, {"diversity": 0.3}))


@pytest.fixture
def experiments(client: "Redis", namespace: str) -> Experiments:
    return Experiments(client, namespace)


def begun(experiments: Experiments, name: str = "one") -> Experiment:
    return experiments.begin(name, ARMS, None, "ada")


def test_what_was_begun_is_read(experiments: Experiments) -> None:
    assert experiments.read() == ()
    new = begun(experiments)
    assert experiments.read() == (new,)
    assert (new.state, new.who, new.arm("varied")) == ("running", "ada", ARMS[1])


def test_one_runs_at_a_time_and_names_are_given_once(experiments: Experiments) -> None:
    begun(experiments)
    with pytest.raises(Conflict, match="`one` is running"):
        begun(experiments, "two")
    experiments.stop("one", "ada", "enough")
    with pytest.raises(Conflict, match="choose another name"):
        begun(experiments)
    begun(experiments, "two")


def test_who_ended_it_first_stays(experiments: Experiments) -> None:
    begun(experiments)
    first = experiments.stop("one", "the guardrail", "it lost")
    assert experiments.stop("one", "ada", "enough") == first
    assert (first.state, first.ended_by, first.why) == ("stopped", "the guardrail", "it lost")


def test_one_arm_is_promoted_at_a_time(experiments: Experiments) -> None:
    begun(experiments)
    assert experiments.promote("one", "varied", "ada").promoted == "varied"
    begun(experiments, "two")
    experiments.promote("two", "as-before", "ada")
    assert [one.state for one in experiments.read()] == ["stopped", "promoted"]
    with pytest.raises(NotFound, match="its arms are `as-before`, `varied`"):
        experiments.promote("two", "none", "ada")


def test_there_is_a_bound_and_room_after_a_deletion(experiments: Experiments) -> None:
    for n in range(MOST):
        begun(experiments, f"n{n}")
        experiments.stop(f"n{n}", "ada", "")
    with pytest.raises(Conflict, match="delete one"):
        begun(experiments, "more")
    assert experiments.delete("n0").name == "n0"
    begun(experiments, "more")
    for unknown in (experiments.delete, lambda name: experiments.stop(name, "ada", "")):
        with pytest.raises(NotFound, match="GET /v1/experiments"):
            unknown("n0")


def test_of_many_who_begin_at_the_same_moment_one_does(
    experiments: Experiments, namespace: str, redis_url: str
) -> None:
    refused: list[Conflict] = []
    together = threading.Barrier(6)

    def begin(number: int) -> None:
        with Redis.from_url(redis_url) as own:
            together.wait()
            try:
                begun(Experiments(own, namespace), f"n{number}")
            except Conflict as error:
                refused.append(error)

    threads = [threading.Thread(target=begin, args=(n,)) for n in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(refused) == 5
    assert len(experiments.read()) == 1
