"""Ending processes surely, and never outliving the one that started us."""

import contextlib
import ctypes
import os
import platform
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import ClassVar

LEAVINGS = 19
"""The niceness of processes that take what others leave."""


def end_process(process: subprocess.Popen[bytes], patience_s: float = 20.0) -> int:
    """SIGTERM, then SIGKILL for one that does not listen; returns the exit code."""
    process.terminate()
    try:
        return process.wait(patience_s)
    except subprocess.TimeoutExpired:
        process.kill()
        return process.wait()


def end_stranger(pid: int, title: str, patience_s: float = 20.0) -> None:
    """End a process that is not our child, but only while its command line holds ``title``."""
    pause = threading.Event()
    for number in (signal.SIGTERM, signal.SIGKILL):
        if title not in command_line(pid):
            return
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, number)
        for _ in range(int(patience_s / 0.02)):
            if title not in command_line(pid):
                return
            pause.wait(0.02)


def command_line(pid: int) -> str:
    """Return the command line or title of a process, "" when it is gone."""
    if sys.platform == "linux":
        with contextlib.suppress(OSError):
            return Path(f"/proc/{pid}/cmdline").read_text(errors="replace")
        return ""
    # a fixed program and a number
    asked = subprocess.run(  # noqa: S603
        ["/bin/ps", "-o", "command=", "-p", str(pid)], capture_output=True, text=True, check=False
    )
    return asked.stdout


def follow_lifeline(fd: int | None) -> None:
    """End this process in order when the other end of the pipe closes, that is when its owner is gone."""
    if fd is not None:
        threading.Thread(target=_wait_for_end, args=(fd,), name="lifeline", daemon=True).start()


def _wait_for_end(fd: int) -> None:
    while os.read(fd, 1):
        pass
    os.kill(os.getpid(), signal.SIGTERM)
    # nobody is left to lose patience with us
    threading.Event().wait(20.0)
    os._exit(1)


def yield_to_others(niceness: int) -> None:
    """Let others go first, from a process that was forked by the leader of a session: 0 is not at all, LEAVINGS always.

    Linux may share processors out between sessions before it looks at their processes: then our class is not seen,
    the session itself must be nice, and what wakes up in another waits for the end of our turn unless turns as long
    as ours may be interrupted. A terminal's session is left as it is.
    """
    if niceness == 0:
        return
    with contextlib.suppress(OSError):
        os.nice(niceness)
    if sys.platform == "linux":
        with contextlib.suppress(OSError):
            if os.getsid(0) == os.getppid():
                Path("/proc/self/autogroup").write_text(str(niceness))
        _take_long_turns(niceness)
        # containers and sandboxes may know one class only
        with contextlib.suppress(OSError):
            if niceness >= LEAVINGS:
                os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))


class _Scheduling(ctypes.Structure):
    """What Linux' sched_setattr(2) reads."""

    _fields_: ClassVar = [
        ("size", ctypes.c_uint32),
        ("policy", ctypes.c_uint32),
        ("flags", ctypes.c_uint64),
        ("niceness", ctypes.c_int32),
        ("priority", ctypes.c_uint32),
        ("turn_ns", ctypes.c_uint64),
        ("deadline_ns", ctypes.c_uint64),
        ("period_ns", ctypes.c_uint64),
    ]


def _take_long_turns(niceness: int) -> None:
    """Ask for the longest turns there are, which whoever has shorter ones interrupts; older systems do not care."""
    number = {"x86_64": 314, "aarch64": 274}.get(platform.machine())
    if number is not None:
        asked = _Scheduling(ctypes.sizeof(_Scheduling), os.SCHED_BATCH, 0, niceness, 0, 100_000_000)
        ctypes.CDLL(None).syscall(number, 0, ctypes.byref(asked), 0)


def end_with_parent() -> Callable[[], object] | None:
    """Return what makes a new process end when we are killed (Linux), None where nothing does.

    The system ties it to the thread that starts the process, so only the main thread may ask for it.
    """
    if sys.platform != "linux" or threading.current_thread() is not threading.main_thread():
        return None
    libc = ctypes.CDLL(None)
    set_parent_death_signal = 1
    return lambda: libc.prctl(set_parent_death_signal, signal.SIGTERM)
