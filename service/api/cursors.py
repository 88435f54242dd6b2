"""Cursors: opaque strings that say where a page ended, and of which list."""

import base64
import binascii

import msgspec

from service.errors import ServiceError


class InvalidCursor(ServiceError):
    """A cursor that this list never gave."""

    status, code = 422, "invalid_cursor"


def make_cursor(of: str, position: str | int) -> str:
    """Return a cursor; ``of`` names the list and every parameter that shapes it."""
    packed = msgspec.json.encode([of, str(position)])
    return base64.urlsafe_b64encode(packed).decode().rstrip("=")


def read_cursor(of: str, given: str) -> str:
    """Return the position in a cursor that ``make_cursor`` made for the same list."""
    try:
        padded = given.encode() + b"=" * (-len(given) % 4)
        packed = base64.b64decode(padded, altchars=b"-_", validate=True)
        owner, position = msgspec.json.decode(packed, type=tuple[str, str])
    except (binascii.Error, UnicodeError, msgspec.DecodeError):
        owner, position = "", ""
    if owner != of:
        raise InvalidCursor("hand back `next_cursor` of the same list unchanged, or leave it out")
    return position


def read_number(of: str, given: str) -> int:
    """Return the position of a list that counts."""
    position = read_cursor(of, given)
    if not (position.isascii() and position.isdigit() and len(position) < 16):
        raise InvalidCursor("hand back `next_cursor` unchanged, or leave it out")
    return int(position)
