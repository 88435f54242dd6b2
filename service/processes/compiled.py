"""Whether the kernels have been compiled for this machine: a mark file beside numba's cache.

The mark is only a hint that saves time: numba itself decides what it compiles.
"""

import contextlib
import hashlib
import importlib.metadata
import importlib.util
import os
import platform
import sys
from pathlib import Path


def is_compiled(what: str | None = None) -> bool:
    """Return whether the kernels were compiled and the result is still there.

    ``what`` is a ``fingerprint``, by default that of our sources on this machine.
    """
    try:
        return _compiled_files() >= int(_mark(what).read_text() or 0)
    except (OSError, ValueError):
        return False


def mark_compiled(what: str | None = None) -> None:
    """Remember that the kernels were compiled; a folder that cannot be written is not an error."""
    with contextlib.suppress(OSError):
        cache_dir().mkdir(parents=True, exist_ok=True)
        for old in cache_dir().glob("compiled-*"):
            old.unlink()
        _mark(what).write_text(str(_compiled_files()))


def cache_dir() -> Path:
    """Return the folder of compiled code: NUMBA_CACHE_DIR, else one beside the kernels."""
    given = os.environ.get("NUMBA_CACHE_DIR")
    return Path(given) if given else core_dir() / "kernels" / "__pycache__"


def core_dir() -> Path:
    """Return the folder of core's sources without importing them."""
    spec = importlib.util.find_spec("core")
    if spec is None or spec.origin is None:
        raise ModuleNotFoundError("core is not installed: run `make install`")
    return Path(spec.origin).parent


def _compiled_files() -> int:
    """Return the number of compiled functions in the cache."""
    return sum(1 for _ in cache_dir().rglob("*.nbi"))


def fingerprint(sources: Path, processor: str) -> str:
    """Return a digest of what compiled code depends on: python, numba, processor and sources."""
    digest = hashlib.sha256()
    for one in (sys.version, importlib.metadata.version("numba"), processor):
        digest.update(one.encode() + b"\0")
    for source in sorted(sources.rglob("*.py")):
        digest.update(source.read_bytes())
    return digest.hexdigest()[:32]


def _mark(what: str | None) -> Path:
    return cache_dir() / f"compiled-{what or fingerprint(core_dir(), processor())}"


def processor() -> str:
    """Return model and features of the processor for which numba compiles, by default this one."""
    if chosen := os.environ.get("NUMBA_CPU_NAME"):
        return f"{platform.machine()} {chosen} {os.environ.get('NUMBA_CPU_FEATURES', '')}"
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor()
    wanted = ("model name", "flags", "Features", "CPU part")
    return "\n".join(sorted({line for line in lines if line.startswith(wanted)}))
