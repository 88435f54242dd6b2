"""What the data directory remembers of the store: a file that no loss of the store can reach.

A store that comes back empty looks like a new one. The file says that it is not: which namespace it
held, how far it was at least, and whether there were API keys.
"""

import fcntl
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from service.errors import Misconfigured
from service.store.identity.identity import Identity
from service.store.identity.known import Positions

FILE = "known-stores.json"


@dataclass(frozen=True)
class Remembered:
    """What is remembered of a namespace."""

    identity: str = ""
    """Empty: only the API keys are remembered."""
    sequences: tuple[int, ...] = ()
    items: int = 0
    had_keys: bool = False
    """Whether there ever was an API key."""

    @property
    def positions(self) -> Positions:
        """How far the store was at least."""
        return Positions(tuple(self.sequences), self.items)

    @property
    def incarnation(self) -> str:
        """The incarnation that was known, empty if none was."""
        return Identity.parse(self.identity).incarnation if self.identity else ""


class Memory:
    """The file of one data directory; any process of the machine may write it."""

    def __init__(self, data_dir: Path) -> None:
        self._file = data_dir / FILE

    def of(self, namespace: str) -> Remembered:
        """Return what is remembered of a namespace; of an unknown one nothing is."""
        return _remembered(self._read().get(namespace, {}))

    def remember(self, namespace: str, identity: Identity, now: Positions) -> None:
        """Note how far the store is."""
        known = {"identity": str(identity), "sequences": now.sequences, "items": now.items}
        self._change(namespace, lambda old: replace(old, **known))

    def remember_keys(self, namespace: str) -> None:
        """Note that there is an API key."""
        self._change(namespace, lambda old: replace(old, had_keys=True))

    def forget(self, namespace: str) -> None:
        """Forget a namespace that was deleted on purpose, with its keys."""
        self._change(namespace, lambda _: None)

    def forget_store(self, namespace: str) -> None:
        """Forget which store it was, but not that there were keys."""
        self._change(namespace, lambda old: Remembered(had_keys=old.had_keys))

    def forget_keys(self, namespace: str) -> None:
        """Forget that there were keys: without any, the service is open on loopback again."""
        self._change(namespace, lambda old: replace(old, had_keys=False))

    def _read(self) -> dict[str, Any]:
        try:
            found: dict[str, Any] = json.loads(self._file.read_text())
        except FileNotFoundError:
            return {}
        except ValueError as error:
            raise Misconfigured(
                f"{self._file} is damaged ({error}): it says which store was known. Remove it to "
                "trust whatever store is there"
            ) from error
        return found

    def _change(self, namespace: str, change: Any) -> None:
        with self._locked():
            known = self._read()
            old = _remembered(known.get(namespace, {}))
            new = change(old)
            if new == old:
                return
            known.pop(namespace, None)
            if new is not None:
                known[namespace] = asdict(new)
            self._write(json.dumps(known, indent=1))

    def _write(self, text: str) -> None:
        """Replace the file as a whole: a reader finds the old one or the new one."""
        new = self._file.with_suffix(".new")
        with new.open("w") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        new.replace(self._file)

    @contextmanager
    def _locked(self) -> Iterator[None]:
        self._file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with self._file.with_suffix(".lock").open("a") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield


def _remembered(stored: dict[str, Any]) -> Remembered:
    known = {name: value for name, value in stored.items() if name in Remembered.__annotations__}
    return replace(Remembered(**known), sequences=tuple(stored.get("sequences", ())))
