"""Errors that are raised on purpose; the edges (HTTP, command line) turn them into answers.

ServiceError (status, code, retry_after_s)
├── InvalidEvent 422          a row of feedback that cannot be accepted
├── InvalidId 422             an id outside the rules
├── InvalidSchedule 422       a condition that cannot be read
├── InvalidTraining 422       an unknown model, or a setting that the model does not have
├── InvalidFilter 422         a filter that cannot be read
├── InvalidWebhook 422        an address that nothing can be sent to
├── NotFound 404              an unknown item, user, rating, job, model or key
├── VersionConflict 409       somebody else has changed the document meanwhile
├── Conflict 409              the state of the thing does not allow the request
├── Unauthorised 401, Forbidden 403
├── TooLarge 413              a body, array or document beyond its bound
├── Overloaded 503           the process holds too many bytes of other requests
├── Backlogged 503            the log is full: try again
├── NotReady 503              not learned yet, or the service is starting
├── StoreUnavailable 503      Redis does not answer
│   ├── StoreRefuses 503      Redis answers, but does not write: full, or a replica
│   └── KeysChanged 503       who may write was decided by API keys that have changed since
├── StoreRolledBack 503       Redis answers, but has lost what this process knows of
├── Superseded                another learner took over (this process stops)
└── Misconfigured             settings, store or namespace do not fit (the process does not start)

An error of one module stands in that module (InvalidCursor, InvalidSequence, BadFile, ...). The
codes that clients may see are in ``http/problems.py``.
"""


class ServiceError(Exception):
    """Base of all: ``detail`` says what is wrong and what to do."""

    status = 500
    code = "internal"
    retry_after_s: int | None = None

    def __init__(self, detail: str, *, code: str | None = None) -> None:
        super().__init__(detail)
        self.detail = detail
        if code is not None:
            self.code = code


class InvalidEvent(ServiceError):
    status, code = 422, "invalid_event"


class InvalidId(ServiceError):
    status, code = 422, "invalid_id"


class InvalidSchedule(ServiceError):
    status, code = 422, "invalid_schedule"


class InvalidTraining(ServiceError):
    status, code = 422, "invalid_training"


class InvalidFilter(ServiceError):
    status, code = 422, "invalid_filter"


class InvalidWebhook(ServiceError):
    status, code = 422, "invalid_webhook"


class NotFound(ServiceError):
    status, code = 404, "not_found"


class VersionConflict(ServiceError):
    status, code = 409, "version_conflict"


class Conflict(ServiceError):
    status, code = 409, "conflict"


class Unauthorised(ServiceError):
    status, code = 401, "unauthorised"


class Forbidden(ServiceError):
    status, code = 403, "forbidden"


class TooLarge(ServiceError):
    status, code = 413, "too_large"


class Overloaded(ServiceError):
    status, code, retry_after_s = 503, "overloaded", 1


class Backlogged(ServiceError):
    status, code, retry_after_s = 503, "backlogged", 1


class NotReady(ServiceError):
    status, code, retry_after_s = 503, "not_ready", 1


class StoreUnavailable(ServiceError):
    status, code, retry_after_s = 503, "store_unavailable", 1


class StoreRefuses(StoreUnavailable):
    """Raised for a write that Redis has refused: nothing was written, and it will not be soon."""


class StoreRolledBack(ServiceError):
    """Raised instead of a write to a store that is not the one, or not as far, as is known here."""

    status, code, retry_after_s = 503, "store_rolled_back", 1


class KeysChanged(StoreUnavailable):
    """Raised instead of a write whose sender was let in by API keys that have changed since."""


class Superseded(ServiceError):
    """Raised in a learner whose partition another one has taken over.

    The learner ends and may start again as a standby.
    """

    status, code = 500, "superseded"


class Misconfigured(ServiceError):
    """Raised while starting; the message names the setting or command that repairs it."""

    status, code = 500, "misconfigured"
