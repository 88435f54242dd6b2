"""The rules for ids that applications choose, and the tokens for sequence numbers of events.

An id has 1 to 256 code points, no control characters and no lone surrogates. Ids are compared byte
for byte in UTF-8. In a path an id is percent-encoded: ``/`` is ``%2F``, ``+`` is a plus sign.
"""

import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import unquote_to_bytes

from service.errors import InvalidId, ServiceError

MAX_ID_LENGTH = 256
ID_LENGTHS: dict[str, Any] = {"minLength": 1, "maxLength": MAX_ID_LENGTH}
"""The bounds of ids for the OpenAPI document; an id beyond them is an invalid id."""

_ID = re.compile(r"[^\x00-\x1f\x7f-\x9f\ud800-\udfff]{1,256}")
_BROKEN_ESCAPE = re.compile(rb"%(?![0-9A-Fa-f]{2})")
_PLACE = "[0-9]{1,3}:[0-9]{1,15}"
SEQUENCE = f"^{_PLACE}(,{_PLACE}){{0,255}}$"
"""What sequence tokens look like."""
_TOKEN = re.compile(SEQUENCE)

is_id = _ID.fullmatch
"""Truthy for a well-formed id."""


def id_fault(name: str, text: str) -> str:
    """Return an error message for a malformed id in the field ``name``."""
    if not text:
        return f"`{name}` is empty: an id has 1 to {MAX_ID_LENGTH} characters"
    if len(text) > MAX_ID_LENGTH:
        return f"`{name}` has {len(text)} characters: an id has at most {MAX_ID_LENGTH}"
    return f"`{name}` holds a control character or a lone surrogate: remove it"


def path_id(name: str, segment: str) -> str:
    """Return the id in a raw path segment; InvalidId if there is none."""
    raw = segment.encode("latin-1")
    if _BROKEN_ESCAPE.search(raw):
        raise InvalidId(f"`{name}` in the path has a % without two hex digits: write % as %25")
    try:
        text = unquote_to_bytes(raw).decode()
    except UnicodeDecodeError:
        raise InvalidId(f"`{name}` in the path is not UTF-8 once percent-decoded") from None
    if not is_id(text):
        raise InvalidId(id_fault(name, text))
    return text


def sequence_token(sequences: Mapping[int, int]) -> str:
    """Return the opaque token for {partition: sequence}.

    >>> sequence_token({1: 7, 0: 123})
    '0:123,1:7'
    """
    return ",".join([f"{partition}:{sequences[partition]}" for partition in sorted(sequences)])


def parse_sequence_token(token: str) -> dict[int, int]:
    """Return {partition: sequence} for a token of ``sequence_token``; InvalidSequence if malformed.

    >>> parse_sequence_token("0:123,1:7")
    {0: 123, 1: 7}
    """
    if not _TOKEN.fullmatch(token):
        raise InvalidSequence("send a `sequence` or `seen_through` exactly as you received it")
    pairs = (part.split(":") for part in token.split(","))
    return {int(partition): int(sequence) for partition, sequence in pairs}


class InvalidSequence(ServiceError):
    """A malformed sequence token."""

    status, code = 422, "invalid_sequence"
