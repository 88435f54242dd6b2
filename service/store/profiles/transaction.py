"""MULTI ... EXEC, packed by hand for speed.

For a thousand rows, redis-py's packing would take longer than learning them.
"""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from core.types import F32, U8

Argument = bytes | memoryview | str | int
"""An argument of a command; a memoryview must have items of one byte."""


class Transaction:
    """Commands of one transaction, in the order they are added."""

    def __init__(self) -> None:
        self._parts: list[bytes | memoryview] = [packed("MULTI")]
        self._commands = 0

    def add(self, *arguments: Argument) -> None:
        """Add one command."""
        self._parts.append(packed(*arguments))
        self._commands += 1

    def set_rows(self, prefix: str, names: Iterable[bytes], rows: F32) -> None:
        """Add one MSET of rows (n, width); the key of a row is ``prefix`` plus its name."""
        n = len(rows)
        framed = _framed(rows)
        flat, size = framed.reshape(-1).data, framed.shape[1]
        pieces: list[Any] = [b""] * (2 * n)
        pieces[0::2] = _row_heads(prefix, names, 4 * rows.shape[1])
        pieces[1::2] = [flat[at : at + size] for at in range(0, n * size, size)]
        self._parts += [b"*%d\r\n$4\r\nMSET\r\n" % (2 * n + 1), *pieces]
        self._commands += 1

    def set_fields(self, key: str, names: Sequence[int], values: Sequence[bytes]) -> None:
        """Add one HSET; the fields of the hash are numbers."""
        self._parts += [b"*%d\r\n" % (2 * len(names) + 2), argument("HSET"), argument(key)]
        for name, value in zip(names, values, strict=True):
            digits = b"%d" % name
            self._parts += [b"$%d\r\n%b\r\n$%d\r\n" % (len(digits), digits, len(value)), value]
            self._parts.append(b"\r\n")
        self._commands += 1

    def evaluate(self, script: str, keys: Sequence[bytes], values: Sequence[Argument]) -> None:
        """Add one EVAL; ``keys`` are already packed by ``arguments``.

        Never EVALSHA: an unknown script would fail alone, while the rest of the transaction is
        applied.
        """
        self._parts += [
            b"*%d\r\n" % (3 + len(keys) + len(values)),
            argument("EVAL"),
            argument(script),
            argument(len(keys)),
            *keys,
            *map(argument, values),
        ]
        self._commands += 1

    def finish(self, *following: bytes) -> "PackedTransaction":
        """Return the transaction ready to send, followed by commands made by ``packed``."""
        parts = [*self._parts, packed("EXEC"), *following]
        return PackedTransaction(b"".join(parts), self._commands)


class PackedTransaction:
    """The bytes of a transaction; whether to send it again is up to the caller."""

    def __init__(self, data: bytes, commands: int) -> None:
        self._data, self._commands = data, commands

    def __len__(self) -> int:
        return len(self._data)

    def send(self, connection: Any) -> None:
        """Send the transaction; ``receive`` must follow on the same connection."""
        connection.send_packed_command([self._data])

    def receive(self, connection: Any) -> list[Any] | None:
        """Return EXEC's answers, None if a watched key had changed.

        The answers to the ``following`` commands remain to be read. If a command of the transaction
        failed, its error is raised.
        """
        for _ in range(self._commands + 1):
            connection.read_response()
        answers: list[Any] | None = connection.read_response()
        for answer in answers or ():
            if isinstance(answer, Exception):
                raise answer
        return answers


def packed(*arguments: Argument) -> bytes:
    """Pack one command."""
    return b"".join([b"*%d\r\n" % len(arguments), *map(argument, arguments)])


def argument(value: Argument) -> bytes:
    r"""Pack one argument of a command.

    >>> argument("GET"), argument(17)
    (b'$3\r\nGET\r\n', b'$2\r\n17\r\n')
    """
    data = value.encode() if isinstance(value, str) else value
    data = b"%d" % data if isinstance(data, int) else data
    return b"".join((b"$%d\r\n" % len(data), data, b"\r\n"))


def arguments(prefix: str, names: Iterable[bytes]) -> list[bytes]:
    r"""Pack arguments that share a prefix.

    >>> arguments("k:", [b"ann"])
    [b'$5\r\nk:ann\r\n']
    """
    first = prefix.encode()
    size = len(first)
    return [b"$%d\r\n%b%b\r\n" % (size + len(name), first, name) for name in names]


def _row_heads(prefix: str, names: Iterable[bytes], row_bytes: int) -> list[bytes]:
    """Pack the key of each row and the length of the row that follows."""
    announced = b"$%d\r\n" % row_bytes
    return [key + announced for key in arguments(prefix, names)]


def _framed(rows: F32) -> U8:
    """Return the bytes of each row followed by CR LF."""
    n, width = rows.shape
    framed = np.empty((n, 4 * width + 2), dtype=np.uint8)
    framed[:, :-2] = rows.view(np.uint8)
    framed[:, -2:] = (13, 10)
    return framed
