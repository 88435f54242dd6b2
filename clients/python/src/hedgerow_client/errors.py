"""Errors that the client raises.

HedgerowError
├── Unreachable            the service gave no answer
│   └── BrokenOff          the connection broke in the middle of an answer that has lines
├── NotInTime              something did not happen before a deadline
├── StreamFailed           a stream ended; ``unacknowledged`` holds the events to send again
└── ApiError               the service answered with an error, or something else with no JSON
    ├── InvalidRequest     400, 422 and others: the request cannot be accepted as it is
    │   └── NothingAccepted  no row was accepted; ``rejected`` says why
    ├── Unauthorised 401, Forbidden 403
    ├── NotFound 404
    ├── Conflict 409
    ├── CursorExpired 410
    ├── TooLarge 413
    ├── RateLimited 429    raised after the client has waited and asked again
    ├── Unavailable 503    the same
    └── ServerFault        any other 5xx
"""

from collections.abc import Mapping, Sequence
from typing import Any

from hedgerow_client import types


class HedgerowError(Exception):
    """Base of all; its text says what is wrong and what to do."""


class Unreachable(HedgerowError):
    """The service gave no answer: it is away, or the connection broke."""

    def __init__(self, message: str, *, nothing_was_sent: bool = False) -> None:
        super().__init__(message)
        self.nothing_was_sent = nothing_was_sent
        """Whether the connection was never made, so that the request cannot have been done."""


class BrokenOff(Unreachable):
    """The connection broke in the middle of an answer that has lines: ask again for the rest."""


class NotInTime(HedgerowError):
    """Something did not happen before the deadline of the caller."""


class StreamFailed(HedgerowError):
    """A stream cannot go on; its cause says why.

    ``unacknowledged`` holds the events that may not be stored. They have their ids: send them
    again, with another stream, and each counts once.
    """

    def __init__(self, cause: BaseException, unacknowledged: Sequence[types.Feedback]) -> None:
        n = len(unacknowledged)
        super().__init__(f"the stream failed; {n} events are not acknowledged: {cause}")
        self.cause = cause
        self.unacknowledged = list(unacknowledged)


class ApiError(HedgerowError):
    """The service answered with an error."""

    advice = ""
    """What the caller can do, where the service does not say it."""

    def __init__(self, what: str, status: int, problem: Mapping[str, Any]) -> None:
        self.status = status
        self.code: str = problem.get("code", "")
        """Stable: programs may depend on it."""
        self.detail: str = problem.get("detail", "")
        """The explanation for people: what is wrong and what to do."""
        self.request_id: str = problem.get("request_id", "")
        """Names the request in the log of the service."""
        self.retry_after_s: float | None = problem.get("retry_after")
        self.errors: list[dict[str, str]] = problem.get("errors", [])
        """Each fault of the request, with the path of its field."""
        self.problem = problem
        """The whole answer."""
        said = " ".join(str(part) for part in (status, self.code) if part)
        parts = [f"{what}: {said}: {self.detail}", self.advice]
        parts += [f"(request {self.request_id})"] if self.request_id else []
        super().__init__(" ".join(part for part in parts if part))


class InvalidRequest(ApiError):
    """The request cannot be accepted as it is: a repeat would be refused again."""


class NothingAccepted(InvalidRequest):
    """No row of the request was accepted."""

    @property
    def rejected(self) -> list[types.Rejected]:
        """Each row with its index, code and detail."""
        rejected: list[types.Rejected] = self.problem.get("rejected", [])
        return rejected


class Unauthorised(ApiError):
    """There is no API key, or it is unknown, revoked or expired."""

    advice = "Give `key=` a valid API key."


class Forbidden(ApiError):
    """The role of the API key is not enough."""


class NotFound(ApiError):
    """There is no such thing."""


class Conflict(ApiError):
    """The current state does not allow this."""


class CursorExpired(ApiError):
    """The model that made the list is no longer kept."""

    advice = "Begin again without the cursor."


class TooLarge(ApiError):
    """The request exceeds a bound."""


class RateLimited(ApiError):
    """Too many requests; ``retry_after_s`` says when to try again."""


class Unavailable(ApiError):
    """The service cannot do this now; ``retry_after_s`` says when to try again."""


class ServerFault(ApiError):
    """A bug of the service, or of something in between."""

    advice = "Report this with the request id."


BY_CODE: dict[str, type[ApiError]] = {"nothing_accepted": NothingAccepted}
BY_STATUS: dict[int, type[ApiError]] = {
    401: Unauthorised,
    403: Forbidden,
    404: NotFound,
    409: Conflict,
    410: CursorExpired,
    413: TooLarge,
    429: RateLimited,
    503: Unavailable,
}


def error_of(what: str, status: int, problem: Mapping[str, Any]) -> ApiError:
    """Return the error that stands for an answer."""
    other = ServerFault if status >= 500 else InvalidRequest
    kind = BY_CODE.get(problem.get("code", "")) or BY_STATUS.get(status, other)
    return kind(what, status, problem)
