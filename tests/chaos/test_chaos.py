"""A service keeps its promises under faults, and clients that break one are found.

`make chaos` runs longer schedules, drawn from seeds, with more kinds of faults.
"""

import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.chaos.canaries import CANARIES, forget_a_user
from tests.chaos.checks import check_stored, check_tail
from tests.chaos.clients import Ledger, Writer
from tests.chaos.faults import LOSSES
from tests.chaos.history import Broken, History, Occurrence
from tests.chaos.place import Place
from tests.chaos.run import place_for, run
from tests.chaos.schedule import Schedule, Step, drawn

pytestmark = pytest.mark.flow

SHORT = (
    Step(("kill store",), 0.3, 0.1),
    Step(("cut",), 0.3, 0.1),
    Step(("stop learner",), 0.3, 0.1),
    Step(("kill api",), 0.0, 0.1),
)
CALM = Schedule(seed=0, is_private=False, api_processes=1, steps=())


@pytest.fixture(scope="module")
def place() -> Iterator[Place]:
    """A service that the tests here use one after the other."""
    with (
        tempfile.TemporaryDirectory(prefix="hc-") as directory,
        Place(Path(directory), is_private=CALM.is_private) as place,
    ):
        yield place


def test_all_promises_are_kept_under_faults(
    place: Place, record_property: Callable[[str, object], None]
) -> None:
    result = run(place, Schedule(1, CALM.is_private, CALM.api_processes, SHORT))
    assert result.acknowledged
    assert len(result.recoveries) == len(SHORT)
    for fault, seconds in result.recoveries:
        record_property(f"recovered from {fault}, s", seconds)
    record_property("longest wait of a reader, s", result.away_s)


@pytest.mark.parametrize("canary", CANARIES)
def test_a_client_that_breaks_a_promise_is_found(place: Place, canary: type[Writer]) -> None:
    with pytest.raises(Broken, match=CANARIES[canary]) as found:
        run(place, CALM, (Writer, canary))
    told, _ = found.value.__notes__
    assert "seed 0" in told
    assert "BROKEN" in told


def test_a_store_that_forgets_is_found(place: Place) -> None:
    def spoil() -> None:
        forget_a_user(place, f"run{place.runs}-w0u0")

    with pytest.raises(Broken, match="acknowledged and lost"):
        run(place, CALM, spoil=spoil)


@pytest.mark.parametrize(
    ("asked", "lost", "says"),
    [
        (1.0, (2,), "a later event is there"),
        (12.0, (3,), "acknowledged and lost"),
        (1.0, (2, 3), None),
        (1.0, (), None),
    ],
)
def test_a_rollback_excuses_the_end_of_the_log_and_nothing_later(
    asked: float, lost: tuple[int, ...], says: str | None
) -> None:
    fault = Occurrence("lost tail", 10.0, 11.0, 12.0, loses_since=0.0)
    history, ledger = History(faults=[fault]), Ledger("run1-")
    for n in (1, 2, 3):
        sent = ledger.new("run1-u", f"i{n}", 5)
        sent.tries, sent.sequence, sent.asked, sent.acknowledged = 1, n, asked, asked + 0.1
    stored = Counter({("run1-u", f"i{n}", 5.0): 1 for n in (1, 2, 3) if n not in lost})

    def checked() -> None:
        check_tail(history, ledger, check_stored(history, ledger, stored))

    if says is None:
        checked()
        return
    with pytest.raises(Broken, match=says):
        checked()


def test_a_seed_names_a_schedule() -> None:
    assert drawn(7) == drawn(7)
    assert drawn(7) != drawn(8)


@pytest.mark.slow
@pytest.mark.parametrize("loss", LOSSES)
def test_a_loss_is_told_and_nothing_else_is_lost(loss: str) -> None:
    steps = (Step(("kill learner",), 0.0, 0.1), Step((loss,), 1.0, 0.3))
    schedule = Schedule(seed=2, is_private=False, api_processes=1, steps=steps)
    with place_for(schedule) as place:
        result = run(place, schedule)
        assert result.lost
        assert place.logged("store_rolled_back", "store_refused")
