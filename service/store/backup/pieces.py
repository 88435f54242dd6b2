"""Keys as pieces, read from one server and written to another of any kind and version.

A key that is long has several pieces; each is small enough to keep nobody waiting. What stands in a
piece are the values as a client sees them, never a server's own format, so that a backup outlives
the server that it was taken from.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, cast

import msgspec
import redis
from redis import exceptions as redis_errors
from redis.client import Pipeline

from service.errors import Misconfigured
from service.store.clock import now_ms
from service.store.connection import store_errors
from service.store.keys import key_of, parts_of_key

STRING, GONE = "string", "none"
"""Types as Redis names them; "none" is a key that does not exist."""
SHORT_BYTES = 1 << 16
"""Bytes of each string that are read together with those of many others."""
STRING_BYTES = 1 << 20
"""Bytes of a string in one piece."""
MEMBERS = 1_000
"""Members of a list, hash or sorted set that one command reads; about as many for a hash."""
ENTRIES = 64
"""Entries of a stream that one command reads: those of the log may be long."""


class Piece(msgspec.Struct, array_like=True, frozen=True):
    """A part of a key, or the news that there is no such key any longer."""

    partition: int
    """-1: a key of the whole namespace."""
    name: bytes
    """The key without namespace and partition."""
    kind: str
    """The type as Redis names it; "none": the key was deleted."""
    is_first: bool
    """Whether it begins the key anew, whatever there was under this name."""
    expires_ms: int
    """When the key ends, UTC ms; 0: never."""
    values: Sequence[bytes]
    """Of a string one; of a hash field, value, ...; of a sorted set member, score, ...; of a stream
    id, packed fields, ..."""
    last_id: bytes = b""
    """Of the last piece of a stream: the newest id that it ever had."""

    @property
    def key(self) -> tuple[int, bytes]:
        """The key that it is of, whatever the namespace is called."""
        return self.partition, self.name


def read_keys(client: redis.Redis, keys: Sequence[bytes]) -> Iterator[list[Piece]]:
    """Yield the pieces of each key; a key that is gone has one that says so.

    A key that changes meanwhile may be read half before and half after: the caller finds out.
    """
    with store_errors():
        found = _kinds(client, keys)
        strings = [key for key, (kind, _) in zip(keys, found, strict=True) if kind == STRING]
        short = dict(zip(strings, _beginnings(client, strings), strict=True))
        for key, (kind, expires_ms) in zip(keys, found, strict=True):
            if kind == STRING:
                parts = _string(client, key, short.pop(key))
            elif kind in _READERS:
                parts = _READERS[kind](client, key)
            elif kind == GONE:
                parts = iter([Part([])])
            else:
                raise Misconfigured(f"{key!r} is a {kind}, which no key of this version is")
            yield _pieces(key, kind, expires_ms, parts)


def write_piece(pipe: Pipeline, namespace: str, piece: Piece) -> None:
    """Queue the commands that write a piece; pieces of a key must come in order."""
    key = key_of(namespace, piece.partition, piece.name)
    if piece.is_first and piece.kind != STRING:
        pipe.unlink(key)
    if piece.kind in _WRITERS:
        _WRITERS[piece.kind](pipe, key, piece)
    elif piece.kind != GONE:
        raise Misconfigured(f"the backup holds a {piece.kind}, which this version cannot write")
    if piece.expires_ms:
        pipe.pexpireat(key, piece.expires_ms)


class Part(NamedTuple):
    """Values that were read by one command."""

    values: Sequence[bytes]
    last_id: bytes = b""


def _pieces(key: bytes, kind: str, expires_ms: int, parts: Iterator[Part]) -> list[Piece]:
    partition, name = parts_of_key(key)
    return [
        Piece(partition, name, kind, number == 0, expires_ms, part.values, part.last_id)
        for number, part in enumerate(parts)
    ]


def _kinds(client: redis.Redis, keys: Sequence[bytes]) -> list[tuple[str, int]]:
    """Return of each key its type and when it ends, 0 for never."""
    pipe = client.pipeline(transaction=False)
    for key in keys:
        pipe.type(key)
        pipe.pttl(key)
    replies, now = pipe.execute(), now_ms()
    return [
        (kind.decode(), now + left if left >= 0 else 0)
        for kind, left in zip(replies[::2], replies[1::2], strict=True)
    ]


def _beginnings(client: redis.Redis, keys: Sequence[bytes]) -> list[bytes]:
    pipe = client.pipeline(transaction=False)
    for key in keys:
        pipe.getrange(key, 0, SHORT_BYTES - 1)
    return cast("list[bytes]", pipe.execute())


def _string(client: redis.Redis, key: bytes, begins: bytes) -> Iterator[Part]:
    if len(begins) == SHORT_BYTES:
        begins += cast("bytes", client.getrange(key, SHORT_BYTES, STRING_BYTES - 1))
    yield Part([begins])
    at = STRING_BYTES
    while len(begins) == STRING_BYTES:
        begins = cast("bytes", client.getrange(key, at, at + STRING_BYTES - 1))
        at += STRING_BYTES
        if begins:
            yield Part([begins])


def _hash(client: redis.Redis, key: bytes) -> Iterator[Part]:
    cursor = -1
    while cursor:
        answer: Any = client.hscan(key, max(cursor, 0), count=MEMBERS)
        cursor, fields = answer
        yield Part([one for pair in fields.items() for one in pair])


def _list(client: redis.Redis, key: bytes) -> Iterator[Part]:
    at = 0
    while True:
        values = cast("list[bytes]", client.lrange(key, at, at + MEMBERS - 1))
        yield Part(values)
        at += MEMBERS
        if len(values) < MEMBERS:
            return


def _sorted_set(client: redis.Redis, key: bytes) -> Iterator[Part]:
    at = 0
    while True:
        found: Any = client.zrange(key, at, at + MEMBERS - 1, withscores=True)
        yield Part([one for member, score in found for one in (member, repr(score).encode())])
        at += MEMBERS
        if len(found) < MEMBERS:
            return


def _stream(client: redis.Redis, key: bytes) -> Iterator[Part]:
    after = "-"
    while True:
        entries: Any = client.xrange(key, after, "+", count=ENTRIES)
        values = [one for name, fields in entries for one in (name, _packed(fields))]
        if len(entries) < ENTRIES:
            yield Part(values, _last_id(client, key))
            return
        yield Part(values)
        after = f"({entries[-1][0].decode()}"


def _last_id(client: redis.Redis, key: bytes) -> bytes:
    try:
        about: Any = client.xinfo_stream(key)
    except redis_errors.ResponseError:
        # deleted meanwhile: the next look at this key says so
        return b""
    return cast("bytes", about["last-generated-id"])


def _packed(fields: Mapping[bytes, bytes]) -> bytes:
    return msgspec.msgpack.encode([one for pair in fields.items() for one in pair])


_READERS: Mapping[str, Callable[[redis.Redis, bytes], Iterator[Part]]] = {
    "hash": _hash,
    "list": _list,
    "zset": _sorted_set,
    "stream": _stream,
}


def _write_string(pipe: Pipeline, key: bytes, piece: Piece) -> None:
    [value] = piece.values
    pipe.set(key, value) if piece.is_first else pipe.append(key, value)


def _write_hash(pipe: Pipeline, key: bytes, piece: Piece) -> None:
    if piece.values:
        pipe.hset(key, items=list(piece.values))


def _write_list(pipe: Pipeline, key: bytes, piece: Piece) -> None:
    if piece.values:
        pipe.rpush(key, *piece.values)


def _write_sorted_set(pipe: Pipeline, key: bytes, piece: Piece) -> None:
    if piece.values:
        pipe.zadd(key, dict(_pairs(piece.values)))


def _write_stream(pipe: Pipeline, key: bytes, piece: Piece) -> None:
    send: Callable[..., Any] = pipe.execute_command
    for name, fields in _pairs(piece.values):
        send("XADD", key, name, *msgspec.msgpack.decode(fields, type=list[bytes]))
    if piece.last_id in {b"", b"0-0"}:
        return
    if piece.is_first and not piece.values:
        # an empty stream whose ids go on where they were
        send("XADD", key, "MAXLEN", 0, piece.last_id, "", "")
    else:
        send("XSETID", key, piece.last_id)


_WRITERS: Mapping[str, Callable[[Pipeline, bytes, Piece], None]] = {
    STRING: _write_string,
    "hash": _write_hash,
    "list": _write_list,
    "zset": _write_sorted_set,
    "stream": _write_stream,
}


def _pairs(values: Sequence[bytes]) -> Iterator[tuple[bytes, bytes]]:
    return zip(values[::2], values[1::2], strict=True)
