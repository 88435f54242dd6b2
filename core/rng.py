"""Randomness by derivation: every random number is a pure function of a seed and its purpose.

The generator is counter-based (splitmix64): a row starts with the same values in every process, and
a replay repeats every random number.
"""

import hashlib
from collections.abc import Iterable

import numpy as np

from core.types import F64, U64

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_MIX_1 = np.uint64(0xBF58476D1CE4E5B9)
_MIX_2 = np.uint64(0x94D049BB133111EB)


def id_hashes(ids: Iterable[str]) -> U64:
    """Return the 64-bit blake2b digests, (n,) u64, of external ids in UTF-8.

    >>> id_hashes(["a"]).dtype, int(id_hashes(["a"])[0]) == int(id_hashes(["a"])[0])
    (dtype('uint64'), True)
    """
    digests = b"".join(hashlib.blake2b(text.encode(), digest_size=8).digest() for text in ids)
    return np.frombuffer(digests, dtype="<u8").astype(np.uint64)


def mix(values: U64) -> U64:
    """Return splitmix64's finaliser of each value, a bijection whose output bits look random."""
    z = values + _GOLDEN
    z = (z ^ (z >> np.uint64(30))) * _MIX_1
    z = (z ^ (z >> np.uint64(27))) * _MIX_2
    return z ^ (z >> np.uint64(31))


def symmetric_noise(seed: int, side: int, hashes: U64, *, first: int, count: int) -> F64:
    """Return U(-1, 1) noise, (n, count) f64, for coordinates ``first .. first + count`` of n rows.

    The noise depends on (seed, side, id hash, coordinate) alone.
    """
    root = mix(np.array([seed], dtype=np.uint64) * np.uint64(2) + np.uint64(side))
    row = mix(hashes ^ root)
    coordinate = mix(np.arange(first, first + count, dtype=np.uint64))
    bits = mix(row[:, None] ^ coordinate[None, :])
    unit = (bits >> np.uint64(11)).astype(np.float64) * 2.0**-53
    return 2.0 * unit - 1.0
