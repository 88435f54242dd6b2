"""Models as mapped files: written once, always checked, removed when no process maps them."""

import contextlib
import gc
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import redis

from core.batch.snapshot import objective_of
from core.errors import SnapshotFormat
from core.snapshot import Snapshot
from service.errors import NotFound, StoreUnavailable
from service.store.models.registry import Registry
from service.store.models.snapshot_files import SnapshotFiles
from tests.models import published, snapshot

UNKNOWN = "0" * 64

OPENER = """
import sys
from pathlib import Path
from service.store.connection import connect
from service.store.models.registry import Registry
from service.store.models.snapshot_files import SnapshotFiles
url, namespace, directory, version = sys.argv[1:]
sys.stdin.readline()
with connect(url, role="test") as client:
    opened = SnapshotFiles(Path(directory)).open(Registry(client, namespace), version)
pages = Path("/proc/self/maps").read_text() if Path("/proc").exists() else version
print(opened.version == version and version in pages, flush=True)
sys.stdin.readline()
"""


class Counting:
    """A source that counts how often a model was read."""

    def __init__(self, registry: Registry) -> None:
        self._registry, self.reads = registry, 0

    def manifest(self, version: str) -> dict[str, object]:
        return self._registry.manifest(version)

    def chunks(self, version: str) -> Iterator[bytes]:
        self.reads += 1
        return self._registry.chunks(version)


@pytest.fixture
def registry(client: redis.Redis, namespace: str) -> Registry:
    return Registry(client, namespace)


@pytest.fixture
def files(tmp_path: Path) -> SnapshotFiles:
    return SnapshotFiles(tmp_path / "data" / "snapshots")


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    return tmp_path / "data" / "snapshots"


def names(directory: Path) -> set[str]:
    return {path.name for path in directory.iterdir()} - {".lock"}


def test_a_model_is_mapped_to_the_bit_and_read_only(
    files: SnapshotFiles, registry: Registry, directory: Path
) -> None:
    made = snapshot()
    record = published(registry, made)
    opened = files.open(registry, record.version)
    assert opened.version == record.version
    assert objective_of(opened).vector(np.arange(3, dtype=np.int32)).tobytes() == (
        objective_of(made).vector(np.arange(3, dtype=np.int32)).tobytes()
    )
    for array in opened.arrays.values():
        assert array.ctypes.data % 64 == 0
        with pytest.raises(ValueError, match="read-only"):
            array[...] = 0
    assert names(directory) == {record.version}
    assert (directory / record.version).stat().st_size == record.bytes


def test_a_model_is_read_from_the_store_once(files: SnapshotFiles, registry: Registry) -> None:
    source = Counting(registry)
    version = published(registry).version
    for _ in range(3):
        files.open(source, version)
    assert source.reads == 1


def test_a_model_without_bytes_opens_too(files: SnapshotFiles, registry: Registry) -> None:
    made = Snapshot("empty", {"a": np.empty((0, 4), np.float32)})
    version = published(registry, made).version
    for _ in range(2):
        assert files.open(registry, version).arrays["a"].shape == (0, 4)


def test_four_processes_that_open_a_new_model_at_once_hold_one_file(
    files: SnapshotFiles, registry: Registry, redis_url: str, namespace: str, directory: Path
) -> None:
    version = published(registry, snapshot(5_000, 64)).version
    command = [sys.executable, "-c", OPENER, redis_url, namespace, str(directory), version]
    with contextlib.ExitStack() as stack:
        openers = [
            stack.enter_context(
                subprocess.Popen(
                    command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1
                )
            )
            for _ in range(4)
        ]
        for opener in openers:
            assert opener.stdin is not None
            opener.stdin.write("go\n")
        for opener in openers:
            assert opener.stdout is not None
            assert opener.stdout.readline() == "True\n"
        assert names(directory) == {version}
        assert files.remove_unused([]) == [], "they look at it"
        for opener in openers:
            opener.communicate("done\n")
    assert files.remove_unused([]) == [version]


def test_a_damaged_chunk_is_refused_and_leaves_no_file(
    files: SnapshotFiles, registry: Registry, client: redis.Redis, directory: Path
) -> None:
    version = published(registry).version
    [key] = registry._chunk_keys(version)
    good = client.get(key)
    assert isinstance(good, bytes)
    for bad, says in ((good[:-64] + bytes(64), "is damaged"), (good[:-64], "instead of")):
        client.set(key, bad)
        with pytest.raises(SnapshotFormat, match=says):
            files.open(registry, version)
        assert names(directory) == set()
    client.delete(key)
    with pytest.raises(SnapshotFormat, match="missing from the store"):
        files.open(registry, version)
    client.set(key, good)
    assert files.open(registry, version).version == version


def test_a_damaged_file_is_fetched_anew(
    files: SnapshotFiles, registry: Registry, directory: Path
) -> None:
    version = published(registry).version
    files.open(registry, version)
    path = directory / version
    good = path.read_bytes()
    for bad in (b"\xff" + good[1:], good[:-64], b""):
        path.unlink()
        path.write_bytes(bad)
        assert files.open(registry, version).version == version
        assert path.read_bytes() == good


def test_files_of_a_killed_writer_are_removed(
    files: SnapshotFiles, registry: Registry, directory: Path
) -> None:
    version = published(registry).version
    directory.mkdir(parents=True)
    for name in (f"{version}.part", f"{UNKNOWN}.part"):
        (directory / name).write_bytes(b"half")
    assert files.open(registry, version).version == version
    assert names(directory) == {version}


def test_a_model_that_is_looked_at_outlives_its_removal(
    files: SnapshotFiles, registry: Registry, directory: Path
) -> None:
    record = published(registry)
    opened = files.open(registry, record.version)
    registry.prune(keep=0, max_age_ms=10**15)
    assert files.remove_unused([]) == [], "it is mapped"
    (directory / record.version).unlink()
    assert opened.version == record.version
    with pytest.raises(NotFound):
        files.open(registry, record.version)


def test_files_that_nobody_looks_at_are_removed(
    files: SnapshotFiles, registry: Registry, directory: Path
) -> None:
    kept, wanted, unused = (published(registry, seed=seed).version for seed in range(3))
    looked_at = files.open(registry, kept)
    files.open(registry, wanted)
    files.open(registry, unused)
    gc.collect()
    assert files.remove_unused([wanted]) == [unused]
    assert names(directory) == {kept, wanted}
    one_array = looked_at.arrays["gram"]
    del looked_at
    gc.collect()
    assert files.remove_unused([wanted]) == [], "a single array still is"
    del one_array
    gc.collect()
    assert files.remove_unused([wanted]) == [kept]
    assert SnapshotFiles(directory / "nowhere").remove_unused([]) == []


def test_an_unwritable_directory_is_said_and_a_file_that_is_there_still_opens(
    registry: Registry, tmp_path: Path
) -> None:
    version = published(registry).version
    blocked = tmp_path / "file"
    blocked.write_text("not a directory")
    with pytest.raises(StoreUnavailable, match="choose another directory with HEDGEROW_DATA_DIR"):
        SnapshotFiles(blocked / "snapshots").open(registry, version)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no /dev/full")
def test_a_full_disk_is_said_and_leaves_nothing(
    files: SnapshotFiles, registry: Registry, directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    version = published(registry).version
    opened = Path.open

    def on_a_full_disk(path: Path, *mode: str, **more: object) -> object:
        if path.suffix == ".part" and mode == ("xb",):
            opened(path, *mode).close()  # type: ignore[call-overload]
            return opened(Path("/dev/full"), "wb")
        return opened(path, *mode, **more)  # type: ignore[call-overload]

    with monkeypatch.context() as patched:
        patched.setattr(Path, "open", on_a_full_disk)
        with pytest.raises(StoreUnavailable, match=os.strerror(28)):
            files.open(registry, version)
    assert names(directory) == set()
    assert files.open(registry, version).version == version
