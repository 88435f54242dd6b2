"""Cursors of slates: the list, its models, the event up to which it counts, the items shown so far.

Shown items are left out of the next page, so none comes twice and none is skipped, whatever is
hidden, rated or learned meanwhile. A list ends when its cursor becomes too long: after thousands of
items.
"""

import operator
import struct
import zlib
from collections.abc import Sequence

import msgspec
import numpy as np

from service.api.slates.reading import refuse
from service.api.slates.requests import Shape
from service.http.cursors import InvalidCursor, seal, unseal
from service.ranking.families import STRATEGIES
from service.ranking.strategies import Strategy
from service.serving.asked import PagePosition
from service.store.models.records import SHOWN

MAX_LENGTH = 8_000
COMPRESSED = 128
"""Least bytes of the shown items for which they are compressed."""
_IS_COMPRESSED, _MOST_BYTES = 8, 1 << 16
"""No cursor holds more numbers than that, however well they compress: reading one is bounded."""
_TYPES = {1: "B", 2: "H", 4: "I"}
"""Type of the packed numbers, by their width in bytes."""


VERSION_BYTES = SHOWN // 2
"""Bytes of each model's version: enough to tell it from the few that a process keeps."""


class _Packed(msgspec.Struct, array_like=True):
    strategy: int
    """By its number, as in logs."""
    versions: bytes
    """For each model the number of its strategy, and the beginning of its version."""
    seen_through: int
    shown: bytes


_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(_Packed).decode


def make_slate_cursor(of: bytes, position: PagePosition) -> str | None:
    """Return a cursor of the list ``of`` with all its parameters; None if it would be too long."""
    shown = _pack(position.shown)
    if shown is None:
        return None
    versions = b"".join(
        bytes([STRATEGIES.index(strategy)]) + bytes.fromhex(version[:SHOWN])
        for strategy, version in position.versions.items()
    )
    strategy = STRATEGIES.index(position.strategy)
    packed = _Packed(strategy, versions, position.seen_through, shown)
    text = seal(of, _encode(packed))
    return text if len(text) <= MAX_LENGTH else None


def read_slate_cursor(of: bytes, given: str) -> PagePosition:
    """Return the position in a cursor of the same list; raise InvalidCursor."""
    content = unseal(of, given)
    try:
        packed = _decode(content)
        shown = _unpack(packed.shown)
        strategy, versions = _strategy(packed.strategy), _versions(packed.versions)
    except (msgspec.DecodeError, zlib.error, ValueError):
        raise InvalidCursor from None
    return PagePosition(strategy, versions, packed.seen_through, shown)


def _strategy(number: int) -> Strategy:
    strategy = dict(enumerate(STRATEGIES)).get(number)
    if not strategy:
        raise ValueError("this is the number of no strategy")
    return strategy


def _versions(packed: bytes) -> dict[Strategy, str]:
    """Return how the version of each model begins, by strategy."""
    width = 1 + VERSION_BYTES
    if len(packed) % width:
        raise ValueError("these are no versions")
    models = (packed[at : at + width] for at in range(0, len(packed), width))
    return {_strategy(model[0]): model[1:].hex() for model in models}


def position(of: bytes, request: Shape, where: str = "query") -> PagePosition | None:
    """Return the end of the page before, None if this is the first.

    ``where`` is the part of the request to blame for a fault: query or body.
    """
    if request.cursor is None:
        return None
    if request.offset:
        refuse(where, "offset", "a cursor holds its position: leave `offset` out")
    return read_slate_cursor(of, request.cursor)


def _pack(numbers: Sequence[int]) -> bytes | None:
    """Pack rising numbers as gaps of 1, 2 or 4 bytes; None if there are too many."""
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
