"""Models as files that all processes of a machine map read-only, so that they share one copy.

The first process that needs a model writes ``<directory>/<version>``; a mapped file is locked
against removal. No file is trusted: opening it compares the sha256 of each array with the manifest.
"""

import contextlib
import fcntl
import mmap
import os
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Protocol

from core.errors import SnapshotFormat
from core.snapshot import Snapshot, blob_bytes, mapped
from service.errors import StoreUnavailable

LOCK, PART = ".lock", ".part"
_VERSION = re.compile(r"[0-9a-f]{64}")


class Source(Protocol):
    """A store of models: manifests, and arrays in chunks."""

    def manifest(self, version: str) -> dict[str, Any]:
        """Return the manifest of a model's arrays."""

    def chunks(self, version: str) -> Iterator[bytes]:
        """Yield the bytes of the arrays."""


class SnapshotFiles:
    """The files of one directory, which is created with the first file."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory

    def open(self, source: Source, version: str) -> Snapshot:
        """Return a model whose arrays are pages of its file.

        Raises NotFound, SnapshotFormat if the stored model is damaged, and StoreUnavailable if the
        file cannot be read or written.
        """
        manifest = source.manifest(version)
        with self._explained():
            snapshot = self._known(version, manifest)
            if snapshot is not None:
                return snapshot
            with self._writing():
                # another process may have written the file while we waited
                snapshot = self._known(version, manifest)
                return snapshot or self._fetched(version, manifest, source.chunks(version))

    def remove_unused(self, wanted: Collection[str]) -> list[str]:
        """Remove files that are neither wanted nor mapped by any process; return their versions."""
        with contextlib.suppress(OSError):
            names = [path.name for path in self._directory.iterdir()]
            return [
                name
                for name in names
                if _VERSION.fullmatch(name) and name not in wanted and self._remove(name)
            ]
        return []

    def _known(self, version: str, manifest: Mapping[str, Any]) -> Snapshot | None:
        """Return the model in the file, None if there is no file or it is damaged."""
        try:
            return mapped(manifest, _map(self._directory / version))
        except (FileNotFoundError, SnapshotFormat):
            return None

    def _fetched(
        self, version: str, manifest: Mapping[str, Any], chunks: Iterable[bytes]
    ) -> Snapshot:
        for leftover in self._directory.glob(f"*{PART}"):
            leftover.unlink()
        part = self._directory / f"{version}{PART}"
        try:
            self._write(part, chunks, blob_bytes(manifest))
            snapshot = mapped(manifest, _map(part))
            part.rename(self._directory / version)
        finally:
            part.unlink(missing_ok=True)
        return snapshot

    def _write(self, part: Path, chunks: Iterable[bytes], size: int) -> None:
        with part.open("xb") as file:
            for chunk in chunks:
                file.write(chunk)
            file.flush()
            os.fsync(file.fileno())
            if file.tell() != size:
                raise SnapshotFormat(f"the model has {file.tell()} bytes instead of {size}")

    def _remove(self, name: str) -> bool:
        path = self._directory / name
        with path.open("rb") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                return False
            path.unlink()
        return True

    @contextlib.contextmanager
    def _writing(self) -> Iterator[None]:
        """Let one process of the machine write at a time; a lock ends with its process."""
        self._directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        with (self._directory / LOCK).open("ab") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield

    @contextlib.contextmanager
    def _explained(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise StoreUnavailable(
                f"a model cannot be kept in {self._directory} ({error.strerror}): free some space, "
                "or choose another directory with HEDGEROW_DATA_DIR"
            ) from error


def _map(path: Path) -> memoryview:
    """Map a file, which stays locked against ``remove_unused`` while the memory is in use."""
    with path.open("rb") as file:
        # the lock belongs to the open file: mmap's copy of the descriptor keeps it
        fcntl.flock(file, fcntl.LOCK_SH)
        status = os.fstat(file.fileno())
        if status.st_nlink == 0:
            raise FileNotFoundError(path)
        if status.st_size == 0:
            return memoryview(b"")
        return memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
