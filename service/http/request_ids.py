"""Gives each request an id, and says which requests are followed through the logs.

A client or proxy may name a request by the header `X-Request-Id`; all others get an id of ours.
"""

import itertools
import re
import secrets
from typing import Literal

from starlette.types import Scope

Followed = Literal["none", "named", "all"]
NAME = b"x-request-id"
ID, FOLLOWED = "request_id", "followed"
"""Where a scope has its id, and the id again if the request is followed."""

_GOOD = re.compile(rb"[A-Za-z0-9._:/+=@-]{1,64}")


class RequestIds:
    """Names the requests of a process; ``mark`` tells those of WebSockets from others."""

    def __init__(self, followed: Followed, mark: str = "") -> None:
        self._followed, self._mark = followed, mark
        self._prefix = secrets.token_hex(4)
        self._numbers = itertools.count(1)

    def name(self, scope: Scope) -> str:
        """Note in the scope of a request what it is called, and return that."""
        given = _given(scope["headers"])
        name = given or f"{self._prefix}-{self._mark}{next(self._numbers):x}"
        scope[ID] = name
        if self._followed == "all" or (given and self._followed == "named"):
            scope[FOLLOWED] = name
        return name


def _given(headers: list[tuple[bytes, bytes]]) -> str:
    """Return the id that a request brings, "" if it brings none that could stand in a line."""
    for name, value in headers:
        if name == NAME:
            return value.decode() if _GOOD.fullmatch(value) else ""
    return ""
