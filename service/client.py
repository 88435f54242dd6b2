"""A small client of a running service, for programs and for the verbs that use HTTP."""

import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from time import monotonic
from typing import Any, Self
from urllib.parse import quote

import httpx
import msgspec

from service.errors import NotReady, ServiceError, StoreUnavailable

FIRST_PAUSE_S, LONGEST_PAUSE_S = 0.2, 5.0
PATIENCE_S = 60.0
"""Seconds for which a request is repeated while the service is away or busy."""
FIRST_PATIENCE_S = 5.0
"""The same before its first answer: then it probably does not run at this address."""
NO_ANSWER = (
    "; is the service running there? `hedgerow serve` starts it, --url gives another address"
)
PROGRAM = "hedgerow-client"
NDJSON = {"content-type": "application/x-ndjson"}
TOO_MANY_REQUESTS = 429
UNFINISHED = ("queued", "running")
"""Statuses of a job that has not ended."""


class Refused(ServiceError):
    """An error of the service that repeating the request would not solve."""

    def __init__(self, detail: str, status: int) -> None:
        super().__init__(detail)
        self.status = status


@dataclass
class Receipt:
    """The result of one upload or of several."""

    accepted: int = 0
    rejected_total: int = 0
    rejected: list[dict[str, Any]] = field(default_factory=list)
    sequence: str = ""


class ServiceClient:
    """Client of one running service, which several threads may share.

    Requests are repeated while the service is away or busy; ``Refused`` has its error message.

    >>> def recommended(url: str, user: str) -> list[str]:
    ...     with ServiceClient(url) as client:
    ...         posted = client.post("/v1/events", {"user": user, "item": "film", "rating": 5})
    ...         client.wait_until_learned(posted["sequence"])
    ...         slate = client.get(f"/v1/users/{user}/recommendations", k=10)
    ...         return [one["item"] for one in slate["items"]]
    """

    def __init__(
        self,
        url: str,
        key: str | None = None,
        *,
        patience_s: float = PATIENCE_S,
        tell: Callable[[str], None] = lambda _: None,
        program: str = PROGRAM,
    ) -> None:
        """``program``: the name under which the service remembers event ids, if there is no key."""
        self.url = url.rstrip("/")
        self._patience_s = patience_s
        self._tell = tell
        """Called when a request is repeated, and when it is answered in the end."""
        authorization = {"authorization": f"Bearer {key}"} if key else {}
        self._http = httpx.Client(
            base_url=self.url,
            headers={"user-agent": program, **authorization},
            timeout=httpx.Timeout(120.0, connect=5.0),
        )
        self._closed = threading.Event()
        self.reached = False
        """Whether the service has answered once."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close all connections; requests that wait for a retry are given up."""
        self._closed.set()
        self._http.close()

    def get(self, path: str, **parameters: Any) -> Any:
        """Return the answer of a GET."""
        return self._send("GET", path, params=parameters).json()

    def post(self, path: str, body: Any, **parameters: Any) -> Any:
        """Return the answer of a POST; it may be sent more than once."""
        return self._write("POST", path, body, parameters)

    def put(
        self, path: str, body: Any, idempotency_key: str | None = None, **parameters: Any
    ) -> Any:
        """Return the answer of a PUT; it may be sent more than once."""
        return self._write("PUT", path, body, parameters, idempotency_key)

    def _write(
        self,
        method: str,
        path: str,
        body: Any,
        parameters: Mapping[str, Any],
        idempotency_key: str | None = None,
    ) -> Any:
        packed = msgspec.json.encode(body)
        headers = {"content-type": "application/json"} | _keyed(idempotency_key)
        return self._send(method, path, content=packed, headers=headers, params=parameters).json()

    def upload(self, path: str, lines: bytes, idempotency_key: str | None = None) -> Receipt:
        """Send NDJSON; with a key a repeat after a broken connection counts once."""
        headers = NDJSON | _keyed(idempotency_key)
        answer = self._send("POST", path, content=lines, headers=headers, refusals=False)
        body = answer.json()
        if answer.is_error and body.get("code") != "nothing_accepted":
            raise _refused(answer)
        return Receipt(
            body.get("accepted", 0),
            body.get("rejected_total", len(body.get("rejected", []))),
            body.get("rejected", []),
            body.get("sequence", ""),
        )

    def wait_until_ready(
        self, deadline_s: float = 120.0, *, alive: Callable[[], bool] = lambda: True
    ) -> None:
        """Return when /readyz says so; NotReady after the deadline or once it is not ``alive``."""
        pause = threading.Event()
        said, started = "nothing", monotonic()
        while monotonic() - started < deadline_s and alive():
            with suppress(httpx.TransportError):
                answer = self._http.get("/readyz")
                if answer.is_success:
                    return
                said = _detail(answer)
            pause.wait(0.1)
        waited = monotonic() - started
        raise NotReady(f"{self.url} was not ready after {waited:.0f} s: {said}")

    def wait_until_learned(self, sequence: str, deadline_s: float = 300.0) -> None:
        """Return when everything up to ``sequence`` is learned; NotReady after the deadline."""
        path, started = "/v1/users/nobody/predictions/nothing", monotonic()
        while monotonic() - started < deadline_s and not self._closed.is_set():
            # the service itself waits about a second before it answers that it is not learned yet
            answer = self._http.get(path, params={"min_sequence": sequence})
            if answer.is_success:
                return
            if answer.status_code not in {503, TOO_MANY_REQUESTS}:
                raise _refused(answer)
            self._closed.wait(_told_to_wait(answer))
        raise NotReady(f"the service has not learned up to {sequence} within {deadline_s:.0f} s")

    def _send(
        self, method: str, path: str, *, refusals: bool = True, **request: Any
    ) -> httpx.Response:
        """Send until the answer is not "try again" (5xx, 429); raise Refused for another 4xx.

        A 429 says how long to wait: the service is there, so that costs no patience.
        """
        problem = advice = ""
        patience_s = self._patience_s if self.reached else FIRST_PATIENCE_S
        tries = Tries(patience_s)
        for pause_s in tries:
            try:
                answer = self._http.request(method, path, **request)
            except httpx.TransportError as error:
                new = f"no answer from {self.url} ({str(error) or type(error).__name__})"
                advice, goes_on = NO_ANSWER, f"trying again for {patience_s:.0f} s"
            else:
                self.reached = True
                if answer.status_code < 500 and answer.status_code != TOO_MANY_REQUESTS:
                    if problem:
                        self._tell(f"{self.url} answers again as usual")
                    if answer.is_error and refusals:
                        raise _refused(answer)
                    return answer
                new, advice = f"{self.url} answers {_detail(answer)}", ""
                goes_on = f"trying again for {patience_s:.0f} s"
                told_s = _told_to_wait(answer)
                if told_s:
                    tries.lengthen(told_s)
                    pause_s, goes_on = told_s, f"waiting {told_s:.0f} s, as it says"
            if not problem:
                self._tell(f"{new}; {goes_on}")
            problem = new
            if self._closed.wait(pause_s):
                break
        raise StoreUnavailable(problem + advice)


class Tries:
    """Growing pauses between tries, until the patience is over; work between them counts."""

    def __init__(self, patience_s: float) -> None:
        self._end = monotonic() + patience_s

    def lengthen(self, seconds: float) -> None:
        """Have patience for so much longer."""
        self._end += seconds

    def __iter__(self) -> Iterator[float]:
        pause_s = FIRST_PAUSE_S
        while True:
            yield min(pause_s, LONGEST_PAUSE_S)
            if monotonic() >= self._end:
                return
            pause_s *= 2.0


def _told_to_wait(answer: httpx.Response) -> float:
    """Return the seconds that a 429 tells to wait; 0 for another answer, and if it does not say."""
    told = answer.headers.get("retry-after", "")
    is_told = answer.status_code == TOO_MANY_REQUESTS and told.isdecimal()
    return float(told) if is_told else 0.0


def segment(identifier: str) -> str:
    """Return an id as one segment of a path."""
    return quote(identifier, safe="")


def ndjson(rows: Iterable[Any]) -> bytes:
    r"""Return rows as lines of JSON, as ``ServiceClient.upload`` sends them.

    >>> ndjson([{"user": "ada", "item": "film", "rating": 5}])
    b'{"user":"ada","item":"film","rating":5}\n'
    """
    return msgspec.json.Encoder().encode_lines(rows)


def _refused(answer: httpx.Response) -> Refused:
    hint = "; give --key or set HEDGEROW_API_KEY" if answer.status_code == 401 else ""
    said = f"{answer.request.method} {answer.request.url.path}: {_detail(answer)}{hint}"
    return Refused(said, answer.status_code)


def _keyed(idempotency_key: str | None) -> dict[str, str]:
    return {} if idempotency_key is None else {"idempotency-key": idempotency_key}


def _detail(answer: httpx.Response) -> str:
    with suppress(ValueError):
        body = answer.json()
        if isinstance(body, dict) and "detail" in body:
            return f"{answer.status_code} {body['detail']}"
    return f"{answer.status_code} {answer.text[:200]}"


def outcome(job: Mapping[str, Any]) -> str:
    """Return how a job ended: its status, or the decision of the gate."""
    decided = job["decision"].get("outcome", "") if job["status"] == "succeeded" else ""
    rival = job["decision"].get("rival")
    if decided == "promoted" and rival is not None and rival == job["version"]:
        return "unchanged"
    return str(decided or job["status"]).replace("_", " ")
