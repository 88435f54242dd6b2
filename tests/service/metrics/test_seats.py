"""Counts of several processes add up; no count is lost or goes back, however a process ends."""

import os
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from service.metrics.catalogue import EVENTS_ACCEPTED, REQUEST_SECONDS, REQUESTS, Metric
from service.metrics.gathering import Sums, gathered
from service.metrics.meters import CELLS, Meters
from service.metrics.seats import SIZE, counting

ALONE = Meters()
COUNTING = """
import sys, threading
from pathlib import Path
from service.metrics.catalogue import EVENTS_ACCEPTED
from service.metrics.seats import counting
with counting(Path(sys.argv[1]), "api") as meters:
    meters.count(EVENTS_ACCEPTED).add(7)
    print("counted", flush=True)
    threading.Event().wait(60)
"""

STARTING = """
import resource, sys
from pathlib import Path
from service.metrics.catalogue import EVENTS_ACCEPTED
from service.metrics.seats import counting
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[2]), resource.RLIM_INFINITY))
with counting(Path(sys.argv[1]), "api") as meters:
    meters.count(EVENTS_ACCEPTED).add(7)
    print(meters.is_shared, *(numbers for _, numbers in meters.series()))
"""
GROWING = """
import resource, sys
from pathlib import Path
from service.metrics.catalogue import EVENTS_ACCEPTED, REQUESTS
from service.metrics.seats import counting
folder, room = Path(sys.argv[1]), int(sys.argv[2])
with counting(folder, "api") as meters:
    meters.count(REQUESTS, "GET", "/a", "200").add()
    size = (folder / "api-0.names").stat().st_size
    resource.setrlimit(resource.RLIMIT_FSIZE, (size + room, resource.RLIM_INFINITY))
    for route in ("/b", "/c"):
        meters.count(REQUESTS, "GET", route, "200").add()
    resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY,) * 2)
    meters.count(REQUESTS, "GET", "/later", "200").add(4)
    meters.count(EVENTS_ACCEPTED).add(7)
"""


def accepted(sums: Sums) -> float:
    [number] = sums[EVENTS_ACCEPTED][()]
    return number


def test_the_counts_of_all_seats_add_up_series_by_series(tmp_path: Path) -> None:
    with counting(tmp_path, "api") as one, counting(tmp_path, "api") as other:
        for meters, route, n in ((one, "/a", 2), (other, "/a", 3), (other, "/b", 5)):
            meters.count(REQUESTS, "GET", route, "200").add(n)
        sums = gathered(tmp_path, one)
    assert sums[REQUESTS] == {("GET", "/a", "200"): [5], ("GET", "/b", "200"): [5]}


def test_a_histogram_counts_each_value_in_its_bucket_and_adds_up(tmp_path: Path) -> None:
    with counting(tmp_path, "api") as one, counting(tmp_path, "api") as other:
        for meters in (one, other):
            spread = meters.spread(REQUEST_SECONDS, "GET", "/a")
            spread.note(0.001)
            spread.note(0.2, 3)
            spread.note(99.0)
        [*buckets, total] = gathered(tmp_path, one)[REQUEST_SECONDS]["GET", "/a"]
    by_bound = dict(zip([*REQUEST_SECONDS.bounds, "more"], buckets, strict=True))
    assert {bound: n for bound, n in by_bound.items() if n} == {0.001: 2, 0.25: 6, "more": 2}
    assert total == pytest.approx(2 * (0.001 + 3 * 0.2 + 99))


def test_who_takes_the_seat_of_a_killed_process_goes_on_with_its_counts(tmp_path: Path) -> None:
    for run in range(1, 4):
        process = subprocess.Popen(
            [sys.executable, "-c", COUNTING, str(tmp_path)], stdout=subprocess.PIPE
        )
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == b"counted\n"
            assert accepted(gathered(tmp_path, ALONE)) == 7 * run
        finally:
            os.kill(process.pid, signal.SIGKILL)
            process.communicate()
        assert accepted(gathered(tmp_path, ALONE)) == 7 * run
    assert sorted(path.name for path in tmp_path.iterdir()) == ["api-0.cells", "api-0.names"]


def test_two_processes_of_a_role_never_share_a_seat_and_a_free_one_is_taken_first(
    tmp_path: Path,
) -> None:
    with counting(tmp_path, "api"), counting(tmp_path, "api"), counting(tmp_path, "learner"):
        pass
    with counting(tmp_path, "api"):
        cells = sorted(path.name for path in tmp_path.glob("*.cells"))
    assert cells == ["api-0.cells", "api-1.cells", "learner-0.cells"]


def test_a_line_that_was_cut_in_the_middle_is_written_again(tmp_path: Path) -> None:
    with counting(tmp_path, "api") as meters:
        meters.count(EVENTS_ACCEPTED).add(2)
        meters.count(REQUESTS, "GET", "/a", "200").add(3)
    names = tmp_path / "api-0.names"
    whole = names.read_bytes()
    names.write_bytes(whole[:-5])
    with counting(tmp_path, "api") as meters:
        meters.count(REQUESTS, "GET", "/b", "200").add()
        sums = gathered(tmp_path, meters)
    assert accepted(sums) == 2
    assert sums[REQUESTS] == {("GET", "/b", "200"): [1]}


def test_series_of_another_version_are_passed_over_and_keep_their_cells(tmp_path: Path) -> None:
    with counting(tmp_path, "api") as meters:
        meters.count(Metric("hedgerow_gone_total", "counter", "Gone", "Was there once.")).add(9)
        buckets = replace(REQUEST_SECONDS, bounds=(1.0,))
        meters.spread(buckets, "GET", "/a").note(0.5)
        meters.count(EVENTS_ACCEPTED).add(4)
    with counting(tmp_path, "api") as meters:
        meters.count(EVENTS_ACCEPTED).add()
        meters.spread(REQUEST_SECONDS, "GET", "/a").note(0.5)
        sums = gathered(tmp_path, meters)
    assert accepted(sums) == 5
    assert sum(sums[REQUEST_SECONDS]["GET", "/a"][:-1]) == 1
    assert {metric.name for metric in sums} == {EVENTS_ACCEPTED.name, REQUEST_SECONDS.name}


@pytest.mark.parametrize("damage", [b"\0" * 300, b'{"no": "list"}\n', b"[]\n" * 9, b"\xff\n", b""])
def test_damaged_names_are_begun_anew(tmp_path: Path, damage: bytes) -> None:
    with counting(tmp_path, "api") as meters:
        meters.count(EVENTS_ACCEPTED).add(3)
    (tmp_path / "api-0.names").write_bytes(damage)
    assert gathered(tmp_path, ALONE) == {}
    with counting(tmp_path, "api") as meters:
        meters.count(REQUESTS, "GET", "/a", "200").add()
        sums = gathered(tmp_path, meters)
    assert sums == {REQUESTS: {("GET", "/a", "200"): [1]}}


@pytest.mark.parametrize("size", [0, 100, SIZE - 8])
def test_cells_that_were_cut_have_their_room_again(tmp_path: Path, size: int) -> None:
    with counting(tmp_path, "api") as meters:
        meters.count(EVENTS_ACCEPTED).add(3)
    os.truncate(tmp_path / "api-0.cells", size)
    assert accepted(gathered(tmp_path, ALONE)) == (3 if size else 0)
    with counting(tmp_path, "api") as meters:
        meters.count(EVENTS_ACCEPTED).add(1)
        assert accepted(gathered(tmp_path, meters)) == (4 if size else 1)
    assert (tmp_path / "api-0.cells").stat().st_size == SIZE


def test_a_process_that_cannot_write_into_the_folder_shows_its_own_counts(tmp_path: Path) -> None:
    (tmp_path / "metrics").write_text("a file, no folder")
    with counting(tmp_path / "metrics", "api") as meters:
        meters.count(EVENTS_ACCEPTED).add(2)
        assert accepted(gathered(tmp_path / "metrics", meters)) == 2


@pytest.mark.parametrize("room", [0, 100, 4_096])
def test_on_a_full_disk_a_process_counts_in_memory(tmp_path: Path, room: int) -> None:
    said = in_little_room(tmp_path, STARTING, room)
    assert said.startswith("False [7.0]")
    assert said.count("metrics_apart") == 1


def test_names_that_cannot_be_opened_keep_no_process_from_counting(tmp_path: Path) -> None:
    (tmp_path / "api-0.names").mkdir()
    with counting(tmp_path, "api") as meters:
        meters.count(EVENTS_ACCEPTED).add(2)
        assert [numbers for _, numbers in meters.series()] == [[2]]


@pytest.mark.parametrize("room", [0, 20])
def test_a_series_that_a_full_disk_has_no_room_for_harms_no_other(
    tmp_path: Path, room: int
) -> None:
    said = in_little_room(tmp_path, GROWING, room)
    assert said.count("metrics_left_out") == 1
    sums = gathered(tmp_path, ALONE)
    assert sums[REQUESTS] == {("GET", "/a", "200"): [1], ("GET", "/later", "200"): [4]}
    assert accepted(sums) == 7


def in_little_room(folder: Path, program: str, room: int) -> str:
    """Run a program whose files may grow by ``room`` bytes only; return all that it says."""
    words = [sys.executable, "-c", program, str(folder), str(room)]
    done = subprocess.run(words, capture_output=True, text=True, timeout=180, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout + done.stderr


def test_what_does_not_fit_is_left_out() -> None:
    meters = Meters()
    with pytest.raises(ValueError, match="has the labels"):
        meters.count(REQUESTS, "GET", "/a")
    for number in range(CELLS):
        meters.count(REQUESTS, "GET", str(number), "200").add()
    meters.count(EVENTS_ACCEPTED).add()
    meters.spread(REQUEST_SECONDS, "GET", "/a").note(0.5)
    assert len(meters.series()) == CELLS
    meters.count(REQUESTS, "GET", "0", "200").add()
    assert meters.series()[0][1] == [2]
