"""Writes dumps of Gorse, as its master does."""

import json
import struct
from datetime import UTC, datetime
from typing import Any


def varint(number: int) -> bytes:
    number &= (1 << 64) - 1
    out = b""
    while number >= 0x80:
        out += bytes([number & 0x7F | 0x80])
        number >>= 7
    return out + bytes([number])


def part(number: int, value: bytes) -> bytes:
    return varint(number << 3 | 2) + varint(len(value)) + value


def whole(number: int, value: int) -> bytes:
    return varint(number << 3) + varint(value)


def time(number: int, text: str) -> bytes:
    moment = datetime.fromisoformat(text)
    seconds = int(
        (moment.replace(microsecond=0) - datetime(1970, 1, 1, tzinfo=UTC)).total_seconds()
    )
    return part(number, whole(1, seconds) + whole(2, moment.microsecond * 1_000))


def user(one: dict[str, Any]) -> bytes:
    labels = json.dumps(one.get("Labels")).encode()
    return (
        part(1, one["UserId"].encode()) + part(2, labels) + part(3, one.get("Comment", "").encode())
    )


def item(one: dict[str, Any]) -> bytes:
    return b"".join(
        [
            part(1, b"unused"),
            part(2, one["ItemId"].encode()),
            whole(3, one.get("IsHidden", False)),
            *[part(4, name.encode()) for name in one.get("Categories") or ()],
            time(5, one.get("Timestamp", "0001-01-01T00:00:00Z")),
            part(6, json.dumps(one.get("Labels")).encode()),
            part(7, one.get("Comment", "").encode()),
        ]
    )


def feedback(one: dict[str, Any]) -> bytes:
    return b"".join(
        [
            part(2, one["FeedbackType"].encode()),
            part(3, one["UserId"].encode()),
            part(4, one["ItemId"].encode()),
            varint(5 << 3 | 1) + struct.pack("<d", one.get("Value", 0.0)),
            time(6, one["Timestamp"]),
        ]
    )


def dump(**sections: list[dict[str, Any]]) -> bytes:
    """Return a dump; the sections come in the order of the arguments."""
    words = {"users": (-1, user), "items": (-2, item), "feedback": (-3, feedback)}
    out = b""
    for name, rows in sections.items():
        mark, packed = words[name]
        out += struct.pack("<q", mark)
        for row in rows:
            message = packed(row)
            out += struct.pack("<q", len(message)) + message
    return out + struct.pack("<q", 0) + b'{"Users": 1}'
