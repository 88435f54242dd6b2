"""Gzip on the wire: bodies come compressed, and answers leave compressed where that is wanted.

Unpacked bytes arrive in small pieces, so that the bounds of bodies and lines hold for what a body
unpacks to, however well it was compressed.
"""

import zlib
from collections.abc import Iterable

from starlette.exceptions import HTTPException
from starlette.types import Message, Receive, Send

from service.http.problems import MEDIA_TYPE as PROBLEM

LEAST_BYTES = 1_400
"""Shorter answers fit one packet anyway."""
PIECE_BYTES = 64 << 10
"""Most bytes that are unpacked at once."""
BOMB_BYTES, BOMB_RATIO = 8 << 20, 200
"""Beyond so many bytes, a body may unpack to so many times its length: feedback has 10 to 50."""
_LEVEL = 4
_GZIP = 16 + zlib.MAX_WBITS
_NEVER = {b"q=0", b"q=0.0", b"q=0.00", b"q=0.000"}
_TYPES = {b"application/json", b"application/x-ndjson", b"text/html", PROBLEM.encode()}

Headers = Iterable[tuple[bytes, bytes]]


def _header(headers: Headers, wanted: bytes) -> bytes:
    # a loop, because a generator takes four times as long, and every request comes here twice
    for name, value in headers:
        if name == wanted:
            return value
    return b""


# --- bodies ---------------------------------------------------------------------------------------


def unpacking(headers: Headers, receive: Receive) -> Receive:
    """Return ``receive`` that unpacks the body, if it is compressed."""
    encoding = _header(headers, b"content-encoding")
    if encoding:
        encoding = encoding.strip().lower()
    if encoding in {b"", b"identity"}:
        return receive
    if encoding in {b"gzip", b"x-gzip"}:
        return _Unpacked(receive)
    return _refusing


async def _refusing() -> Message:
    says = "send the body as it is, or with Content-Encoding: gzip: no other encoding is read"
    raise HTTPException(415, says)


EMPTY_PIECES = 64
"""Most pieces in a row that unpack to nothing: such a body would be endless and count as short."""


class _Unpacked:
    """The messages of a compressed body, unpacked piece by piece."""

    def __init__(self, receive: Receive) -> None:
        self._receive = receive
        self._member = zlib.decompressobj(_GZIP)
        self._packed, self._more = b"", True
        self._n_packed = self._n_unpacked = self._empty = 0
        self._unfinished = False
        """Whether the member may hold more than what came out so far."""

    async def __call__(self) -> Message:
        while self._more and not self._packed and not self._unfinished:
            message = await self._receive()
            if message["type"] != "http.request":
                return message
            self._packed, self._more = message.get("body", b""), bool(message.get("more_body"))
            self._n_packed += len(self._packed)
        body = self._piece() if self._packed or self._unfinished else b""
        more = bool(self._packed) or self._unfinished or self._more
        if not more and self._n_packed and not self._member.eof:
            raise HTTPException(400, "the gzip body ends too early: send it whole")
        return {"type": "http.request", "body": body, "more_body": more}

    def _piece(self) -> bytes:
        if self._member.eof:
            # gzip allows several members, one after another, and zeros behind them
            self._packed = self._packed.lstrip(b"\0")
            if not self._packed:
                return b""
            self._member = zlib.decompressobj(_GZIP)
        try:
            body = self._member.decompress(self._packed, PIECE_BYTES)
        except zlib.error:
            says = "the body is not gzip, though Content-Encoding says so: leave the header out"
            raise HTTPException(400, says) from None
        at_end = self._member.eof
        self._packed = self._member.unused_data if at_end else self._member.unconsumed_tail
        self._unfinished = not at_end and len(body) == PIECE_BYTES
        self._n_unpacked += len(body)
        self._empty = 0 if body else self._empty + 1
        if self._empty > EMPTY_PIECES:
            raise HTTPException(400, "the gzip body consists of empty pieces: send it as it is")
        if self._n_unpacked > max(BOMB_BYTES, BOMB_RATIO * self._n_packed):
            says = f"the body unpacks to more than {BOMB_RATIO} times its length: send it as it is"
            raise HTTPException(413, says)
        return body


# --- answers --------------------------------------------------------------------------------------


def packing(headers: Headers, send: Send) -> Send:
    """Return ``send`` that compresses the answer, if the client takes that."""
    return _Packed(send) if takes_gzip(headers) else send


def takes_gzip(headers: Headers) -> bool:
    """Return whether the client takes a compressed answer."""
    accepted = _header(headers, b"accept-encoding")
    return bool(accepted) and _takes_gzip(accepted)


def _takes_gzip(accepted: bytes) -> bool:
    """Return whether an Accept-Encoding allows gzip.

    >>> [_takes_gzip(text) for text in (b"gzip, br", b"br", b"br, gzip;q=0", b"*;q=0.5", b"")]
    [True, False, False, True, False]
    """
    allowed = {}
    for part in accepted.lower().split(b","):
        name, _, quality = part.partition(b";")
        allowed[name.strip()] = quality.replace(b" ", b"") not in _NEVER
    return allowed.get(b"gzip", allowed.get(b"*", False))


class _Packed:
    """Compresses an answer that is long, or sent in parts."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self._start: Message | None = None
        """The beginning of an answer that may be compressed: held until its length is known."""
        self._packer: zlib._Compress | None = None

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            if _is_compressible(message["headers"]):
                self._start = message
                return
        elif self._start is not None:
            start, self._start = self._start, None
            if message.get("more_body") or len(message["body"]) >= LEAST_BYTES:
                self._packer = zlib.compressobj(_LEVEL, wbits=_GZIP)
                message = _packed(self._packer, message)
                length = None if message["more_body"] else len(message["body"])
                start["headers"] = _packed_headers(start["headers"], length)
            await self._send(start)
        elif self._packer is not None:
            message = _packed(self._packer, message)
        await self._send(message)


def _packed(packer: "zlib._Compress", message: Message) -> Message:
    more = bool(message.get("more_body"))
    body = packer.compress(message.get("body", b""))
    # a part can be read when it arrives
    body += packer.flush(zlib.Z_SYNC_FLUSH if more else zlib.Z_FINISH)
    return {"type": "http.response.body", "body": body, "more_body": more}


def _is_compressible(headers: Headers) -> bool:
    kind = _header(headers, b"content-type").partition(b";")[0]
    # what may not be stored is secret: the length of a compressed secret beside known text tells
    # something about it
    secret = b"no-store" in _header(headers, b"cache-control")
    return kind in _TYPES and not secret and not _header(headers, b"content-encoding")


def _packed_headers(headers: Headers, length: int | None) -> list[tuple[bytes, bytes]]:
    kept = [(name, value) for name, value in headers if name != b"content-length"]
    if length is not None:
        kept.append((b"content-length", b"%d" % length))
    return [*kept, (b"content-encoding", b"gzip"), (b"vary", b"accept-encoding")]
