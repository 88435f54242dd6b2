"""Ending processes reliably: those that we started, and ourselves when our owner is gone."""

import contextlib
import ctypes
import os
import platform
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import ClassVar

LEAVINGS = 19
"""Niceness of processes that use only idle processors."""


def end_process(process: subprocess.Popen[bytes], patience_s: float = 20.0) -> int:
    """Send SIGTERM, then SIGKILL to a process that ignores it; return the exit code."""
    process.terminate()
    try:
        return process.wait(patience_s)
    except subprocess.TimeoutExpired:
        process.kill()
        return process.wait()


def end_stranger(pid: int, title: str, patience_s: float = 20.0) -> None:
    """End a process that is not our child, but only while its command line contains ``title``."""
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
    """Return the command line or title of a process, "" if it is gone."""
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
    """End this process in order when the other end of the pipe closes: its owner is gone."""
    if fd is not None:
        threading.Thread(target=_wait_for_end, args=(fd,), name="lifeline", daemon=True).start()


def _wait_for_end(fd: int) -> None:
    while os.read(fd, 1):
        pass
    os.kill(os.getpid(), signal.SIGTERM)
    # nobody is left who would kill us if that takes too long
    threading.Event().wait(20.0)
    os._exit(1)


@contextlib.contextmanager
def ended_by_sigterm() -> Iterator[None]:
    """Let SIGTERM end what waits here like Ctrl-C: by itself, PID 1 of a container ignores it."""

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def yield_to_others(niceness: int) -> None:
    """Lower the priority of this process, which the leader of a session has forked.

    With niceness 0 nothing changes; with LEAVINGS the process runs only on idle processors. All of
    its threads yield, for Linux gives each a priority of its own.

    Linux may divide processors between sessions before it looks at their processes. Then the
    class of a process has no effect and the session itself must be nice; and a process of another
    session that wakes up waits until our time slice ends, unless slices as long as ours may be
    interrupted. The session of a terminal is left as it is.
    """
    if niceness == 0:
        return
    if sys.platform != "linux":
        with contextlib.suppress(OSError):
            os.nice(niceness)
        return
    with contextlib.suppress(OSError):
        if os.getsid(0) == os.getppid():
            Path("/proc/self/autogroup").write_text(str(niceness))
    nicest = min(os.getpriority(os.PRIO_PROCESS, 0) + niceness, LEAVINGS)
    for thread in map(int, os.listdir("/proc/self/task")):
        with contextlib.suppress(OSError):
            os.setpriority(os.PRIO_PROCESS, thread, nicest)
        _take_long_turns(thread, niceness)
        # containers and sandboxes may support only one class
        with contextlib.suppress(OSError):
            if niceness >= LEAVINGS:
                os.sched_setscheduler(thread, os.SCHED_IDLE, os.sched_param(0))


class _Scheduling(ctypes.Structure):
    """The argument of Linux' sched_setattr(2)."""

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


def _take_long_turns(thread: int, niceness: int) -> None:
    """Ask for the longest time slices, which processes with shorter slices may interrupt.

    Older kernels ignore it.
    """
    number = {"x86_64": 314, "aarch64": 274}.get(platform.machine())
    if number is not None:
        asked = _Scheduling(ctypes.sizeof(_Scheduling), os.SCHED_BATCH, 0, niceness, 0, 100_000_000)
        ctypes.CDLL(None).syscall(number, thread, ctypes.byref(asked), 0)


def end_with_parent() -> Callable[[], object] | None:
    """Return a function that a new process calls to end when we are killed; None if unsupported.

    Linux ties it to the thread that starts the process, so only the main thread may use it.
    """
    if sys.platform != "linux" or threading.current_thread() is not threading.main_thread():
        return None
    libc = ctypes.CDLL(None)
    set_parent_death_signal = 1
    return lambda: libc.prctl(set_parent_death_signal, signal.SIGTERM)
