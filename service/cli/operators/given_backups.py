"""The backups that somebody names: files, a folder, or standard input."""

import shutil
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from service.errors import Misconfigured
from service.store.backup.chain import named_files


def is_standard_input(source: Sequence[Path]) -> bool:
    """Return whether a command is to read standard input."""
    return [str(path) for path in source] == ["-"]


@contextmanager
def given_backups(source: Sequence[Path]) -> Iterator[Sequence[Path]]:
    """Yield the files; standard input becomes one, because a restore reads it twice."""
    if not is_standard_input(source):
        yield named_files(source)
        return
    with tempfile.TemporaryDirectory(prefix="hedgerow-backup-") as room:
        path = Path(room, "standard-input")
        try:
            with path.open("wb") as file:
                shutil.copyfileobj(sys.stdin.buffer, file)
        except OSError as error:
            raise Misconfigured(
                f"cannot keep standard input in {room} ({error.strerror}), where it is checked: "
                "make room there, or name a folder with room (TMPDIR)"
            ) from error
        yield [path]
