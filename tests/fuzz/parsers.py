"""Every parser of what clients, files and the store may hold, with samples that it accepts.

A parser may return or raise one of its own errors; anything else is a fault. What it returns must
also hold: the checks stand in the functions below.
"""

import asyncio
import gzip
import io
import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from starlette.exceptions import HTTPException
from starlette.types import Message

from core.errors import FilterSyntax, SnapshotFormat
from core.filter import Columns, parse
from core.scale import Scale
from core.snapshot import Snapshot, blob, mapped
from service.api.feedback.schemas import (
    DECODE_ERRORS,
    Feedback,
    Rules,
    decode_array,
    decode_fault,
    decode_one,
)
from service.api.slates.cursors import PagePosition, make_slate_cursor, read_slate_cursor
from service.cron import cron_problem
from service.errors import ServiceError
from service.files.documents import read_documents
from service.files.features import read_features, read_links
from service.files.feedback import read_parts
from service.files.labelled_points import read_xmlc
from service.files.opening import BadFile
from service.files.ratings import read_ratings
from service.files.tables import read_table
from service.http.compression import unpacking
from service.http.cursors import InvalidCursor, make_cursor, read_cursor, read_number, seal, unseal
from service.ids import InvalidSequence, parse_sequence_token
from service.learning.inspection import Inspection
from service.rec_ids import decode as decode_rec_id
from service.settings import Settings
from service.store.backup.container import BadBackup, Header, Reader, Summary, Writer
from service.store.backup.pieces import Piece
from service.store.log.codec import DIGEST_BYTES, HAS_CONTEXT, HAS_DIGEST, Entry, encode
from service.store.profiles.contexts import packed_entry, read_contexts
from service.store.profiles.history_record import columns, read_history

Parse = Callable[[bytes], object]


@dataclass(frozen=True)
class Parser:
    """A parser, samples that it accepts, and the errors that it may raise."""

    parse: Parse
    samples: Sequence[bytes]
    errors: tuple[type[Exception], ...] = ()

    def accepts(self, data: bytes) -> bool:
        """Whether it accepts some bytes; any error but its own is raised."""
        try:
            self.parse(data)
        except self.errors:
            return False
        return True


MEMORY = Path("/dev/shm")  # noqa: S108 - a directory of its own is made there
"""Where files are quick to write, if there is such a place."""
RULES = Rules.of(Settings(), Scale(1.0, 5.0))


def _line(data: bytes) -> None:
    try:
        event = decode_one(data)
    except DECODE_ERRORS as error:
        code, detail = decode_fault(error)
        assert code, detail
    else:
        RULES.fault(event)


def _array(data: bytes) -> None:
    for event in decode_array(data, most=100):
        if isinstance(event, Feedback):
            RULES.fault(event)


def _filter(data: bytes) -> None:
    documents = [{"year": 1999, "tags": ["a", "b"]}, {"price": 1.5, "new": True}, {}]
    found = parse(data.decode(errors="replace"))
    assert found.mask(Columns.of(documents, sorted(found.names))).size == len(documents)


def _unpacked(data: bytes) -> None:
    async def receive() -> Message:
        return {"type": "http.request", "body": data, "more_body": False}

    async def read() -> None:
        unpacked = unpacking([(b"content-encoding", b"gzip")], receive)
        while (await unpacked())["more_body"]:
            pass

    asyncio.run(read())


def _entry(data: bytes) -> None:
    found = Inspection(Scale(1.0, 5.0), lambda: 100).read(data)
    assert len(found.users[found.user_ix.max()]) <= 256


def _history(data: bytes) -> None:
    found = columns(read_history(data))
    assert found.item.size == found.sequence.size


def _manifest(data: bytes) -> None:
    manifest = json.loads(data)
    mapped(manifest, _SNAPSHOT_BYTES)


def _backup(data: bytes) -> None:
    reader = Reader(io.BytesIO(data), "a file")
    assert all(isinstance(piece, Piece) for piece in reader.pieces())
    reader.whole()


def _text(read: Callable[[str], object]) -> Parse:
    return lambda data: read(data.decode("utf-8", "replace"))


def _file(directory: Path, suffix: str, read: Callable[[Path], object]) -> Parse:
    path = directory / f"input{suffix}"

    def parse_file(data: bytes) -> None:
        path.write_bytes(data)
        read(path)

    return parse_file


_SNAPSHOT = Snapshot("fbgd", {"items": np.eye(3, dtype=np.float32)}, {"reg": 0.5})
_SNAPSHOT_BYTES = b"".join(blob(_SNAPSHOT))
_EVENTS = (
    b'{"user": "a", "item": "b", "rating": 3.5}',
    b'{"user": "\xc3\xa4", "item": "b/c", "kind": "view", "timestamp": "2026-01-01T00:00:00Z"}',
    b'{"user":"u","item":"i","rating":5,"timestamp":1767225600,"event_id":"e"}',
    b'{"user":"u","item":"i","kind":"like","context":{"device":"phone"},"rec_id":"x"}',
)
_CSV = (
    b"user,item,rating,timestamp\n1,2,3.5,1000\n2,3,4,2000\n",
    b'user,item,rating,timestamp\n"a,b","c""d",5,2026-01-01T00:00:00Z\n',
    b"\xef\xbb\xbfuser,item,kind,weight\r\nu,i,view,1\r\n",
)
_DOCUMENTS = (
    b"item,title,genres,year\n1,A film,Drama|Comedy,1999\n2,B,,\n",
    b'{"item": "1", "features": {"year": 1999}, "categories": ["a"], "hidden": false}\n',
)


def _backup_bytes() -> bytes:
    out = io.BytesIO()
    header = Header(
        id="b",
        namespace="n",
        partitions=1,
        identity="i",
        layout={"state": 1},
        written_by="0.1.0",
        began_ms=0,
    )
    writer = Writer(out, header)
    for name in (b"state", b"items:0"):
        writer.add(Piece(0, name, "hash", True, 0, [b"a", b"b"]))
    writer.end(Summary(cut_ms=1, sequences=(1,), items=1, written=2, deleted=0, pause_ms=0.1))
    return out.getvalue()


def _entry_bytes() -> bytes:
    return encode(
        Entry(
            users=("ada", "eva"),
            user_ix=np.array([0, 1, 0], np.uint32),
            item=np.array([3, 5, 7], np.uint32),
            value=np.array([4.0, 0.0, 1.0], np.float32),
            time_ms=np.array([1, 2, 3], np.int64) * 1_000_000,
            kind=np.array([0, 1, 0], np.uint8),
            flags=np.array([HAS_DIGEST, HAS_CONTEXT, 0], np.uint8),
            digests=bytes(range(DIGEST_BYTES)),
            appended_ms=1_000,
            contexts=(b"device=phone",),
        )
    )


def _slate_cursor() -> str:
    versions = {"fbgd": "0123456789abcdef" * 4}
    sealed = make_slate_cursor(b"list", PagePosition("fbgd", versions, 7, [3, 5]))
    assert sealed is not None
    return sealed


@contextmanager
def parsers() -> Iterator[dict[str, Parser]]:
    """Yield all parsers by name; those of files have a directory of their own meanwhile."""
    with TemporaryDirectory(dir=MEMORY if MEMORY.is_dir() else None) as name:
        yield _of_requests() | _of_files(Path(name)) | _of_the_store()


def _of_requests() -> dict[str, Parser]:
    return {
        "a line of feedback": Parser(_line, _EVENTS),
        "an array of feedback": Parser(
            _array, [b"[" + b",".join(_EVENTS) + b"]", b"[]"], (ServiceError,)
        ),
        "a filter": Parser(
            _filter,
            [
                b"year > 1990 and (tags has 'b' or not price <= 1.5e3)",
                b"new = true and title in ('a', 'b''c')",
            ],
            (FilterSyntax,),
        ),
        "a cursor": Parser(
            _text(lambda text: read_cursor("list", text)),
            [make_cursor("list", "place").encode()],
            (InvalidCursor,),
        ),
        "a cursor of a slate": Parser(
            _text(lambda text: read_slate_cursor(b"list", text)),
            [_slate_cursor().encode()],
            (InvalidCursor,),
        ),
        "the content of a cursor": Parser(
            lambda data: read_slate_cursor(b"list", seal(b"list", data)),
            [unseal(b"list", _slate_cursor())],
            (InvalidCursor,),
        ),
        "the number in a cursor": Parser(
            lambda data: read_number("list", seal(b"list", data)), [b"17"], (InvalidCursor,)
        ),
        "a sequence": Parser(_text(parse_sequence_token), [b"0:17,3:9"], (InvalidSequence,)),
        "a rec_id": Parser(_text(decode_rec_id), [b"AQA_orTB0uMBoe6HMgCQwWYZTs4BTrMJ"]),
        "a cron": Parser(_text(cron_problem), [b"0 4 * * *", b"*/5 1-3 1,2 jan mon"]),
        "a compressed body": Parser(
            _unpacked, [gzip.compress(b"[" + _EVENTS[0] + b"]", mtime=0)], (HTTPException,)
        ),
    }


def _of_files(directory: Path) -> dict[str, Parser]:
    bad = (BadFile,)

    def of(suffix: str, read: Callable[[Path], object], *samples: bytes) -> Parser:
        return Parser(_file(directory, suffix, read), samples, bad)

    packed = gzip.compress(_CSV[0], mtime=0)
    numbers = {"1": 0, "2": 1}
    return {
        "a CSV of feedback": of(".csv", lambda path: list(read_parts(path)), *_CSV),
        "lines of feedback": of(
            ".ndjson", lambda path: list(read_parts(path)), b"\n".join(_EVENTS) + b"\n"
        ),
        "a compressed CSV": of(".csv.gz", lambda path: list(read_parts(path)), packed),
        "a CSV of documents": of(
            ".csv", lambda path: list(read_documents(path, "item")), _DOCUMENTS[0]
        ),
        "lines of documents": of(
            ".ndjson", lambda path: list(read_documents(path, "item")), _DOCUMENTS[1]
        ),
        "ratings to evaluate": of(".csv", read_ratings, *_CSV[:2]),
        "features to evaluate": of(
            ".csv", lambda path: read_features(path, "item", numbers), _DOCUMENTS[0]
        ),
        "links to evaluate": of(
            ".csv", lambda path: read_links(path, numbers), b"user,friend\n1,2\n2,1\n"
        ),
        "a table": of(".csv", lambda path: read_table(path, "y"), b"x,z,y\n1,2,3\n4,5.5,6\n"),
        "labelled points": of(
            ".txt", read_xmlc, b"2 3 2\n0,1 0:1.5 2:0.5\n 1:1\n", b"1 2 1\n0 0:1e3\n"
        ),
    }


def _of_the_store() -> dict[str, Parser]:
    history = np.zeros(3, read_history(None).dtype).tobytes()
    return {
        "a log entry": Parser(_entry, [_entry_bytes()], (ValueError,)),
        "a history": Parser(_history, [history]),
        "contexts of a history": Parser(
            read_contexts, [packed_entry(7, b"device=phone") + packed_entry(9, b"a=b\nc=d")]
        ),
        "a manifest": Parser(
            _manifest,
            [json.dumps(_SNAPSHOT.manifest).encode()],
            (SnapshotFormat, json.JSONDecodeError, UnicodeDecodeError),
        ),
        "a backup": Parser(_backup, [_backup_bytes()], (BadBackup,)),
    }
