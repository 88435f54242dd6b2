"""Recommendation ids: they name what made a slate, in 32 characters that feedback hands back.

Nothing is stored for an id. It is no secret and proves nothing: a forged id is at worst counted for
another model.
"""

import binascii
import re
import struct
from base64 import b64decode, urlsafe_b64encode
from dataclasses import dataclass
from functools import lru_cache
from hashlib import blake2b

from service.ranking.families import STRATEGIES
from service.ranking.strategies import Strategy

LENGTH = 32
NOBODY = bytes(8)

_FORMAT = 1
_LAYOUT = struct.Struct(">BB6s6s8s")
_PREFIX = re.compile(r"(?:[a-z]+-)?([0-9a-f]{12})[0-9a-f]*")


@dataclass(frozen=True)
class RecId:
    """What an id says."""

    source: bytes
    """What the log keeps of it: strategy and model, see ``named``."""
    time_ms: int
    user: bytes
    """See ``hashed``; ``NOBODY`` where nobody in particular asked."""


def encode(strategy: Strategy, model_version: str, time_ms: int, user: str | None) -> str:
    """Return the id of a slate; ``user`` is None where nobody in particular asked."""
    whose = NOBODY if user is None else hashed(user)
    packed = _head(strategy, model_version) + time_ms.to_bytes(6) + whose
    return urlsafe_b64encode(packed + _check(packed)).decode()


@lru_cache(maxsize=64)
def _head(strategy: Strategy, model_version: str) -> bytes:
    model = bytes.fromhex(model_prefix(model_version) or "0" * 12)
    return bytes((_FORMAT, STRATEGIES.index(strategy))) + model


def decode(text: str) -> RecId | None:
    """Return what an id says; None for a text that is no id of ours."""
    if len(text) != LENGTH:
        return None
    try:
        packed = b64decode(text, altchars=b"-_", validate=True)
    except ValueError:  # binascii.Error, or not ASCII
        return None
    if len(packed) != _LAYOUT.size + 2 or packed[-2:] != _check(packed[:-2]):
        return None
    version, strategy, model, time_ms, user = _LAYOUT.unpack(packed[:-2])
    if version != _FORMAT or strategy >= len(STRATEGIES):
        return None
    return RecId(bytes((strategy, _FORMAT)) + model, int.from_bytes(time_ms), user)


def source_of(text: str, user: str) -> bytes:
    """Return the source of an id in a user's feedback; b"" if it is foreign or another user's."""
    found = decode(text)
    if found is None or (found.user != NOBODY and found.user != hashed(user)):
        return b""
    return found.source


def named(source: bytes) -> tuple[Strategy, str]:
    """Return the strategy of a source and the first 12 hex digits of its model, "" for none."""
    return STRATEGIES[source[0]], source[2:].hex() if any(source[2:]) else ""


def model_prefix(version: str) -> str:
    """Return what an id keeps of a model version, "" for one without a hash.

    >>> model_prefix("online-4f0797966127d249"), model_prefix("popular")
    ('4f0797966127', '')
    """
    found = _PREFIX.fullmatch(version)
    return found[1] if found else ""


def hashed(user: str) -> bytes:
    """Return the eight bytes that stand for a user."""
    return blake2b(user.encode(), digest_size=8, person=b"rec-id").digest()


def _check(packed: bytes) -> bytes:
    return binascii.crc_hqx(packed, 0).to_bytes(2)
