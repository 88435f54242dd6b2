"""Takes a backup of a namespace while it is used: all its keys as they were at one moment.

First every key is copied while writers go on, then those again that changed meanwhile. For the last
of them the server holds all writers for a moment (CLIENT PAUSE). The moment counts only if the
server reports no write between the first and the last read of it, so no clock is trusted: a pause
that ends too early costs another attempt, and a backup that dies in one holds nobody for long.
"""

import hashlib
import secrets
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from importlib.metadata import version
from itertools import islice
from time import perf_counter
from typing import BinaryIO, NamedTuple

import msgspec
import redis
from redis import exceptions as redis_errors

from service.errors import Misconfigured, NotFound, StoreRolledBack, StoreUnavailable
from service.store.backup.changed_keys import ChangedKeys
from service.store.backup.container import Header, Summary, Writer
from service.store.backup.pieces import GONE, Piece, read_keys
from service.store.clock import now_ms
from service.store.connection import said, store_errors
from service.store.identity.survey import Survey, survey
from service.store.keys import NamespaceKeys, PartitionKeys, pattern_of
from service.store.layout import stored_layout
from service.store.namespace import Namespace, read_namespace, refuse_half_restored

KEYS_READ = 500
"""Number of keys that are read together."""
ROUNDS = 6
"""Highest number of rounds in which changed keys are copied while writers go on."""
FEW_KEYS = 2_000
"""Number of changed keys that are left for the pause."""
PAUSES_MS = (500, 1_000, 2_000, 4_000)
"""How long writers are held at most, attempt by attempt; clients wait 5 s for an answer."""

Contents = dict[tuple[int, bytes], bytes | None]
"""Key -> digest of all that it holds; None for one with several pieces, which always counts as
changed."""


class Cut(NamedTuple):
    """The last keys, at one moment."""

    keys: list[list[Piece]]
    found: Survey
    at_ms: int
    pause_ms: float


class Taken(NamedTuple):
    """A backup that was taken."""

    header: Header
    summary: Summary
    bytes: int


class Backup:
    """One backup; ``take`` writes it."""

    def __init__(
        self,
        client: redis.Redis,
        namespace: str,
        *,
        parent: str | None = None,
        contents: Contents | None = None,
        progress: Callable[[int], None] = lambda _: None,
    ) -> None:
        """``contents`` of the backup ``parent``: only what differs is written.

        ``progress`` is told the number of keys that were copied so far.
        """
        self._client, self._progress = client, progress
        self._namespace = _existing(client, namespace)
        self._parent, self._contents = parent, contents
        self._unseen = set(contents or ())
        self._skipped = _skipped(self._namespace)
        self._large: set[bytes] = set()
        self._copied = self._written = self._deleted = 0

    def take(self, out: BinaryIO) -> Taken:
        """Write the backup to a file; the file is whole when this returns."""
        name, header = self._namespace.name, self._header()
        writer = Writer(out, header)
        with ChangedKeys(self._client, (f"hr:{{{name}}}:", f"hr:{{{name}.")) as changes:
            changed = self._copy(writer, self._scanned(), changes)
            for _ in range(ROUNDS):
                # a large key that changed once changes all the time: it waits for the pause
                again = changed - self._large
                if len(again) <= FEW_KEYS:
                    break
                changed = changed & self._large | self._copy(writer, again, changes)
            cut = self._cut(changed, changes)
        for pieces in cut.keys:
            self._write(writer, pieces)
        for partition, key in tuple(self._unseen):
            self._write(writer, [Piece(partition, key, GONE, True, 0, [])])
        summary = self._summary(cut)
        writer.end(summary)
        return Taken(header, summary, writer.bytes)

    def _header(self) -> Header:
        namespace = self._namespace
        layout, written_by = stored_layout(self._client, namespace.name)
        return Header(
            id=secrets.token_hex(8),
            namespace=namespace.name,
            partitions=namespace.partitions,
            identity=namespace.identity,
            layout=layout,
            written_by=written_by or version("hedgerow"),
            began_ms=now_ms(),
            parent=self._parent,
        )

    def _summary(self, cut: Cut) -> Summary:
        positions = cut.found.positions
        return Summary(
            cut_ms=cut.at_ms,
            sequences=positions.sequences,
            items=positions.items,
            written=self._written,
            deleted=self._deleted,
            pause_ms=round(cut.pause_ms, 1),
        )

    def _scanned(self) -> Iterator[bytes]:
        with store_errors():
            yield from self._client.scan_iter(pattern_of(self._namespace.name), count=KEYS_READ)

    def _copy(self, writer: Writer, keys: Iterable[bytes], changes: ChangedKeys) -> set[bytes]:
        """Copy keys and return those that were written meanwhile."""
        changed: set[bytes] = set()
        for pieces in self._pieces(keys):
            self._write(writer, pieces)
            if self._copied % KEYS_READ == 0:
                changed |= changes.taken()
                self._progress(self._copied)
        return changed | changes.taken()

    def _cut(self, changed: set[bytes], changes: ChangedKeys) -> Cut:
        for pause_ms in PAUSES_MS:
            began = perf_counter()
            with self._paused(pause_ms):
                changed |= changes.taken()
                keys = list(self._pieces(changed))
                refuse_half_restored(self._client, self._namespace.name)
                found = survey(self._client, self._namespace.name, self._namespace.partitions)
                at_ms, later = now_ms(), changes.taken()
            if not later:
                if str(found.identity or "") != self._namespace.identity:
                    raise StoreRolledBack("the store went back meanwhile: take the backup again")
                return Cut(keys, found, at_ms, (perf_counter() - began) * 1_000)
            changed |= later
        raise StoreUnavailable(
            f"the last {len(changed):,} keys could not be read within {PAUSES_MS[-1] / 1_000:g} s, "
            "for which writers may be held: take the backup while less is written"
        )

    def _pieces(self, keys: Iterable[bytes]) -> Iterator[list[Piece]]:
        wanted = (key for key in keys if key not in self._skipped)
        while batch := list(islice(wanted, KEYS_READ)):
            for key, pieces in zip(batch, read_keys(self._client, batch), strict=True):
                self._copied += 1
                if len(pieces) > 1:
                    self._large.add(key)
                yield pieces

    def _write(self, writer: Writer, pieces: list[Piece]) -> None:
        """Write a key, unless the parent or this backup holds the same of it already."""
        key = pieces[0].key
        self._unseen.discard(key)
        if self._contents is not None:
            digest = digest_of(pieces)
            if digest is not None and self._contents.get(key) == digest:
                return
            self._contents[key] = digest
        for piece in pieces:
            writer.add(piece)
        self._written += pieces[0].kind != GONE
        self._deleted += pieces[0].kind == GONE

    @contextmanager
    def _paused(self, at_most_ms: int) -> Iterator[None]:
        """Hold all writers of the server, for a moment that ends by itself if we do not end it."""
        try:
            with store_errors():
                self._pause(at_most_ms)
        except redis_errors.ResponseError as error:
            raise _no_pause(error) from error
        try:
            yield
        finally:
            with store_errors():
                self._client.client_unpause()

    def _pause(self, at_most_ms: int) -> None:
        try:
            self._client.client_pause(at_most_ms, all=False)
        except redis_errors.NoPermissionError as error:
            raise _no_pause(error) from error


def _no_pause(error: redis_errors.ResponseError) -> Misconfigured:
    return Misconfigured(
        f"this Redis does not hold writers for a moment ({said(error)}): allow the user "
        "of HEDGEROW_REDIS_URL the commands CLIENT PAUSE and CLIENT UNPAUSE"
    )


def note(contents: Contents, piece: Piece) -> None:
    """Note a piece of a backup; those of a chain come in order."""
    if piece.kind == GONE:
        contents.pop(piece.key, None)
    else:
        contents[piece.key] = digest_of([piece]) if piece.is_first else None


def digest_of(pieces: list[Piece]) -> bytes | None:
    """Return the digest of a key of one piece; None for a longer one."""
    if len(pieces) > 1:
        return None
    packed = msgspec.msgpack.encode(pieces[0])
    return hashlib.blake2b(packed, digest_size=16).digest()


def _existing(client: redis.Redis, name: str) -> Namespace:
    refuse_half_restored(client, name)
    namespace = read_namespace(client, name)
    if namespace is None:
        raise NotFound(f"there is no namespace {name}: `hedgerow namespaces list` shows all")
    return namespace


def _skipped(namespace: Namespace) -> frozenset[bytes]:
    """Return the keys that say who works for the namespace now: nobody does after a restore."""
    keys = NamespaceKeys(namespace.name)
    partitions = [PartitionKeys(namespace.name, number) for number in range(namespace.partitions)]
    working = [keys.trainer, keys.eraser, keys.webhook_sender, *(one.lease for one in partitions)]
    names = [*working, keys.restoring]
    return frozenset(name.encode() for name in names)
