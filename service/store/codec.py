"""The two binary formats: entries of the log and records of a history. Little-endian, versioned, no pickle.

A log entry holds n events as columns; its stream id is the sequence of its last event, so event i of entry
S has sequence S - n + 1 + i.
"""

import struct
from dataclasses import dataclass
from typing import NewType

import numpy as np

from core.types import F32, I64, U8
from numpy.typing import NDArray

U32 = NDArray[np.uint32]
Partition = NewType("Partition", int)

RATING = 0
"""Kind code of a rating; 1..199 are the other kinds of the settings' table."""
DELETE_RATING, DELETE_ITEM, DELETE_USER = 200, 201, 202
"""Kind codes of deletions: they take their place in the order but enter no history."""

HAS_DIGEST = 1
"""Row flag: the event carried an id; its 16-byte digest stands in ``digests``."""
AWAITED = 2
"""Row flag: somebody waits for the prediction made before learning (``?wait=learned``)."""

DIGEST_BYTES = 16

HISTORY = np.dtype(
    [
        ("item", "<u4"),
        ("value", "<f4"),
        ("time_ms", "<i8"),
        ("sequence_low", "<u4"),
        ("sequence_high", "<u2"),
        ("kind", "u1"),
        ("flags", "u1"),
    ]
)
"""One record of a user's history, 24 bytes; the sequence is a u48."""

_HEADER = struct.Struct("<4sIIIq")
_MAGIC = b"hrl1"


@dataclass(frozen=True)
class Entry:
    """n events: all arrays (n,). ``users`` are the distinct ids that ``user_ix`` points into.

    value f32 is the rating on the native scale (0 for other kinds) · time_ms i64 UTC ·
    digests: 16 bytes for each row flagged HAS_DIGEST, in order · appended_ms: the api's clock at append.
    """

    users: tuple[str, ...]
    user_ix: U32
    item: U32
    value: F32
    time_ms: I64
    kind: U8
    flags: U8
    digests: bytes
    appended_ms: int

    def __len__(self) -> int:
        return len(self.user_ix)


def encode(entry: Entry) -> bytes:
    """Pack an entry for the log."""
    names = [user.encode() for user in entry.users]
    lengths = np.fromiter(map(len, names), dtype="<u2", count=len(names))
    return b"".join(
        (
            _HEADER.pack(_MAGIC, len(entry), len(names), len(entry.digests), entry.appended_ms),
            lengths.tobytes(),
            *names,
            entry.user_ix.astype("<u4", copy=False).tobytes(),
            entry.item.astype("<u4", copy=False).tobytes(),
            entry.value.astype("<f4", copy=False).tobytes(),
            entry.time_ms.astype("<i8", copy=False).tobytes(),
            entry.kind.tobytes(),
            entry.flags.tobytes(),
            entry.digests,
        )
    )


def decode(packed: bytes) -> Entry:
    """Unpack what ``encode`` packed; ValueError for anything else."""
    magic, n, n_users, n_digest_bytes, appended_ms = _HEADER.unpack_from(packed)
    if magic != _MAGIC:
        raise ValueError(f"not a log entry of this version: it starts with {packed[:4]!r}")
    lengths = np.frombuffer(packed, "<u2", n_users, _HEADER.size)
    at = _HEADER.size + 2 * n_users
    ends = at + np.cumsum(lengths, dtype=np.int64)
    starts = ends - lengths
    users = tuple(packed[a:b].decode() for a, b in zip(starts.tolist(), ends.tolist(), strict=True))
    at = int(ends[-1]) if n_users else at
    columns = []
    for kind in ("<u4", "<u4", "<f4", "<i8", "u1", "u1"):
        columns.append(np.frombuffer(packed, kind, n, at))
        at += columns[-1].nbytes
    if at + n_digest_bytes != len(packed):
        raise ValueError(f"a log entry of {len(packed)} bytes should have {at + n_digest_bytes}")
    return Entry(users, *columns, digests=packed[at:], appended_ms=appended_ms)
