"""Bytes that are nearly what a parser expects: samples with a few faults."""

import random
from collections.abc import Callable, Sequence

TOKENS = (
    b"",
    b"\x00",
    b"\n",
    b"\r\n",
    b'"',
    b"'",
    b",",
    b":",
    b"[",
    b"{",
    b"]}",
    b"null",
    b"NaN",
    b"-inf",
    b"1e400",
    b"-1",
    b"18446744073709551616",
    b"0.0000000000000000000001",
    b"\xff",
    b"\xef\xbb\xbf",
    b"\xed\xa0\x80",
    b"\\ud800",
    b"\xe2\x80\xae",
    b"[" * 300,
    b"\xff\xff\xff\xff",
    b"\xff\xff\xff\x7f",
    b"\x1f\x8b",
)
"""What has broken parsers before: limits of numbers, halves of characters, ends of lines."""
FAULTS_AT_ONCE = (1, 1, 1, 2, 2, 3, 6)
"""Mostly few: the fewer there are, the farther a parser gets."""

Fault = Callable[[random.Random, bytearray], None]


def _flip(rng: random.Random, data: bytearray) -> None:
    if data:
        data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)


def _replace(rng: random.Random, data: bytearray) -> None:
    if data:
        data[rng.randrange(len(data))] = rng.randrange(256)


def _insert(rng: random.Random, data: bytearray) -> None:
    at = rng.randint(0, len(data))
    data[at:at] = rng.choice(TOKENS)


def _overwrite(rng: random.Random, data: bytearray) -> None:
    at, token = rng.randint(0, len(data)), rng.choice(TOKENS)
    data[at : at + len(token)] = token


def _delete(rng: random.Random, data: bytearray) -> None:
    at = rng.randint(0, len(data))
    del data[at : at + rng.randint(1, 16)]


def _double(rng: random.Random, data: bytearray) -> None:
    at = rng.randint(0, len(data))
    data[at:at] = data[at : at + rng.randint(1, 64)]


def _cut(rng: random.Random, data: bytearray) -> None:
    del data[rng.randint(0, len(data)) :]


FAULTS: tuple[Fault, ...] = (_flip, _replace, _insert, _overwrite, _delete, _double, _cut)


def mutated(rng: random.Random, samples: Sequence[bytes]) -> bytes:
    """Return a sample, or the halves of two, with a few faults."""
    data = bytearray(rng.choice(samples))
    if rng.random() < 0.1:
        other = rng.choice(samples)
        data = data[: rng.randint(0, len(data))] + other[rng.randint(0, len(other)) :]
    for _ in range(rng.choice(FAULTS_AT_ONCE)):
        rng.choice(FAULTS)(rng, data)
    return bytes(data)
