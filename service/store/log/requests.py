"""Which requests the events of a log entry came with, for those who follow a request in the logs.

They stand beside the entry in the stream, not in it: only requests that are followed have them, and
nothing that is learned depends on them.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple


class Share(NamedTuple):
    """The next events of an entry that came with one request."""

    n: int
    request: str
    """The id of the request; "" if it is not followed. An id has no white space."""


def packed_shares(ends: Sequence[int], requests: Sequence[str]) -> bytes:
    """Return what stands beside an entry, of which each request has the events up to its end.

    >>> packed_shares([2, 3, 7], ["a-1", "", "b-9"]).split()
    [b'2', b'a-1', b'1', b'4', b'b-9']
    """
    shares, begin = [], 0
    for end, request in zip(ends, requests, strict=True):
        shares.append(f"{end - begin} {request}")
        begin = end
    return "\n".join(shares).encode()


def read_shares(packed: bytes) -> Iterator[Share]:
    """Yield the shares of an entry in their order."""
    for line in packed.decode().split("\n") if packed else ():
        n, _, request = line.partition(" ")
        yield Share(int(n), request)
