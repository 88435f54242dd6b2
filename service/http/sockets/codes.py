"""The codes with which we close a WebSocket; 4 and the status where HTTP has one."""

from service.errors import Forbidden, ServiceError, Unauthorised

LOST = 1006
"""The connection has ended without a code."""
FAILED = 1011
"""A fault of ours."""
RESTARTS = 1012
"""The process ends: connect again."""
IDLE = 4408
"""No message came for a long time."""

_OF_STATUS = 4000
REASON_BYTES = 123
"""What a close can hold besides its code."""


def ends_socket(error: ServiceError) -> bool:
    """Return whether nothing that the client sends after this error can be accepted."""
    return isinstance(error, Unauthorised | Forbidden)


def code_of(error: ServiceError) -> int:
    """Return the code for an error that ends a socket.

    >>> code_of(Unauthorised("no key"))
    4401
    """
    return _OF_STATUS + error.status


def reason(text: str) -> str:
    """Return as much of a text as a close can hold."""
    return text.encode()[:REASON_BYTES].decode(errors="ignore")
