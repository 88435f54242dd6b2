"""The file of a backup: a stream of frames, each with a checksum that covers all before it.

It is written and read from the beginning to the end, so any pipe can carry it. A flipped bit, a
frame that is missing, doubled or moved, a lost end, and bytes behind the end are all refused.

    file   = line "hedgerow backup 1", header, frames of pieces, summary
    frame  = kind (1 byte), length of the body (u32), BLAKE2b-128 of (the checksum before, kind,
             length, body), body
    body   = JSON (header, summary), or MessagePack: a list of pieces

Nothing is deflated: most bytes are rows of numbers, and programs beside it do that faster.
"""

import hashlib
import struct
from collections.abc import Iterator, Mapping
from typing import BinaryIO, TypeVar

import msgspec

from service.errors import ServiceError
from service.store.backup.pieces import Piece

MAGIC = b"hedgerow backup 1\n"
FRAME_BYTES = 1 << 20
"""A frame of pieces is closed once it has this many bytes."""
LONGEST_FRAME = 1 << 30
"""Bytes of a frame that a reader accepts."""

_HEAD = struct.Struct("<cI16s")
_HEADER, _PIECES, _SUMMARY = b"h", b"p", b"s"

T = TypeVar("T")


class BadBackup(ServiceError):
    """A file that is no backup, is damaged, or does not belong where it was named."""

    status, code = 422, "bad_backup"


class Header(msgspec.Struct, frozen=True):
    """What a backup is of."""

    id: str
    namespace: str
    partitions: int
    identity: str
    """The identity of the namespace (``store/identity``)."""
    layout: Mapping[str, int]
    """Family of keys -> its layout, as in ``store/layout.py``."""
    written_by: str
    began_ms: int
    parent: str | None = None
    """The backup that an incremental one continues; None: it is whole."""


class Summary(msgspec.Struct, frozen=True):
    """What a backup holds."""

    cut_ms: int
    """The moment that it shows."""
    sequences: tuple[int, ...]
    """Number of the newest event of each partition."""
    items: int
    """Number of items with a number."""
    written: int
    """Number of keys that were written, keys that changed meanwhile repeatedly."""
    deleted: int
    pause_ms: float
    """How long writers were held for the cut."""


class Writer:
    """Writes a backup; the file is whole once ``end`` has returned."""

    def __init__(self, out: BinaryIO, header: Header) -> None:
        self._out, self._digest = out, b""
        self._pieces: list[msgspec.Raw] = []
        self._held = 0
        self._encode = msgspec.msgpack.Encoder().encode
        self.bytes = out.write(MAGIC)
        self._frame(_HEADER, msgspec.json.encode(header))

    def add(self, piece: Piece) -> None:
        """Append one piece."""
        packed = self._encode(piece)
        self._pieces.append(msgspec.Raw(packed))
        self._held += len(packed)
        if self._held >= FRAME_BYTES:
            self._flush()

    def end(self, summary: Summary) -> None:
        """Write what is left and the summary."""
        self._flush()
        self._frame(_SUMMARY, msgspec.json.encode(summary))
        self._out.flush()

    def _flush(self) -> None:
        if self._pieces:
            self._frame(_PIECES, self._encode(self._pieces))
        self._pieces, self._held = [], 0

    def _frame(self, kind: bytes, body: bytes) -> None:
        self._digest = _checksum(self._digest, kind, body)
        self.bytes += self._out.write(_HEAD.pack(kind, len(body), self._digest))
        self.bytes += self._out.write(body)


class Reader:
    """Reads a backup; BadBackup names the file and what is wrong with it."""

    def __init__(self, file: BinaryIO, name: str) -> None:
        """``name`` of the file, for messages. Reads the header."""
        self._file, self._name, self._digest = file, name, b""
        if file.read(len(MAGIC)) != MAGIC:
            raise BadBackup(
                f"{name}: it is no backup, or one of another version of the format: name another "
                "file, or use the version of Hedgerow that made it"
            )
        kind, body = self._frame()
        if kind != _HEADER:
            raise self._bad("it does not begin with a header")
        self.header = self._decoded(body, Header)
        self._summary: Summary | None = None

    def pieces(self) -> Iterator[Piece]:
        """Yield all pieces in order, each of a frame whose checksum is right."""
        decoder = msgspec.msgpack.Decoder(list[Piece])
        while True:
            kind, body = self._frame()
            if kind == _SUMMARY:
                break
            if kind != _PIECES:
                raise self._bad(f"it holds a frame of the unknown kind {kind!r}")
            try:
                yield from decoder.decode(body)
            except msgspec.DecodeError as error:
                raise self._bad(f"a frame cannot be read ({error})") from error
        self._summary = self._decoded(body, Summary)
        if self._file.read(1):
            raise self._bad("something stands behind its end")

    def whole(self) -> Summary:
        """Return what it holds, once all pieces were read."""
        if self._summary is None:
            raise self._bad("its summary stands behind the pieces, which were not read")
        return self._summary

    def _frame(self) -> tuple[bytes, bytes]:
        head = self._file.read(_HEAD.size)
        if len(head) < _HEAD.size:
            raise self._bad("it ends too early: it was cut off, or its backup was interrupted")
        kind, length, digest = _HEAD.unpack(head)
        if length > LONGEST_FRAME:
            raise self._bad("it is damaged: a frame is longer than any that is written")
        body = self._file.read(length)
        if len(body) < length:
            raise self._bad("it ends too early: it was cut off, or its backup was interrupted")
        if _checksum(self._digest, kind, body) != digest:
            raise self._bad("it is damaged: a checksum does not fit")
        self._digest = digest
        return kind, body

    def _decoded(self, body: bytes, wanted: type[T]) -> T:
        try:
            return msgspec.json.decode(body, type=wanted)
        except msgspec.DecodeError as error:
            raise self._bad(f"its {wanted.__name__.lower()} cannot be read ({error})") from error

    def _bad(self, detail: str) -> BadBackup:
        return BadBackup(f"{self._name}: {detail}. Take another backup")


def _checksum(before: bytes, kind: bytes, body: bytes) -> bytes:
    digest = hashlib.blake2b(before + kind + len(body).to_bytes(4, "little"), digest_size=16)
    digest.update(body)
    return digest.digest()
