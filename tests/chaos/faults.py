"""What is done to the service: each fault begins when it is entered and ends when it is left."""

import random
import resource
import signal
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Literal

from tests.chaos.history import Broken
from tests.chaos.place import Place
from tests.server import wait_until
from tests.service.running import is_gone

Act = Callable[[Place, random.Random], AbstractContextManager[None]]


@contextmanager
def killed(place: Place, rng: random.Random, *, role: str) -> Iterator[None]:
    """SIGKILL; `serve` starts the process again."""
    place.send(one_of(place, rng, role), signal.SIGKILL)
    yield


@contextmanager
def all_killed(place: Place, _: random.Random) -> Iterator[None]:
    for api in place.apis:
        place.send(api, signal.SIGKILL)
    yield


@contextmanager
def suspended(place: Place, rng: random.Random, *, role: str) -> Iterator[None]:
    """SIGSTOP, SIGCONT; meanwhile the watchdog may have killed the process."""
    child = one_of(place, rng, role)
    pid = place.send(child, signal.SIGSTOP)
    yield
    if place.pid(child) == pid:
        place.send(child, signal.SIGCONT)


@contextmanager
def store_killed(place: Place, _: random.Random) -> Iterator[None]:
    """SIGKILL; a given server is started at the end, a private one at once by `serve`."""
    gone = place.send("store", signal.SIGKILL)
    if place.store is not None:
        place.store.server.kill()
    yield
    restart(place, gone)


@contextmanager
def disk_full(place: Place, rng: random.Random) -> Iterator[None]:
    """No file of the store may grow by more than a few bytes: it writes a part, and ends."""
    [file] = place.store_files.rglob("*.incr.aof")
    pid = place.pid("store")
    most = file.stat().st_size + rng.randrange(2_000)
    resource.prlimit(pid, resource.RLIMIT_FSIZE, (most, resource.RLIM_INFINITY))
    yield
    # the clients write; whoever is not heard will end the store by its next write
    wait_until(lambda: is_gone(pid))
    restart(place, pid)


def restart(place: Place, gone: int) -> None:
    """Start a given server again; `serve` starts its own one by itself."""
    if place.store is not None:
        place.store.server.kill()
        place.store.server.start()
    else:
        wait_until(lambda: place.pid("store") != gone)


@contextmanager
def cut(place: Place, _: random.Random) -> Iterator[None]:
    line = place.its_line
    line.cut()
    yield
    line.mend()


@contextmanager
def silent(place: Place, _: random.Random) -> Iterator[None]:
    line = place.its_line
    line.hang()
    yield
    line.mend()


@contextmanager
def slow(place: Place, rng: random.Random) -> Iterator[None]:
    """Some delays are within the patience of api processes, others beyond it."""
    line = place.its_line
    line.delay_s = rng.choice((0.005, 0.03, 0.2))
    yield
    line.mend()


@contextmanager
def replies_lost(place: Place, _: random.Random) -> Iterator[None]:
    line = place.its_line
    line.loses = 0.05
    yield
    line.mend()


@contextmanager
def older_copy(place: Place, _: random.Random) -> Iterator[None]:
    """The store goes back to how it was when the fault began."""
    store = place.its_store
    store.keep_a_copy()
    yield
    store.go_back_to_the_copy()


@contextmanager
def lost_tail(place: Place, _: random.Random) -> Iterator[None]:
    """The last fifth of the store's file is gone, cut in the middle of a command."""
    place.its_store.lose_the_tail()
    yield


@contextmanager
def emptied(place: Place, _: random.Random) -> Iterator[None]:
    """The store comes back empty; an operator accepts that in the end."""
    place.its_store.replace_by_an_empty_one()
    wait_until(lambda: place.logged("store_refused"))
    yield
    wait_until(place.is_refused)
    told = place.hedgerow("doctor", "--repair", "--yes")
    if told.returncode:
        raise Broken(f"hedgerow doctor --repair: {told.stderr}")


def one_of(place: Place, rng: random.Random, role: str) -> str:
    """Return the name of a process of a role."""
    return rng.choice(place.apis) if role == "api" else role


@dataclass(frozen=True)
class Fault:
    """A fault and what it excuses."""

    act: Act
    lasts: bool = True
    """Whether it goes on until it is left."""
    given_only: bool = False
    """Whether it needs the line, or the files of a given server."""
    loses: Literal["nothing", "what came since it began", "anything"] = "nothing"
    """What the store may lose of that which it acknowledged."""
    takes_api: bool = False
    """Whether a client of an api process may get no answer."""


FAULTS: Mapping[str, Fault] = {
    "kill api": Fault(partial(killed, role="api"), lasts=False, takes_api=True),
    "kill all apis": Fault(all_killed, lasts=False, takes_api=True),
    "kill learner": Fault(partial(killed, role="learner-0"), lasts=False),
    "kill trainer": Fault(partial(killed, role="trainer"), lasts=False),
    "kill store": Fault(store_killed),
    "stop api": Fault(partial(suspended, role="api"), takes_api=True),
    "stop learner": Fault(partial(suspended, role="learner-0")),
    "stop trainer": Fault(partial(suspended, role="trainer")),
    "stop store": Fault(partial(suspended, role="store")),
    "disk full": Fault(disk_full, lasts=False),
    "cut": Fault(cut, given_only=True),
    "silent": Fault(silent, given_only=True),
    "slow": Fault(slow, given_only=True),
    "replies lost": Fault(replies_lost, given_only=True),
    "older copy": Fault(older_copy, given_only=True, loses="what came since it began"),
    "lost tail": Fault(lost_tail, lasts=False, given_only=True, loses="anything"),
    "emptied": Fault(emptied, given_only=True, loses="anything"),
}

LOSSES = tuple(name for name, fault in FAULTS.items() if fault.loses != "nothing")
