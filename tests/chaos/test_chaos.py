"""A service keeps its promises under faults, and clients that break one are found.

`make chaos` runs longer schedules, drawn from seeds, with more kinds of faults.
"""

import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.chaos.canaries import CANARIES, forget_a_user
from tests.chaos.clients import Writer
from tests.chaos.history import Broken
from tests.chaos.place import Place
from tests.chaos.run import run
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
    [told] = found.value.__notes__
    assert "seed 0" in told
    assert "BROKEN" in told


def test_a_store_that_forgets_is_found(place: Place) -> None:
    def spoil() -> None:
        forget_a_user(place, f"run{place.runs}-w0u0")

    with pytest.raises(Broken, match="acknowledged and lost"):
        run(place, CALM, spoil=spoil)


def test_a_seed_names_a_schedule() -> None:
    assert drawn(7) == drawn(7)
    assert drawn(7) != drawn(8)
