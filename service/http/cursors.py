"""Cursors: opaque strings that hold the end of a page and the list that it belongs to.

A digest detects cursors that were changed or belong to another list. It is not a signature: a
cursor contains nothing that the client could not ask for directly.
"""

import base64
import binascii
from hashlib import blake2b

from service.errors import ServiceError

DIGEST_BYTES = 8
CURSOR = r"^[A-Za-z0-9_-]*$"
"""What cursors look like, for the OpenAPI document; a text that does not is an invalid cursor."""


class InvalidCursor(ServiceError):
    """A cursor that was changed or belongs to another list."""

    status, code = 422, "invalid_cursor"

    def __init__(self) -> None:
        super().__init__(
            "send `next_cursor` of the same list unchanged, "
            "with the same parameters, or leave it out"
        )


def seal(of: bytes, content: bytes) -> str:
    """Return a cursor that holds ``content``; ``of`` names the list with all its parameters."""
    return base64.urlsafe_b64encode(_digest(of, content) + content).decode().rstrip("=")


def unseal(of: bytes, given: str) -> bytes:
    """Return the content of a cursor made by ``seal`` for the same list; raise InvalidCursor."""
    try:
        padded = given.encode() + b"=" * (-len(given) % 4)
        packed = base64.b64decode(padded, altchars=b"-_", validate=True)
    except (binascii.Error, UnicodeError):
        raise InvalidCursor from None
    content = packed[DIGEST_BYTES:]
    # different last characters can decode to the same bytes
    if seal(of, content) != given:
        raise InvalidCursor
    return content


def make_cursor(of: str, position: str | int) -> str:
    """Return a cursor for a position, a text or a number, in the list named ``of``."""
    return seal(of.encode(), str(position).encode())


def read_cursor(of: str, given: str) -> str:
    """Return the position in a cursor that ``make_cursor`` made for the same list."""
    try:
        return unseal(of.encode(), given).decode()
    except UnicodeError:
        raise InvalidCursor from None


def read_number(of: str, given: str) -> int:
    """Return the position in a cursor whose positions are numbers."""
    position = read_cursor(of, given)
    if not (position.isascii() and position.isdigit() and len(position) < 16):
        raise InvalidCursor
    return int(position)


def _digest(of: bytes, content: bytes) -> bytes:
    key = blake2b(of, digest_size=32).digest()
    return blake2b(content, key=key, digest_size=DIGEST_BYTES).digest()
