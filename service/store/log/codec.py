"""The binary formats of log entries and awaited answers: little-endian, no pickle.

A log entry holds n events as columns; its stream id is the sequence of its last event, so event i
of entry S has sequence S - n + 1 + i.
"""

import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, compress, pairwise
from typing import Any, NamedTuple, NewType

import numpy as np
from numpy.typing import NDArray

from core.types import F32, I64, U8

U32 = NDArray[np.uint32]
Partition = NewType("Partition", int)

DELETE_RATING, DELETE_ITEM, DELETE_USER = 200, 201, 202
"""Kind codes of deletions; the settings' kinds have codes below 200.

Deletions have a sequence like any event but enter no history."""
MERGE_USER, MOVE_USER = 203, 204
"""Kind codes of a merge.

MERGE_USER: the user's events become those of the user that ``item`` points to in ``users``.
MOVE_USER: the user's events up to the sequence in ``time_ms`` have been sent to another partition,
as events of another user.
"""

HAS_DIGEST = 1
"""Row flag: the event carried an id; its 16-byte digest is in ``digests``."""
AWAITED = 2
"""Row flag: a request waits for the prediction made before learning (``?wait=learned``)."""
HAS_SOURCE = 4
"""Row flag: the event follows a slate; the slate's source is in ``sources`` (see ``rec_ids``)."""

HAS_CONTEXT = 8
"""Row flag: the event says where it happened; ``contexts`` has that (see ``packed_context``)."""

MOVED = 16
"""Row flag: the event comes from a user of another partition, where its context was counted."""

HAS_PRODUCER = 32
"""Row flag: the last ``PRODUCER_BYTES`` of its digest name who sent it, and are not part of the id.
"""

DIGEST_BYTES, PRODUCER_BYTES = 16, 4
LISTS = 64
"""Most lists of remembered ids: number 0 is shared by all producers for whom none is left."""
SOURCE_BYTES = 8

AWAITED_ANSWER = np.dtype(
    [("sequence", "<i8"), ("rating", "<f4"), ("low", "<f4"), ("high", "<f4"), ("status", "u1")]
)
"""An awaited event in the change feed, with the prediction made before it was learned."""
LEARNED, DUPLICATE, NOT_A_RATING = 0, 1, 2
"""Status of an awaited answer; only LEARNED comes with a prediction."""

_HEADER = struct.Struct("<4sIIIq")
_MAGIC, _MAGIC_WITH_SOURCES, _MAGIC_WITH_CONTEXTS = b"hrl1", b"hrl2", b"hrl3"
"""The second marks entries with ``sources`` at the end, the third those with ``contexts`` behind
them; other entries use the first, as before there were any."""
_MAGICS = {_MAGIC, _MAGIC_WITH_SOURCES, _MAGIC_WITH_CONTEXTS}
_COLUMNS = ("<u4", "<u4", "<f4", "<i8", "u1", "u1")


@dataclass(frozen=True)
class Entry:
    """n events: all arrays (n,). ``users`` are the distinct ids that ``user_ix`` points into.

    value f32 is the rating on the native scale (0 for other kinds) · time_ms i64 UTC ·
    digests, sources: 16 and 8 bytes for each row flagged HAS_DIGEST and HAS_SOURCE, in order ·
    appended_ms: the api's clock at append.
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
    sources: bytes = b""
    contexts: tuple[bytes, ...] = ()
    """One for each row flagged HAS_CONTEXT, in order."""

    def __len__(self) -> int:
        return len(self.user_ix)


class PackedEntry(NamedTuple):
    """An encoded entry of n events for a partition."""

    partition: int
    packed: bytes
    n: int


def encode(entry: Entry) -> bytes:
    """Pack an entry for the log."""
    magic = _MAGIC_WITH_SOURCES if entry.sources else _MAGIC
    magic = _MAGIC_WITH_CONTEXTS if entry.contexts else magic
    names = [user.encode() for user in entry.users]
    lengths = np.fromiter(map(len, names), dtype="<u2", count=len(names))
    return b"".join(
        (
            _HEADER.pack(magic, len(entry), len(names), len(entry.digests), entry.appended_ms),
            lengths.tobytes(),
            *names,
            entry.user_ix.astype("<u4", copy=False).tobytes(),
            entry.item.astype("<u4", copy=False).tobytes(),
            entry.value.astype("<f4", copy=False).tobytes(),
            entry.time_ms.astype("<i8", copy=False).tobytes(),
            entry.kind.tobytes(),
            entry.flags.tobytes(),
            entry.digests,
            entry.sources,
            *[len(one).to_bytes(2, "little") + one for one in entry.contexts],
        )
    )


def decode(packed: bytes) -> Entry:
    """Unpack what ``encode`` packed; ValueError for anything else."""
    if len(packed) < _HEADER.size or packed[:4] not in _MAGICS:
        raise ValueError(f"not a log entry of this version: it starts with {packed[:4]!r}")
    magic, n, n_users, n_digest_bytes, appended_ms = _HEADER.unpack_from(packed)
    lengths = np.frombuffer(packed, "<u2", n_users, _HEADER.size)
    at = _HEADER.size + 2 * n_users
    bounds = list(accumulate(lengths.tolist(), initial=at))
    users = tuple([packed[a:b].decode() for a, b in pairwise(bounds)])
    columns: list[Any] = []
    at = bounds[-1]
    for kind in _COLUMNS:
        columns.append(np.frombuffer(packed, kind, n, at))
        at += columns[-1].nbytes
    user_ix, item, value, time_ms, kinds, flags = columns
    end = at + n_digest_bytes
    sourced = 0 if magic == _MAGIC else int(np.count_nonzero(flags & HAS_SOURCE))
    contexts_at = end + SOURCE_BYTES * sourced
    n_contexts = int(np.count_nonzero(flags & HAS_CONTEXT)) if magic == _MAGIC_WITH_CONTEXTS else 0
    contexts, ends_at = _contexts(packed, contexts_at, n_contexts)
    if ends_at != len(packed):
        raise ValueError(f"a log entry of {len(packed)} bytes should have {ends_at}")
    return Entry(
        users=users,
        user_ix=user_ix,
        item=item,
        value=value,
        time_ms=time_ms,
        kind=kinds,
        flags=flags,
        digests=packed[at:end],
        appended_ms=appended_ms,
        sources=packed[end:contexts_at],
        contexts=contexts,
    )


def digests_in(packed: bytes) -> tuple[int, int]:
    """Return where the digests of an entry begin, and how many there are."""
    _, n, n_users, n_digest_bytes, _ = _HEADER.unpack_from(packed)
    if not n_digest_bytes:
        return 0, 0
    lengths = np.frombuffer(packed, "<u2", n_users, _HEADER.size)
    row = sum(np.dtype(kind).itemsize for kind in _COLUMNS)
    at = _HEADER.size + lengths.nbytes + int(lengths.sum(dtype=np.int64)) + n * row
    return at, n_digest_bytes // DIGEST_BYTES


def without(entry: Entry, until: Mapping[str, int], first: int) -> Entry:
    """Return an entry without the events of some users up to a sequence of each.

    ``first`` is the sequence of the first event; if some have left the entry before, those behind
    them count as if they had come as early as they may have. Nobody is named but in an event.
    """
    through = np.array([until.get(user, 0) for user in entry.users], dtype=np.int64)
    merges = entry.kind == MERGE_USER
    # the item of a merge is a place among the users
    target = np.where(merges, entry.item, 0)
    sequence = first + np.arange(len(entry))
    keep = (sequence > through[entry.user_ix]) & ~(merges & (sequence <= through[target]))
    named = np.zeros(len(entry.users), dtype=bool)
    named[entry.user_ix[keep]] = named[target[keep & merges]] = True
    place = np.cumsum(named) - 1
    contexts = _kept(entry, keep, HAS_CONTEXT)
    return Entry(
        users=tuple(compress(entry.users, named.tolist())),
        user_ix=place[entry.user_ix[keep]].astype(np.uint32),
        item=np.where(merges, place[target], entry.item)[keep].astype(np.uint32),
        value=entry.value[keep],
        time_ms=entry.time_ms[keep],
        kind=entry.kind[keep],
        flags=entry.flags[keep],
        digests=_picked(entry.digests, DIGEST_BYTES, _kept(entry, keep, HAS_DIGEST)),
        appended_ms=entry.appended_ms,
        sources=_picked(entry.sources, SOURCE_BYTES, _kept(entry, keep, HAS_SOURCE)),
        contexts=tuple(compress(entry.contexts, contexts)),
    )


def _kept(entry: Entry, keep: NDArray[np.bool_], flag: int) -> list[bool]:
    """Return of each row with a flag, in order, whether it is kept."""
    kept: list[bool] = keep[(entry.flags & flag) > 0].tolist()
    return kept


def _picked(column: bytes, size: int, keep: Sequence[bool]) -> bytes:
    """Return the cells that are kept of a column of cells of one size."""
    cells = (column[at : at + size] for at in range(0, len(column), size))
    return b"".join(compress(cells, keep))


def _contexts(packed: bytes, at: int, n: int) -> tuple[tuple[bytes, ...], int]:
    """Return the n contexts that begin at a position, and where they end."""
    found = []
    for _ in range(n):
        length = int.from_bytes(packed[at : at + 2], "little")
        found.append(packed[at + 2 : at + 2 + length])
        at += 2 + length
    return tuple(found), at


def packed_context(context: Mapping[str, str]) -> bytes:
    """Return a context as the log keeps it: its pairs in order, one a line.

    >>> packed_context({"page": "home", "device": "phone"}).split()
    [b'device=phone', b'page=home']
    """
    return "\n".join(sorted(f"{name}={text}" for name, text in context.items())).encode()
