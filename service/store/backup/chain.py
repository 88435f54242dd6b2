"""Files of backups: a whole one, and those that continue it, each the one before.

A file is written beside its place and moved there when it is whole and synced, so whatever has the
name of a backup is one.
"""

import os
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import chain as joined
from pathlib import Path
from typing import BinaryIO

from service.errors import Misconfigured
from service.store.backup.container import BadBackup, Header, Reader, Summary
from service.store.backup.pieces import Piece

SUFFIX = ".backup"


@dataclass(frozen=True)
class Checked:
    """A file that was read to its end, and is whole."""

    path: Path
    header: Header
    summary: Summary


@contextmanager
def opened(path: Path) -> Iterator[Reader]:
    """Open a backup for reading; BadBackup if it is none."""
    try:
        with path.open("rb") as file:
            yield Reader(file, str(path))
    except OSError as error:
        raise BadBackup(f"cannot read {path} ({error.strerror}): name another file") from error


@contextmanager
def written(path: Path) -> Iterator[BinaryIO]:
    """Yield a file that gets its name once it is whole; a file that had the name is replaced.

    Only its owner may read it: it holds digests of keys, and the names of users.
    """
    if path.exists() and not path.is_file():
        raise Misconfigured(
            f"{path} is no file, and is not replaced by one: name a file, or - for standard output"
        )
    try:
        with _part_of(path) as (file, part):
            yield file
            file.flush()
            os.fsync(file.fileno())
            part.replace(path)
        _sync(path.parent)
    except OSError as error:
        raise Misconfigured(
            f"cannot write {path} ({error.strerror or error}): name another place, or make room"
        ) from error


@contextmanager
def _part_of(path: Path) -> Iterator[tuple[BinaryIO, Path]]:
    """Yield a new file beside a place, whatever killed processes left there."""
    handle, name = tempfile.mkstemp(prefix=f"{path.name}.", suffix=".part", dir=path.parent)
    part = Path(name)
    try:
        with os.fdopen(handle, "wb") as file:
            yield file, part
    finally:
        part.unlink(missing_ok=True)


def checked(
    paths: Sequence[Path], seen: Callable[[Piece], object] = lambda _: None
) -> list[Checked]:
    """Read files to their ends; BadBackup unless all are whole and each continues the one before.

    ``seen`` is told every piece, in order.
    """
    found: list[Checked] = []
    for path in paths:
        with opened(path) as reader:
            _check_place(reader.header, found, path)
            for piece in reader.pieces():
                seen(piece)
            found.append(Checked(path, reader.header, reader.whole()))
    return found


@contextmanager
def pieces(chain: Sequence[Checked]) -> Iterator[Iterator[Piece]]:
    """Yield the pieces of files that belong together; a later one of a key counts.

    All are open from the beginning: whoever removes one takes nothing away.
    """
    with ExitStack() as stack:
        readers = [stack.enter_context(opened(one.path)) for one in chain]
        for reader, one in zip(readers, chain, strict=True):
            if reader.header != one.header:
                raise BadBackup(f"{one.path} was replaced while it was read: try again")
        yield joined.from_iterable(reader.pieces() for reader in readers)


def check_repeatable(paths: Sequence[Path]) -> None:
    """BadBackup for what can be read only once, as a pipe: a restore reads its files twice."""
    for path in paths:
        if path.exists() and not path.is_file():
            raise BadBackup(f"{path} is no file: send it to standard input (`hedgerow restore -`)")


def named(folder: Path, namespace: str, header_ms: int, *, is_whole: bool) -> Path:
    """Return the path of a new backup in a folder."""
    at = f"{datetime.fromtimestamp(header_ms / 1_000, UTC):%Y%m%dT%H%M%S.%f}"[:-3]
    return folder / f"{namespace}-{at}Z-{'whole' if is_whole else 'increment'}{SUFFIX}"


def in_folder(folder: Path, namespace: str | None = None) -> list[list[Path]]:
    """Return the chains of a folder, each a whole backup and what continues it, the latest last.

    Two that continue the same one end two chains. BadBackup if a file in between is missing, or the
    folder holds backups of several namespaces and none is named.
    """
    headers = {path: _header(path) for path in sorted(folder.glob(f"*{SUFFIX}"))}
    names = sorted({header.namespace for header in headers.values()})
    if namespace is None and len(names) > 1:
        raise BadBackup(
            f"{folder} holds backups of several namespaces ({', '.join(names)}): name the files"
        )
    ours = {h.id: (p, h) for p, h in headers.items() if namespace in (None, h.namespace)}
    continued = {header.parent for _, header in ours.values()}
    ends = sorted((h.began_ms, one) for one, (_, h) in ours.items() if one not in continued)
    return [_up_to(end, ours, folder) for _, end in ends]


def _up_to(end: str, ours: Mapping[str, tuple[Path, Header]], folder: Path) -> list[Path]:
    """Return the chain that ends with a backup: parents say what is before, no clock does."""
    path, header = ours[end]
    found = [path]
    while header.parent is not None:
        if header.parent not in ours:
            raise BadBackup(
                f"{path} continues the backup {header.parent}, which is not in {folder}: put it "
                "back, or move the file elsewhere"
            )
        path, header = ours[header.parent]
        found.append(path)
    return found[::-1]


def named_files(paths: Sequence[Path]) -> Sequence[Path]:
    """Return the files themselves, or of one folder those of its latest chain."""
    if len(paths) != 1 or not paths[0].is_dir():
        return paths
    chains = in_folder(paths[0])
    if not chains:
        raise BadBackup(f"the folder {paths[0]} holds no backup (*{SUFFIX}): name another")
    return chains[-1]


def _header(path: Path) -> Header:
    with opened(path) as reader:
        return reader.header


def _check_place(header: Header, before: Sequence[Checked], path: Path) -> None:
    parent = before[-1].header.id if before else None
    if header.parent == parent:
        return
    if not before:
        raise BadBackup(
            f"{path} continues the backup {header.parent}: name that first, and what it continues"
        )
    raise BadBackup(
        f"{path} does not continue {before[-1].path}: name a whole backup, then what continues it, "
        "in order"
    )


def _sync(folder: Path) -> None:
    """Let the new name survive a power cut."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
