"""Clients of the service: some write and read what they wrote, others only read."""

import http.client
import json
import random
import threading
import time
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote, urlsplit

from tests.chaos.history import Answer, Broken, History

BASE, CALM = 12, 4
USERS, ROWS = 6, 4
WRITER_S, READER_S = 10.0, 0.2
"""How long a client waits for an answer before it asks anew on another connection."""
PAUSE_S = 0.02
LISTED = 200
CALM_READS = (
    "/v1/popular",
    "/v1/trending",
    *(f"/v1/users/calm{user}/recommendations" for user in range(CALM)),
)
"""Lists that api processes have in memory: what everybody gets, and what idle users get."""


@dataclass
class Sent:
    """An event of a client; nobody else sends this pair of user and item."""

    user: str
    item: str
    rating: int
    event_id: str
    began: float
    tries: int = 0
    asked: float = 0.0
    """When the request began that was acknowledged."""
    acknowledged: float | None = None
    """When; None as long as it is in doubt."""
    sequence: int = 0

    def row(self) -> dict[str, Any]:
        return {
            "user": self.user,
            "item": self.item,
            "rating": self.rating,
            "event_id": self.event_id,
        }


@dataclass
class Ledger:
    """All events of all clients, by user and item; the names of its users begin with its own."""

    name: str
    events: dict[tuple[str, str], Sent] = field(default_factory=dict)

    def new(self, user: str, item: str, rating: int) -> Sent:
        event = Sent(user, item, rating, f"{user}/{item}", time.monotonic())
        self.events[user, item] = event
        return event


class Caller:
    """One connection at a time, which notes every answer in the history."""

    def __init__(self, url: str, who: str, history: History, timeout_s: float) -> None:
        self._who, self._history = who, history
        self._connection = http.client.HTTPConnection(urlsplit(url).netloc, timeout=timeout_s)

    def __call__(
        self, method: str, path: str, body: Any = None, **headers: str
    ) -> tuple[Answer, Any]:
        began = time.monotonic()
        said: Any = None
        status, code, retry_after = 0, "", None
        packed = None if body is None else json.dumps(body)
        sent = {"content-type": "application/json"} | {
            name.replace("_", "-"): value for name, value in headers.items()
        }
        try:
            self._connection.request(method, path, packed, sent)
            answer = self._connection.getresponse()
            said = json.loads(answer.read() or b"null")
            status, retry_after = answer.status, answer.headers.get("retry-after")
            code = said.get("code", "") if status >= 400 else ""
        except TimeoutError:
            code = "timeout"
        except (OSError, http.client.HTTPException, ValueError) as error:
            code = type(error).__name__
        if not status:
            self.close()
        request = f"{method} {path}" + (f" {packed}" if packed else "")
        noted = Answer(self._who, request, began, time.monotonic(), status, code, retry_after)
        self._history.answers.append(noted)
        return noted, said

    def close(self) -> None:
        self._connection.close()


class Client(threading.Thread):
    """A thread that repeats ``step`` until it is told to stop; what broke it is kept."""

    def __init__(self, url: str, name: str, history: History, timeout_s: float) -> None:
        super().__init__(name=name)
        self.stop = threading.Event()
        self.broken: BaseException | None = None
        self.ask = Caller(url, name, history, timeout_s)
        self.history = history

    def step(self) -> None:
        raise NotImplementedError

    def run(self) -> None:
        try:
            while not self.stop.is_set():
                self.step()
                self.stop.wait(PAUSE_S)
        except BaseException as error:  # noqa: BLE001 - raised again where it is told
            self.broken = error
        finally:
            self.ask.close()


class Writer(Client):
    """Sends new events, each until it is acknowledged, and reads what it has written."""

    def __init__(self, url: str, name: str, history: History, ledger: Ledger, seed: int) -> None:
        super().__init__(url, name, history, WRITER_S)
        self.ledger = ledger
        self.rng = random.Random(f"{name} {seed}")  # noqa: S311 - a schedule can be repeated
        self.n = 0

    def step(self) -> None:
        events = [self.next() for _ in range(self.rng.choice((1, 1, ROWS)))]
        sequence = self.send(events)
        if sequence is None:
            return
        if self.rng.random() < 0.1:
            # a client that lost its memory; it counts once all the same
            self.post(events)
        if self.rng.random() < 0.3:
            self.read_own(self.rng.choice(events).user, sequence)

    def next(self) -> Sent:
        user = f"{self.ledger.name}{self.name}u{self.n % USERS}"
        item = f"i{self.n // USERS}"
        self.n += 1
        return self.ledger.new(user, item, 1 + (self.n * 7919) % 5)

    def post(self, events: list[Sent]) -> tuple[Answer, Any]:
        for event in events:
            event.tries += 1
        return self.ask("POST", "/v1/events", [event.row() for event in events])

    def send(self, events: list[Sent]) -> str | None:
        """Send events until they are acknowledged; None if told to stop before."""
        while not self.stop.is_set():
            noted, said = self.post(events)
            if noted.status in {200, 202}:
                if said["accepted"] != len(events):
                    raise Broken(f"{said['rejected']} of events that are valid", noted.ended)
                sequence = str(said["sequence"])
                self.acknowledge(events, sequence, noted)
                return sequence
            self.stop.wait(PAUSE_S)
        return None

    def acknowledge(self, events: list[Sent], sequence: str, noted: Answer) -> None:
        last = int(sequence.rpartition(":")[2])
        for back, event in enumerate(reversed(events)):
            event.asked, event.acknowledged = noted.began, noted.ended
            event.sequence = last - back

    def read_own(self, user: str, sequence: str) -> None:
        """Ask for a list with everything that was acknowledged, and check that it is so."""
        known = {
            item: event.acknowledged
            for (name, item), event in [*self.ledger.events.items()]
            if name == user and event.acknowledged is not None
        }
        path = f"{self.path(user)}&min_sequence={quote(sequence)}"
        noted, said = self.ask("GET", path)
        if noted.status != 200:
            return
        missed = {one["item"] for one in said["items"]} & known.keys()
        since = min((known[item] for item in missed), default=noted.ended)
        if missed and not self.history.losses(since):
            raise Broken(
                f"{user} is recommended {sorted(missed)}, which it had rated before {sequence}; "
                f"the answer has seen {said['seen_through']}",
                noted.ended,
            )

    def path(self, user: str) -> str:
        return f"/v1/users/{user}/recommendations?k={LISTED}"


class Reader(Client):
    """Asks for lists that api processes have in memory, and for each until it has it."""

    def __init__(self, url: str, name: str, history: History, seed: int) -> None:
        super().__init__(url, name, history, READER_S)
        self._rng = random.Random(f"{name} {seed}")  # noqa: S311 - a schedule can be repeated

    def step(self) -> None:
        path = self._rng.choice(CALM_READS)
        began = time.monotonic()
        while not self.stop.is_set():
            noted, said = self.ask("GET", path)
            if noted.status == 200:
                self.history.waits.append((began, noted.ended))
                self._check(said, noted)
                return
            # another process may be there
            self.ask.close()
            self.stop.wait(PAUSE_S / 2)

    def _check(self, said: Any, noted: Answer) -> None:
        """A list holds something, and nothing that its user has rated."""
        if self.history.losses():
            return
        items = [one["item"] for one in said["items"]]
        rated = str(said["user"]).replace("calm", "base")
        if not items or rated in items:
            raise Broken(f"{noted.request} is answered with {items}", noted.ended)


def first_events() -> list[dict[str, Any]]:
    """Return the events of users who do nothing later, so that their lists stay in memory."""
    return [
        {"user": f"calm{user}", "item": f"base{user}", "rating": 4, "event_id": f"calm{user}"}
        for user in range(CALM)
    ] + [
        {"user": "seed", "item": f"base{item}", "rating": 5, "event_id": f"seed{item}"}
        for item in range(BASE)
    ]
