"""Cursors of slates: which list, which models, up to which event it counts, and what was shown already.

The shown items are left out of the next page, so no item comes twice and none is skipped, whatever is hidden,
rated or learned meanwhile. A list ends where its cursor would become too long: after thousands of items.
"""

import base64
import binascii
import zlib
from hashlib import blake2b

import msgspec
import numpy as np

from core.types import I32
from service.api.cursors import InvalidCursor
from service.api.slate_requests import Shape, refuse
from service.rec_ids import Strategy
from service.serving.recommender import Place

MAX_LENGTH = 8_000
COMPRESSED = 128
"""Bytes from which on the shown items are compressed."""
_MOST_BYTES = 1 << 16


class _Packed(msgspec.Struct, array_like=True):
    digest: bytes
    strategy: Strategy
    versions: dict[str, str]
    cut: int
    shown: bytes


_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(_Packed).decode


def make_cursor(of: bytes, place: Place) -> str | None:
    """Return a cursor; ``of`` names the list and every parameter that shapes it. None: the list is too long."""
    shown = _pack(place.shown)
    packed = _Packed(_digest(of), place.strategy, dict(place.versions), place.cut, shown)
    text = base64.urlsafe_b64encode(_encode(packed)).decode().rstrip("=")
    return text if len(text) <= MAX_LENGTH else None


def read_cursor(of: bytes, given: str) -> Place:
    """Return the place in a cursor that ``make_cursor`` made for the same list; InvalidCursor."""
    try:
        padded = given.encode() + b"=" * (-len(given) % 4)
        packed = _decode(base64.b64decode(padded, altchars=b"-_", validate=True))
        shown = _unpack(packed.shown)
    except (binascii.Error, UnicodeError, msgspec.DecodeError, zlib.error, ValueError):
        raise _invalid() from None
    if packed.digest != _digest(of):
        raise _invalid()
    return Place(packed.strategy, packed.versions, packed.cut, shown)


def place(of: bytes, request: Shape) -> Place | None:
    """Return where the page before this one ended, if there was one."""
    if request.cursor is None:
        return None
    if request.offset:
        refuse("query", "offset", "a cursor knows its place: leave `offset` out")
    return read_cursor(of, request.cursor)


def _invalid() -> InvalidCursor:
    return InvalidCursor(
        "hand back `next_cursor` of the same list with the same parameters, or leave it out"
    )


def _digest(of: bytes) -> bytes:
    return blake2b(of, digest_size=6).digest()


def _pack(numbers: I32) -> bytes:
    """Pack rising numbers as the gaps between them, in as few bytes as the widest needs."""
    gaps = np.diff(numbers, prepend=0)
    width = next(w for w in (1, 2, 4) if gaps.max(initial=0) < 1 << (8 * w))
    raw = gaps.astype(f"<u{width}").tobytes()
    if len(raw) < COMPRESSED:
        return bytes([width]) + raw
    return bytes([width | 8]) + zlib.compress(raw, 9)


def _unpack(packed: bytes) -> I32:
    if not packed or packed[0] & ~8 not in {1, 2, 4}:
        raise ValueError("these are no numbers")
    raw = packed[1:]
    if packed[0] & 8:
        raw = zlib.decompressobj().decompress(raw, _MOST_BYTES)
    numbers = np.cumsum(np.frombuffer(raw, f"<u{packed[0] & 7}"), dtype=np.int64)
    if numbers.size and int(numbers[-1]) >= 1 << 31:
        raise ValueError("a number is too large")
    return numbers.astype(np.int32)
