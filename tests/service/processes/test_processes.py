"""A training leaves the processors to serving processes under every scheduler setting."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

AUTOGROUP = Path("/proc/self/autogroup")

FORKED = """
import json, os, sys, threading
from pathlib import Path
from service.ending import yield_to_others

stays = threading.Event()
worker = threading.Thread(target=stays.wait, daemon=True)

def found():
    group = Path("/proc/self/autogroup")
    return {
        "niceness": os.nice(0),
        "policy": os.sched_getscheduler(0),
        "of a thread": [
            os.getpriority(os.PRIO_PROCESS, worker.native_id),
            os.sched_getscheduler(worker.native_id),
        ],
        "session": int(group.read_text().split("nice")[1]) if group.exists() else None,
    }

def refuse(*_):
    raise OSError(22, "the only class is the usual one")

if sys.argv[1] == "refused":
    os.sched_setscheduler = refuse
if sys.argv[1] == "deeper" and os.fork():
    os.wait()
elif os.fork():
    os.wait()
else:
    worker.start()
    yield_to_others(int(sys.argv[2]))
    print(json.dumps(found()))
"""


def after_yielding(how: str, niceness: int = 7) -> Any:
    command = [sys.executable, "-c", FORKED, how, str(niceness)]
    done = subprocess.run(command, capture_output=True, check=True, start_new_session=True)
    return json.loads(done.stdout)


@pytest.mark.skipif(
    sys.platform != "linux", reason="only Linux has processes that take what others leave"
)
def test_a_forked_training_takes_what_others_leave() -> None:
    found = after_yielding("forked", 19)
    assert (found["niceness"], found["policy"]) == (19, os.SCHED_IDLE)


@pytest.mark.skipif(sys.platform != "linux", reason="threads have priorities on Linux alone")
def test_threads_that_run_already_yield_too() -> None:
    assert after_yielding("forked", 19)["of a thread"] == [19, os.SCHED_IDLE]


@pytest.mark.skipif(sys.platform != "linux", reason="the classes of processes are Linux'")
def test_a_training_that_yields_less_keeps_a_small_share() -> None:
    found = after_yielding("forked", 7)
    assert found["niceness"] == 7
    assert found["policy"] != os.SCHED_IDLE


@pytest.mark.skipif(not AUTOGROUP.exists(), reason="this system does not share out by session")
def test_the_session_of_the_trainer_becomes_nice_as_well() -> None:
    assert after_yielding("forked")["session"] == 7


@pytest.mark.skipif(not AUTOGROUP.exists(), reason="this system does not share out by session")
def test_a_session_that_is_not_the_trainers_alone_stays_as_it_is() -> None:
    assert after_yielding("deeper")["session"] == 0


@pytest.mark.skipif(sys.platform != "linux", reason="the classes of processes are Linux'")
def test_at_niceness_0_a_training_is_a_process_as_any_other() -> None:
    found = after_yielding("forked", 0)
    assert (found["niceness"], found["policy"], found["session"] or 0) == (0, os.SCHED_OTHER, 0)


@pytest.mark.skipif(sys.platform != "linux", reason="the classes of processes are Linux'")
def test_a_system_that_knows_one_class_trains_all_the_same() -> None:
    assert after_yielding("refused", 19)["niceness"] == 19
