"""The units of deploy/systemd, and a process that may do what a unit lets it do."""

import ctypes
import ctypes.util
import errno
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.docs.pages import ROOT

FOLDER = ROOT / "deploy/systemd"
UNITS = sorted(FOLDER.glob("*.service"))
REFUSED = 0x00050000 | errno.EPERM
ALLOWED = 0x7FFF0000

Unit = Mapping[str, list[str]]


def read_unit(path: Path) -> Unit:
    """Return the values of each key, in order; sections do not matter here."""
    found: dict[str, list[str]] = {}
    for line in path.read_text().splitlines():
        key, equals, value = line.partition("=")
        if equals and not line.startswith("#"):
            found.setdefault(key, []).append(value)
    return found


def environment_of(unit: Unit) -> dict[str, str]:
    """Return the variables that a unit sets."""
    return dict(pair.split("=", 1) for line in unit.get("Environment", []) for pair in line.split())


def needs_sandbox() -> None:
    """Skip the test where no process can be shut in as systemd does it."""
    for program in ("bwrap", "systemd-analyze"):
        if shutil.which(program) is None:
            pytest.skip(f"this needs {program}: install Debian's bubblewrap and systemd")
    if subprocess.run([*_shut_in(), "true"], capture_output=True, check=False).returncode:
        pytest.skip("bwrap may not make namespaces here")
    if ctypes.util.find_library("seccomp") is None:
        pytest.skip("this needs libseccomp")


@contextmanager
def shut_in(unit: Unit, folder: Path) -> Iterator[tuple[list[str], int]]:
    """Give the words that shut in the command after them as the unit does, and a file it inherits.

    The root is read-only, the state and cache of the unit lie in ``folder``, and a system call that
    its filter does not name is refused.
    """
    words = _shut_in()
    for there in ("lib", "cache"):
        (folder / there).mkdir(exist_ok=True)
        words += ["--tmpfs", f"/var/{there}", "--bind", f"{folder}/{there}"]
        words += [f"/var/{there}/hedgerow"]
    [calls] = unit["SystemCallFilter"]
    with tempfile.TemporaryFile() as program:
        _write_filter(_names_of(calls), program.fileno())
        os.lseek(program.fileno(), 0, os.SEEK_SET)
        handle = program.fileno()
        yield [*words, "--chdir", *unit["WorkingDirectory"], "--seccomp", str(handle)], handle


def _shut_in() -> list[str]:
    return [
        *("bwrap", "--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc"),
        *("--tmpfs", "/tmp"),  # noqa: S108 - an empty one, as PrivateTmp makes it
        *("--unshare-user", "--cap-drop", "ALL", "--new-session", "--die-with-parent"),
    ]


def _names_of(group: str) -> list[str]:
    """Return the system calls of a group such as ``@system-service``."""
    listed = subprocess.run(
        ["systemd-analyze", "syscall-filter", "--no-pager", group],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    names = [line.strip() for line in listed.splitlines()[1:]]
    inner = [name for name in names if name.startswith("@")]
    own = [name for name in names if name and name[0] not in "@#"]
    return own + [name for one in inner for name in _names_of(one)]


def _write_filter(names: list[str], handle: int) -> None:
    """Write a filter for the kernel that allows these calls and refuses all others."""
    library: Any = ctypes.CDLL(ctypes.util.find_library("seccomp"))
    library.seccomp_init.restype = ctypes.c_void_p
    context = ctypes.c_void_p(library.seccomp_init(REFUSED))
    numbers = [library.seccomp_syscall_resolve_name(name.encode()) for name in names]
    known = {number for number in numbers if number >= 0}
    assert len(known) > 100
    for number in known:
        assert library.seccomp_rule_add(context, ALLOWED, number, 0) == 0
    assert library.seccomp_export_bpf(context, handle) == 0
    library.seccomp_release(context)
