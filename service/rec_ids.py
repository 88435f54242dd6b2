"""Recommendation ids: 32 characters that name the origin of a slate, for feedback to refer to.

An id is longer if the request said where it came from, or the user is in an arm of an experiment:
the id carries that as well. Nothing is
stored for an id. It is neither secret nor authentic: at worst a forged id is counted for
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
"""Characters of an id without a context."""
LONGEST, MOST_CONTEXT = 272, 160
"""Characters of the longest id, with an arm as well; most bytes of the context in it."""
NOBODY = bytes(8)

_FORMAT, _PLACED = 1, 2
"""The second is that of ids with a context behind the rest."""
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
    context: bytes = b""
    """Where the request came from, and the arm of its user, as the log keeps them."""


def encode(strategy: Strategy, model_version: str, time_ms: int, user: str | None) -> str:
    """Return the id of a slate; ``user`` is None for a request without a user."""
    owner = NOBODY if user is None else hashed(user)
    return RecIdTemplate(_head(strategy, model_version), owner).at(time_ms).decode()


def with_context(text: str, context: bytes) -> str:
    """Return an id that also says where its request came from; without a context, the same id."""
    if not context:
        return text
    packed = bytes((_PLACED,)) + _bytes_of(text)[1:-2] + context
    return _text_of(packed).decode()


class RecIdTemplate(NamedTuple):
    """The id of a slate without its time."""

    head: bytes
    owner: bytes
    context: bytes = b""

    @classmethod
    def of(cls, text: str) -> "RecIdTemplate":
        """Return what an id says beside its time."""
        packed = _bytes_of(text)
        return cls(packed[:8], packed[14:22], packed[22:-2])

    def at(self, time_ms: int) -> bytes:
        """Return the id of a slate that was given at this time."""
        return _text_of(self.head + time_ms.to_bytes(6) + self.owner + self.context)


@lru_cache(maxsize=64)
def _head(strategy: Strategy, model_version: str) -> bytes:
    model = bytes.fromhex(model_prefix(model_version) or "0" * 12)
    return bytes((_FORMAT, STRATEGIES.index(strategy))) + model


def decode(text: str) -> RecId | None:
    """Return the content of an id, None for any other text."""
    if not LENGTH <= len(text) <= LONGEST:
        return None
    try:
        packed = _bytes_of(text)
    except ValueError:  # binascii.Error, or not ASCII
        return None
    if len(packed) < _LAYOUT.size + 2 or packed[-2:] != _check(packed[:-2]):
        return None
    version, strategy, model, time_ms, user = _LAYOUT.unpack_from(packed)
    context = packed[_LAYOUT.size : -2]
    known = version == (_PLACED if context else _FORMAT)
    if not known or not any(STRATEGIES[strategy : strategy + 1]):
        return None
    return RecId(bytes((strategy, _FORMAT)) + model, int.from_bytes(time_ms), user, context)


def source_of(text: str, user: str) -> bytes:
    """Return the source of an id in a user's feedback; b"" if it is invalid or another user's."""
    rec_id = _own(text, user)
    return b"" if rec_id is None else rec_id.source


def context_of_list(text: str, user: str) -> bytes:
    """Return where the list of an id in a user's feedback was asked for; b"" if it does not say."""
    rec_id = _own(text, user)
    return b"" if rec_id is None else rec_id.context


def _own(text: str, user: str) -> RecId | None:
    rec_id = decode(text)
    theirs = rec_id is not None and rec_id.user in {NOBODY, hashed(user)}
    return rec_id if theirs else None


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


def _bytes_of(text: str) -> bytes:
    return b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)


def _text_of(packed: bytes) -> bytes:
    return urlsafe_b64encode(packed + _check(packed)).rstrip(b"=")


def _check(packed: bytes) -> bytes:
    # begun at the length: a sum that begins at 0 also fits an id with zeros behind it
    return binascii.crc_hqx(packed, len(packed) - _LAYOUT.size).to_bytes(2)
