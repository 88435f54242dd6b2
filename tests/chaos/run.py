"""Runs one schedule: clients, faults one after the other, and the checks."""

import random
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

from tests.chaos.checks import check
from tests.chaos.clients import Caller, Client, Ledger, Reader, Writer
from tests.chaos.faults import FAULTS
from tests.chaos.history import Broken, History, Occurrence
from tests.chaos.place import Place
from tests.chaos.schedule import Schedule, Step
from tests.server import wait_until

BACK_WITHIN_S = 60.0
"""Seconds after which the service counts as gone for good; what is promised is a figure."""
MANY = 40
"""Events that are sent before the first fault."""


@dataclass
class Result:
    """What came of a schedule."""

    acknowledged: int
    lost: int
    """How many of them a rollback took."""
    statuses: Counter[str]
    recoveries: list[tuple[str, float]]
    """Each step, and the seconds from its end to the first write that is answered and learned."""
    away_s: float
    """The longest that a reader waited for an answer while an api process was there."""
    away_told: Counter[str]
    """What readers were told meanwhile."""


def run(
    place: Place,
    schedule: Schedule,
    writers: Sequence[type[Writer]] = (Writer, Writer),
    spoil: Callable[[], object] = lambda: None,
) -> Result:
    """Run a schedule; Broken says which promise was not kept. ``spoil`` is called before checks."""
    history, ledger = History(), Ledger(place.next_name())
    rng = random.Random(schedule.seed)  # noqa: S311 - it can be repeated
    try:
        with running_clients(place, schedule.seed, history, ledger, writers) as clients:
            pause = threading.Event()
            wait_until(lambda: len(ledger.events) > MANY or broken(clients))
            for step in schedule.steps:
                place.knows_the_calm()
                act(place, step, history, rng)
                pause.wait(step.rest_s)
                raise_broken(clients)
        raise_broken(clients)
        spoil()
        lost = check(place, history, ledger)
    except Broken as error:
        told = history.around(error.at, str(error))
        error.add_note(f"{schedule}\nthe history around it:\n{told}")
        error.add_note(f"the last words of the service: {place.running.last_words()}")
        raise
    return result(history, ledger, lost)


@contextmanager
def running_clients(
    place: Place, seed: int, history: History, ledger: Ledger, writers: Sequence[type[Writer]]
) -> Iterator[list[Client]]:
    """Let clients ask until this is left; then each ends after its request."""
    clients: list[Client] = [
        kind(place.url, f"w{number}", history, ledger, seed) for number, kind in enumerate(writers)
    ]
    clients += [Reader(place.url, f"reader{number}", history, seed) for number in range(2)]
    with ExitStack() as stack:
        for client in clients:
            client.start()
            stack.callback(client.join)
        for client in clients:
            stack.callback(client.stop.set)
        yield clients


def broken(clients: Sequence[Client]) -> list[BaseException]:
    return [client.broken for client in clients if client.broken is not None]


def raise_broken(clients: Sequence[Client]) -> None:
    for error in broken(clients):
        raise error


def act(place: Place, step: Step, history: History, rng: random.Random) -> None:
    """Carry out a step, and wait until the service has recovered from it."""
    occurrences = [occurrence(name) for name in step.faults]
    history.faults += occurrences
    with ExitStack() as stack:
        for name in step.faults:
            stack.enter_context(FAULTS[name].act(place, rng))
        threading.Event().wait(step.lasts_s)
    ended = time.monotonic()
    for one in occurrences:
        one.ended = ended
    recover(place, history)
    for one in occurrences:
        one.recovered = time.monotonic()


def occurrence(name: str) -> Occurrence:
    """Return a fault that begins now, with what it excuses."""
    fault, now = FAULTS[name], time.monotonic()
    since = {"nothing": None, "what came since it began": now, "anything": 0.0}[fault.loses]
    return Occurrence(name, now, takes_api=fault.takes_api, loses_since=since)


def recover(place: Place, history: History) -> None:
    """Return once a write is answered, and a list that knows of it."""
    ask, pause = Caller(place.url, "probe", history, 2.0), threading.Event()
    until = time.monotonic() + BACK_WITHIN_S
    sequence = ""
    while time.monotonic() < until:
        if not sequence:
            event = {"user": "seed", "item": "base0", "rating": 5, "event_id": "seed0"}
            noted, said = ask("POST", "/v1/events", event)
            sequence = said["sequence"] if noted.status == 202 else ""
        else:
            path = f"/v1/users/seed/recommendations?min_sequence={quote(sequence)}"
            noted, _ = ask("GET", path)
            if noted.status == 200:
                ask.close()
                return
        pause.wait(0.02)
    raise Broken(f"the service is not back after {BACK_WITHIN_S:.0f} s")


def result(history: History, ledger: Ledger, lost: int) -> Result:
    down = [one for one in history.faults if one.takes_api]
    waits = [wait for wait in history.waits if not any(one.touches(*wait) for one in down)]
    began, ended = max(waits, key=lambda wait: wait[1] - wait[0], default=(0.0, 0.0))
    acknowledged = sum(one.acknowledged is not None for one in ledger.events.values())
    recoveries = [(one.name, one.recovered - one.ended) for one in history.faults]
    told = history.told("reader", began, ended)
    return Result(acknowledged, lost, history.statuses(), recoveries, ended - began, told)


@contextmanager
def place_for(schedule: Schedule) -> Iterator[Place]:
    """Open the place that a schedule asks for."""
    with (
        # short: the path of a socket has at most 107 bytes
        tempfile.TemporaryDirectory(prefix="hc-") as directory,
        Place(
            Path(directory),
            is_private=schedule.is_private,
            api_processes=schedule.api_processes,
        ) as place,
    ):
        yield place
