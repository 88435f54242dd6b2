"""Cursors of slates: which list, which models, up to which event it counts, and what was shown already.

The shown items are left out of the next page, so no item comes twice and none is skipped, whatever is hidden,
rated or learned meanwhile. A list ends where its cursor would become too long: after thousands of items.
"""

import operator
import struct
import zlib
from collections.abc import Sequence

import msgspec
import numpy as np

from service.api.slates.requests import Shape, refuse
from service.http.cursors import InvalidCursor, seal, unseal
from service.ranking.families import AnyStrategy
from service.serving.recommender import PagePosition

MAX_LENGTH = 8_000
COMPRESSED = 128
"""Bytes from which on the shown items are compressed."""
_IS_COMPRESSED, _MOST_BYTES = 8, 1 << 16
"""No cursor holds more numbers than that, however well they compress: reading one is bounded."""
_TYPES = {1: "B", 2: "H", 4: "I"}
"""By width in bytes."""


class _Packed(msgspec.Struct, array_like=True):
    strategy: AnyStrategy
    versions: dict[str, str]
    cut: int
    shown: bytes


_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(_Packed).decode


def make_cursor(of: bytes, position: PagePosition) -> str | None:
    """Return a cursor; ``of`` names the list and every parameter that shapes it. None: the list is too long."""
    shown = _pack(position.shown)
    if shown is None:
        return None
    packed = _Packed(position.strategy, dict(position.versions), position.cut, shown)
    text = seal(of, _encode(packed))
    return text if len(text) <= MAX_LENGTH else None


def read_cursor(of: bytes, given: str) -> PagePosition:
    """Return the position in a cursor that ``make_cursor`` made for the same list; InvalidCursor."""
    content = unseal(of, given)
    try:
        packed = _decode(content)
        shown = _unpack(packed.shown)
    except (msgspec.DecodeError, zlib.error, ValueError):
        raise InvalidCursor from None
    return PagePosition(packed.strategy, packed.versions, packed.cut, shown)


def position(of: bytes, request: Shape, where: str = "query") -> PagePosition | None:
    """Return where the page before this one ended, if there was one; ``where`` the request says it: query or body."""
    if request.cursor is None:
        return None
    if request.offset:
        refuse(where, "offset", "a cursor knows its place: leave `offset` out")
    return read_cursor(of, request.cursor)


def _pack(numbers: Sequence[int]) -> bytes | None:
    """Pack rising numbers as the gaps between them, in as few bytes as the widest needs; None: they are too many."""
    gaps = list(map(operator.sub, numbers, (0, *numbers[:-1])))
    width = next(w for w in _TYPES if max(gaps, default=0) < 1 << (8 * w))
    raw = struct.pack(f"<{len(gaps)}{_TYPES[width]}", *gaps)
    if len(raw) > _MOST_BYTES:
        return None
    if len(raw) < COMPRESSED:
        return bytes([width]) + raw
    return bytes([width | _IS_COMPRESSED]) + zlib.compress(raw, 9)


def _unpack(packed: bytes) -> list[int]:
    width, raw = packed[0] & ~_IS_COMPRESSED if packed else 0, packed[1:]
    if width not in _TYPES:
        raise ValueError("these are no numbers")
    if packed[0] & _IS_COMPRESSED:
        raw = zlib.decompressobj().decompress(raw, _MOST_BYTES)
    gaps = np.frombuffer(raw, f"<u{width}").astype(np.int64)
    numbers: list[int] = np.cumsum(gaps).tolist()
    if numbers and numbers[-1] >= 1 << 31:
        raise ValueError("a number is too large")
    return numbers
