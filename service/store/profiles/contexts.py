"""Where the events of a user happened, as their clients said: kept beside the history.

A string for each user, one entry for each event that said it, in the order of events: sequence
(u48), bytes of the text (u16), the text as in the log (``codec.packed_context``). Scripts in the
commit append entries and drop those whose event leaves the history, see ``commit_packing``.
"""

import struct
from collections.abc import Iterator, Mapping

BYTES_KEPT = 120_000
"""Most bytes of a user, as many as a full history has by default; the oldest entries go first."""
_HEAD = struct.Struct("<IHH")

Contexts = Mapping[int, Mapping[str, str]]
"""Names and texts by the sequence of the event."""


def packed_entry(sequence: int, text: bytes) -> bytes:
    """Return the entry of one event.

    >>> packed_entry(7, b"device=phone").hex()
    '0700000000000c006465766963653d70686f6e65'
    """
    return _HEAD.pack(sequence & 0xFFFFFFFF, sequence >> 32, len(text)) + text


def read_contexts(packed: bytes | None) -> Contexts:
    """Return the stored contexts of a user.

    >>> read_contexts(packed_entry(7, b"device=phone"))
    {7: {'device': 'phone'}}
    """
    return {
        sequence: context_of(text.decode(errors="replace")) for sequence, text in entries_of(packed)
    }


def entries_of(packed: bytes | None) -> Iterator[tuple[int, bytes]]:
    """Yield the sequence of each event and the text of its context, as in the log.

    >>> list(entries_of(packed_entry(7, b"device=phone")))
    [(7, b'device=phone')]
    """
    at, packed = 0, packed or b""
    while at + _HEAD.size <= len(packed):
        low, high, size = _HEAD.unpack_from(packed, at)
        at += _HEAD.size + size
        yield low | high << 32, packed[at - size : at]


def context_of(text: str) -> dict[str, str]:
    """Return the names and texts of a context in the form of the log.

    >>> context_of("device=phone") | context_of("")
    {'device': 'phone'}
    """
    pairs = (line.partition("=") for line in text.split("\n") if line)
    return {name: said for name, _, said in pairs}
