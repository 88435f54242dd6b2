"""Seeds of the simulator keep every promise; the faults occur, and bugs are found."""

from collections import Counter
from collections.abc import Iterator

import pytest

from tests.simulator.canaries import CANARIES
from tests.simulator.ledger import Broken
from tests.simulator.seeds import Room, room
from tests.simulator.world import Plan

pytestmark = pytest.mark.flow

SEEDS = range(1, 23)
ENOUGH = range(1, 201)
"""Seeds within which a bug must be found; the first will do."""
FOUND = (52, 2457, 3463)
"""Seeds beyond the first that once failed."""
SOMETIMES = {
    *("lost_before", "lost_after", "late", "doubled", "stall"),
    *("crash_before", "crash_after", "crash_under_way"),
    *("acknowledged", "acknowledged_again", "in_doubt", "repeats_dropped", "read"),
    *("repeat_told", "changed", "change_in_doubt", "taken_over_at_a_change"),
    *("rating_deleted", "user_deleted", "began_anew"),
    *("merged", "copied", "moved", "promoted", "ended_by_store_rolled_back"),
    *("flip", "dead_letters", "clock_jumped"),
    *("restart", "rollback", "acknowledged_and_lost"),
    *("taken_over", "lease_expired", "ended_by_superseded", "ended_by_store_unavailable"),
}
"""What must have occurred in some of the seeds."""


@pytest.fixture(scope="module")
def here() -> Iterator[Room]:
    with room() as here:
        yield here


def test_all_promises_are_kept_and_every_fault_occurs(here: Room) -> None:
    occurred = Counter[str]()
    for seed in (*SEEDS, *FOUND):
        occurred += here.run(Plan(seed)).occurred
    assert {*occurred} >= SOMETIMES


def test_a_seed_gives_the_same_calls_again(here: Room) -> None:
    # both with rollbacks, the other one run between them
    first, other, again = (here.run(Plan(seed)) for seed in (9, 1, 9))
    assert first == again
    assert first.digest != other.digest


LATE = {"trusting", "forgetful", "unfenced", "unmarked"}
"""Bugs that need many seeds."""


@pytest.mark.parametrize(
    "name", [pytest.param(one, marks=[pytest.mark.slow] * (one in LATE)) for one in CANARIES]
)
def test_a_bug_is_found(here: Room, name: str) -> None:
    losses = (8,) if name == "trusting" else (0,)
    partitions = (2,) if name == "unmarked" else (1,)
    where = {"losses": losses, "partitions": partitions}
    # it takes three merges that meet: begin where they do
    seeds = range(15, 201) if name == "unmarked" else ENOUGH
    plans = (Plan(seed, broken=CANARIES[name](), **where) for seed in seeds)
    assert any(breaks(here, plan) for plan in plans)


def test_an_answer_from_a_copy_that_hears_of_no_change_is_found(here: Room) -> None:
    assert any(breaks(here, Plan(seed, losses=(0,), is_deaf=True)) for seed in ENOUGH)


@pytest.mark.slow
def test_a_model_of_items_that_were_lost_is_found(here: Room) -> None:
    assert any(breaks(here, Plan(seed, losses=(3,), is_careless=True)) for seed in ENOUGH)


def test_a_flipped_bit_that_no_checksum_tells_is_found(here: Room) -> None:
    plans = (Plan(seed, losses=(0,), flips=(6,), is_checked=False) for seed in ENOUGH)
    assert any(breaks(here, plan) for plan in plans)


def test_ids_that_are_forgotten_when_the_clock_jumps_are_found(here: Room) -> None:
    forgetful = {"losses": (0,), "remembers_h": 0.01}
    seeds = range(47, 201)
    seed = next(one for one in seeds if breaks(here, Plan(one, jumps=(3,), **forgetful)))
    assert not breaks(here, Plan(seed, jumps=(0,), **forgetful))


def breaks(here: Room, plan: Plan) -> bool:
    """Return whether a promise is broken."""
    try:
        here.run(plan)
    except Broken:
        return True
    return False
