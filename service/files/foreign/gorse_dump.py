"""The dump of Gorse (``GET /api/dump``) and its lines of JSON, as the objects of its routes.

A dump has sections, of users (-1), items (-2) and feedback (-3), in any order, and ends with 0. In
a section each record is its length, 8 bytes, and a message of protocol buffers.
"""

import struct
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, BinaryIO, Literal, NamedTuple

import msgspec

from service.files.opening import BadFile, is_ndjson, opened

Section = Literal["users", "items", "feedback"]
SECTIONS: Mapping[int, Section] = {-1: "users", -2: "items", -3: "feedback"}
LONGEST = 16 << 20
"""Maximum bytes of a record."""
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_Raw = int | float | bytes


class Row(NamedTuple):
    """An object as the REST interface has it, and its place in the file."""

    section: Section
    number: int
    """From 1: the line, or the record of its section."""
    members: dict[str, Any]


class _Damaged(ValueError):
    """Bytes that are no message."""


def read_gorse(path: Path, section: Section) -> Iterator[Row]:
    """Yield the rows of a file: lines of JSON, all of ``section``, or a dump with its own."""
    if path.is_file() and is_ndjson(path):
        yield from _lines(path, section)
    else:
        yield from _dump(path)


def _lines(path: Path, section: Section) -> Iterator[Row]:
    decode = msgspec.json.Decoder(dict[str, Any]).decode
    with opened(path, ends="\n") as lines:
        for line in lines:
            if line.strip():
                try:
                    yield Row(section, lines.number, decode(line))
                except (msgspec.DecodeError, UnicodeDecodeError) as error:
                    raise lines.bad(f"{error}: each line must be a JSON object") from error


def _dump(path: Path) -> Iterator[Row]:
    try:
        with path.open("rb") as file:
            yield from _sections(path, file)
    except OSError as error:
        raise BadFile(path, f"{error.strerror or error}: give a dump of Gorse") from error


def _sections(path: Path, file: BinaryIO) -> Iterator[Row]:
    word = _word(path, file)
    while word:
        section = SECTIONS.get(word)
        if section is None:
            raise BadFile(path, "this is no dump of Gorse: GET /api/dump of its master makes one")
        number = 0
        while (word := _word(path, file)) > 0:
            number += 1
            packed = file.read(word) if word <= LONGEST else b""
            if len(packed) < word:
                raise _cut(path, f"record {number} of the {section}")
            try:
                yield Row(section, number, _MEMBERS[section](packed))
            except (_Damaged, UnicodeDecodeError, msgspec.DecodeError, OverflowError) as error:
                says = f"record {number} of the {section} is damaged ({error}): make the dump again"
                raise BadFile(path, says) from error


def _word(path: Path, file: BinaryIO) -> int:
    packed = file.read(8)
    if len(packed) < 8:
        raise _cut(path, "a section")
    word: int = struct.unpack("<q", packed)[0]
    return word


def _cut(path: Path, where: str) -> BadFile:
    return BadFile(path, f"the dump is cut off in {where}: make it again")


# --- messages -----------------------------------------------------------------------------------


def _user(packed: bytes) -> dict[str, Any]:
    said = _fields(packed)
    return {"UserId": _text(said, 1), "Labels": _json(said, 2), "Comment": _text(said, 3)}


def _item(packed: bytes) -> dict[str, Any]:
    said = _fields(packed)
    return {
        "ItemId": _text(said, 2),
        "IsHidden": bool(_last(said, 3)),
        "Categories": [_decoded(one) for one in said.get(4, [])],
        "Timestamp": _time(said, 5),
        "Labels": _json(said, 6),
        "Comment": _text(said, 7),
    }


def _feedback(packed: bytes) -> dict[str, Any]:
    said = _fields(packed)
    return {
        "FeedbackType": _text(said, 2),
        "UserId": _text(said, 3),
        "ItemId": _text(said, 4),
        "Value": _last(said, 5) or 0.0,
        "Timestamp": _time(said, 6),
        "Comment": _text(said, 7),
    }


_MEMBERS = {"users": _user, "items": _item, "feedback": _feedback}


def _fields(packed: bytes) -> dict[int, list[_Raw]]:
    """Return the values of a message by the number of their field, in order."""
    found: dict[int, list[_Raw]] = {}
    at = 0
    while at < len(packed):
        key, at = _varint(packed, at)
        value: _Raw
        if key & 7 == 0:
            value, at = _varint(packed, at)
        elif key & 7 == 1:
            value, at = _part(packed, at, 8)
            value = float(struct.unpack("<d", value)[0])
        elif key & 7 == 2:
            n, at = _varint(packed, at)
            value, at = _part(packed, at, n)
        elif key & 7 == 5:
            value, at = _part(packed, at, 4)
        else:
            raise _Damaged(f"type {key & 7} of a field")
        found.setdefault(key >> 3, []).append(value)
    return found


def _varint(packed: bytes, at: int) -> tuple[int, int]:
    number = 0
    for n, byte in enumerate(packed[at : at + 10]):
        number |= (byte & 0x7F) << 7 * n
        if byte < 0x80:
            return number, at + n + 1
    raise _Damaged("a number without an end")


def _part(packed: bytes, at: int, n: int) -> tuple[bytes, int]:
    if at + n > len(packed):
        raise _Damaged("a value without an end")
    return packed[at : at + n], at + n


def _last(said: Mapping[int, list[_Raw]], number: int) -> _Raw | None:
    return said[number][-1] if number in said else None


def _text(said: Mapping[int, list[_Raw]], number: int) -> str:
    value = _last(said, number)
    return "" if value is None else _decoded(value)


def _decoded(value: _Raw) -> str:
    if not isinstance(value, bytes):
        raise _Damaged("a number in the place of a text")
    return value.decode()


def _json(said: Mapping[int, list[_Raw]], number: int) -> Any:
    text = _text(said, number)
    return msgspec.json.decode(text) if text else None


def _time(said: Mapping[int, list[_Raw]], number: int) -> str:
    """Return a time as the REST interface has it, to the microsecond; "" if there is none."""
    value = _last(said, number)
    if value is None:
        return ""
    if not isinstance(value, bytes):
        raise _Damaged("a number in the place of a time")
    parts = _fields(value)
    seconds, nanos = (int(_last(parts, part) or 0) for part in (1, 2))
    # a negative number is written as 64 bits
    seconds -= (seconds >> 63) << 64
    moment = _EPOCH + timedelta(seconds=seconds, microseconds=nanos // 1_000)
    return moment.isoformat().replace("+00:00", "Z")
