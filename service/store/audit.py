"""The audit log: what operators did, who, when, and how it ended. The newest entries are kept.

An entry names keys by their ids and no user at all. Synchronous: the api calls it in a thread.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any, cast

import msgspec
import redis

from service.errors import ServiceError, StoreUnavailable
from service.store.connection import store_errors
from service.store.keys import NamespaceKeys
from service.telemetry import logger

KEPT = 10_000
"""Approximate number of entries that are kept."""
MOST_TEXT = 500
"""Most characters of a detail."""
COMMAND_LINE = "command line"
"""Who acts where somebody types: whoever may read the data directory."""
DONE = "done"
"""How an act ends that did what it was to do."""
INTERRUPTED = "interrupted"
"""How an act of the command line ends with Ctrl-C."""


class Act(msgspec.Struct, frozen=True):
    """Something that an operator did, or tried to do."""

    who: str
    """``key <id>``, ``local`` without keys, ``command line``."""
    act: str
    """The name of the operation, or of the command."""
    about: Mapping[str, str]
    """What it was done to."""
    result: str
    """``done``, or why not: the code of an error, ``interrupted``."""


class Entry(msgspec.Struct, frozen=True):
    """An act in the log."""

    id: str
    at_ms: int
    act: Act


class Audit:
    """The audit log of a namespace."""

    def __init__(self, client: redis.Redis, namespace: str, *, kept: int = KEPT) -> None:
        self._client, self._kept = client, kept
        self._key = NamespaceKeys(namespace).audit

    def note(self, act: Act) -> None:
        """Add an act."""
        about = {name: str(value)[:MOST_TEXT] for name, value in act.about.items()}
        fields: dict[Any, Any] = {
            "who": act.who[:MOST_TEXT],
            "act": act.act,
            "about": msgspec.json.encode(about),
            "result": act.result[:MOST_TEXT],
        }
        with store_errors():
            self._client.xadd(self._key, fields, maxlen=self._kept, approximate=True)

    def note_or_log(self, act: Act) -> None:
        """Add an act that has happened: if the store takes no writes, the process logs it."""
        try:
            self.note(act)
        except StoreUnavailable:
            about = dict(act.about)
            logger().error(
                "act_not_noted", who=act.who, act=act.act, about=about, result=act.result
            )

    def entries(self, limit: int, before: str | None = None) -> list[Entry]:
        """Return the newest entries, or those before the entry ``before``, the newest first."""
        newest = "+" if before is None else f"({before}"
        with store_errors():
            answer = self._client.xrevrange(self._key, newest, count=limit)
        found = cast("list[tuple[bytes, dict[bytes, bytes]]]", answer)
        return [_entry(name.decode(), fields) for name, fields in found]


def _entry(name: str, fields: Mapping[bytes, bytes]) -> Entry:
    act = Act(
        who=fields[b"who"].decode(),
        act=fields[b"act"].decode(),
        about=msgspec.json.decode(fields[b"about"], type=dict[str, str]),
        result=fields[b"result"].decode(),
    )
    return Entry(name, int(name.partition("-")[0]), act)


@contextmanager
def acting(client: redis.Redis, namespace: str, act: str, **about: str) -> Iterator[dict[str, str]]:
    """Note an act of the command line, however it ends; yields what it is about, to be added to.

    What fails in a namespace that is not there leaves nothing in it: a restore refuses to write
    where anything is.
    """
    audit, result = Audit(client, namespace), "internal"
    try:
        yield about
        result = DONE
    except ServiceError as error:
        result = error.code
        raise
    except KeyboardInterrupt:
        result = INTERRUPTED
        raise
    finally:
        if result == DONE or _is_there(client, namespace):
            audit.note_or_log(Act(COMMAND_LINE, act, about, result))


def _is_there(client: redis.Redis, namespace: str) -> bool:
    """Return whether the namespace exists, or has a key already; True if the store is away."""
    keys = NamespaceKeys(namespace)
    with suppress(StoreUnavailable), store_errors():
        return bool(client.exists(keys.settings, keys.api_keys, keys.audit))
    return True
