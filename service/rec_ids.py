"""Recommendation ids: 32 characters that name the origin of a slate, for feedback to refer to.

Nothing is stored for an id. It is neither secret nor authentic: at worst a forged id is counted for
another model.
"""

import binascii
import re
import struct
from base64 import b64decode, urlsafe_b64encode
from dataclasses import dataclass
from functools import lru_cache
from hashlib import blake2b
from typing import NamedTuple

from service.ranking.families import STRATEGIES
from service.ranking.strategies import Strategy

LENGTH = 32
NOBODY = bytes(8)

_FORMAT = 1
_LAYOUT = struct.Struct(">BB6s6s8s")
_PREFIX = re.compile(r"(?:[a-z]+-)?([0-9a-f]{12})[0-9a-f]*")


@dataclass(frozen=True)
class RecId:
    """The content of an id."""

    source: bytes
    """Strategy and model, as the log keeps them; see ``named``."""
    time_ms: int
    user: bytes
    """Hash of the user, see ``hashed``; ``NOBODY`` for a request without a user."""


def encode(strategy: Strategy, model_version: str, time_ms: int, user: str | None) -> str:
    """Return the id of a slate; ``user`` is None for a request without a user."""
    owner = NOBODY if user is None else hashed(user)
    return RecIdTemplate(_head(strategy, model_version), owner).at(time_ms).decode()


class RecIdTemplate(NamedTuple):
    """The id of a slate without its time."""

    head: bytes
    owner: bytes

    @classmethod
    def of(cls, text: str) -> "RecIdTemplate":
        """Return what an id says beside its time."""
        packed = b64decode(text, altchars=b"-_")
        return cls(packed[:8], packed[14:22])

    def at(self, time_ms: int) -> bytes:
        """Return the id of a slate that was given at this time."""
        packed = self.head + time_ms.to_bytes(6) + self.owner
        return urlsafe_b64encode(packed + _check(packed))


@lru_cache(maxsize=64)
def _head(strategy: Strategy, model_version: str) -> bytes:
    model = bytes.fromhex(model_prefix(model_version) or "0" * 12)
    return bytes((_FORMAT, STRATEGIES.index(strategy))) + model


def decode(text: str) -> RecId | None:
    """Return the content of an id, None for any other text."""
    if len(text) != LENGTH:
        return None
    try:
        packed = b64decode(text, altchars=b"-_", validate=True)
    except ValueError:  # binascii.Error, or not ASCII
        return None
    if len(packed) != _LAYOUT.size + 2 or packed[-2:] != _check(packed[:-2]):
        return None
    version, strategy, model, time_ms, user = _LAYOUT.unpack(packed[:-2])
    if version != _FORMAT or not any(STRATEGIES[strategy : strategy + 1]):
        return None
    return RecId(bytes((strategy, _FORMAT)) + model, int.from_bytes(time_ms), user)


def source_of(text: str, user: str) -> bytes:
    """Return the source of an id in a user's feedback; b"" if it is invalid or another user's."""
    rec_id = decode(text)
    if rec_id is None or (rec_id.user != NOBODY and rec_id.user != hashed(user)):
        return b""
    return rec_id.source


def named(source: bytes) -> tuple[Strategy, str]:
    """Return the strategy of a source and the first 12 hex digits of its model, "" for none."""
    return STRATEGIES[source[0]], source[2:].hex() if any(source[2:]) else ""


def model_prefix(version: str) -> str:
    """Return the part of a model version that ids contain, "" for a version without a hash.

    >>> model_prefix("online-4f0797966127d249"), model_prefix("popular")
    ('4f0797966127', '')
    """
    match = _PREFIX.fullmatch(version)
    return match[1] if match else ""


def hashed(user: str) -> bytes:
    """Return the hash of a user in ids, eight bytes."""
    return blake2b(user.encode(), digest_size=8, person=b"rec-id").digest()


def _check(packed: bytes) -> bytes:
    return binascii.crc_hqx(packed, 0).to_bytes(2)
