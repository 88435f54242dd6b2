"""Requests and their answers, without sending: what both clients share."""

import json
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field, replace
from typing import Any
from urllib.parse import quote

import httpx

from hedgerow_client import types
from hedgerow_client.errors import ApiError, Unreachable, error_of

PROGRAM = "hedgerow-client"
TIMEOUT_S, CONNECT_S = 30.0, 5.0
JSON = "application/json"
UNFINISHED = ("queued", "running")
"""Statuses of a job that has not ended."""
NEVER_SENT = (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout)
"""Failures before anything of a request has left."""


@dataclass(frozen=True)
class Request:
    """One request, which may be sent more than once."""

    method: str
    path: str
    _: KW_ONLY
    query: Mapping[str, Any] = field(default_factory=dict)
    """None stands for a parameter that is not sent."""
    headers: Mapping[str, str | None] = field(default_factory=dict)
    body: Any = None
    repeatable: bool = True
    """Whether sending it again after a lost answer changes nothing."""

    def __str__(self) -> str:
        return f"{self.method} {self.path}"

    def arguments(self) -> dict[str, Any]:
        """Return what ``httpx`` needs to build it."""
        headers = {name: value for name, value in self.headers.items() if value is not None}
        content = None
        if self.body is not None:
            headers["content-type"] = JSON
            content = encoded(self.body)
        query = {name: value for name, value in self.query.items() if value is not None}
        return {
            "method": self.method,
            "url": self.path,
            "params": query,
            "headers": headers,
            "content": content,
        }


def encoded(body: Any) -> bytes:
    """Return the JSON of a body; TypeError or ValueError for what has none, such as NaN."""
    return json.dumps(body, ensure_ascii=False, allow_nan=False).encode()


READINESS = Request("GET", "/readyz")


def connection(url: str, key: str | None, timeout_s: float, program: str) -> dict[str, Any]:
    """Return what an ``httpx`` client of the service needs."""
    authorization = {"authorization": f"Bearer {key}"} if key else {}
    return {
        "base_url": url,
        "headers": {"user-agent": program, **authorization},
        "timeout": httpx.Timeout(timeout_s, connect=min(timeout_s, CONNECT_S)),
    }


def path(template: str, **ids: str) -> str:
    """Return a path with ids in it, whatever characters they hold.

    >>> path("/v1/items/{item}", item="AC/DC")
    '/v1/items/AC%2FDC'
    >>> path("/v1/items/{item}", item="..")
    '/v1/items/%2E%2E'
    """
    segments = {name: quote(one, safe="") for name, one in ids.items()}
    # a segment of dots alone would be taken for a step upwards
    dots = {".": "%2E", "..": "%2E%2E"}
    return template.format(**{name: dots.get(one, one) for name, one in segments.items()})


def read(request: Request, answer: httpx.Response) -> Any:
    """Return the JSON of an answer; raise ApiError if it is an error, or holds none."""
    if not answer.is_success:
        raise refusal(request, answer)
    try:
        return answer.json()
    except ValueError as error:
        said = f"no JSON but {answer.text[:200]!r}; is this the address of the service?"
        raise ApiError(str(request), answer.status_code, {"detail": said}) from error


class Lines:
    """Makes lines of pieces; only a line feed ends one, for ids may hold U+2028 and others."""

    def __init__(self) -> None:
        self._rest = b""

    def of(self, piece: bytes) -> list[str]:
        """Return the lines that end in the next piece."""
        *lines, self._rest = (self._rest + piece).split(b"\n")
        return [line.decode() for line in lines]

    def last(self) -> list[str]:
        """Return what stands behind the last end of a line, if there is something."""
        return [self._rest.decode()] if self._rest else []


def refusal(request: Request, answer: httpx.Response) -> ApiError:
    """Return the error that an answer stands for."""
    try:
        problem = answer.json()
    except ValueError:
        problem = None
    if not isinstance(problem, dict):
        # not the service itself: a proxy, or a wrong address
        problem = {"detail": answer.text[:200]}
    problem.setdefault("request_id", answer.headers.get("x-request-id", ""))
    told = answer.headers.get("retry-after", "")
    if told.isdecimal():
        problem.setdefault("retry_after", float(told))
    return error_of(str(request), answer.status_code, problem)


def no_answer(request: Request, url: str, error: httpx.TransportError) -> Unreachable:
    """Return the error that stands for a failure of the connection."""
    why = str(error) or type(error).__name__
    return Unreachable(
        f"{request}: no answer from {url} ({why}); is the service running at this address?",
        nothing_was_sent=isinstance(error, NEVER_SENT),
    )


def with_id(event: types.Feedback) -> types.Feedback:
    """Return an event that has an id: a repeat of it counts once."""
    if "event_id" in event:
        return event
    return {**event, "event_id": uuid.uuid4().hex}


def for_stream(event: types.Feedback) -> types.Feedback:
    """Return an event with an id; TypeError or ValueError if it could not be sent as JSON."""
    encoded(event)
    return with_id(event)


def sending(events: types.Feedback | Sequence[types.Feedback], wait: str | None) -> Request:
    """Return the request that sends events, each with an id."""
    if isinstance(events, Mapping):
        body: Any = with_id(events)
    else:
        body = [with_id(event) for event in events]
    return Request("POST", "/v1/events", query={"wait": wait}, body=body)


def next_page(first: Request, page: Mapping[str, Any]) -> Request | None:
    """Return the request of the page after this one; None at the end."""
    cursor = page["next_cursor"]
    return None if cursor is None else replace(first, query={**first.query, "cursor": cursor})


def batch(body: types.BatchBody) -> Request:
    """Return the request for the lists of many users."""
    return Request("POST", "/v1/recommendations/batch", body=body)


def learned(sequence: str) -> Request:
    """Return a request that is answered once everything up to ``sequence`` is learned."""
    query = {"min_sequence": sequence}
    return Request("GET", "/v1/users/nobody/predictions/nothing", query=query)


def watching(job: str) -> Request:
    """Return the request for the changes of a training."""
    return Request("GET", path("/v1/jobs/{job}/events", job=job))


def job_in(line: str) -> types.Job | None:
    """Return the job in a line of server-sent events; None if it holds none."""
    field_name, _, data = line.partition(":")
    if field_name != "data":
        return None
    job: types.Job = json.loads(data)
    return job


def has_ended(job: types.Job) -> bool:
    """Whether a training has ended, well or not."""
    return job["status"] not in UNFINISHED
