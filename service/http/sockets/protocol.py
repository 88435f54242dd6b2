"""A WebSocket's connection: uvicorn's protocol, which we let end in order.

uvicorn pauses reading as soon as a message waits for the application. So what a client may send
ahead is bounded by one packet, and by ``max_size`` for a message that is not complete.
"""

from collections.abc import Callable
from typing import Any

from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol

from service.http.sockets.codes import RESTARTS

CLOSE_S = 3.0
"""Seconds that a client has to answer a close."""
LINGER_S = 1.0
"""Seconds that a client has to read why its bytes are no WebSocket's."""
PING_S = 20.0
"""Seconds between two pings, and most seconds until a client answers one."""


class SocketProtocol(WebSocketsSansIOProtocol):
    """One WebSocket; ``on_lost`` is called when its connection has ended."""

    def __init__(self, *args: Any, on_lost: Callable[[], None], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.close_timeout = CLOSE_S
        self._on_lost = on_lost

    def connection_lost(self, exc: Exception | None) -> None:
        self._on_lost()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if self.conn.handshake_exc is not None and not self.handshake_initiated:
            # the library wrote its answer, but uvicorn waits for ever for a request
            self.transport.write(b"".join(self.conn.data_to_send()))
            self.transport.close()

    def handle_parser_exception(self) -> None:
        """Say what is wrong with the bytes, and discard more of them for a moment.

        Closing at once would reset the connection while the client still sends.
        """
        if self.close_timer is not None or self.conn.close_sent is None:
            return
        code, why = self.conn.close_sent.code, self.conn.close_sent.reason
        self.queue.put_nowait({"type": "websocket.disconnect", "code": code, "reason": why})
        self.transport.write(b"".join(self.conn.data_to_send()))
        self.close_sent = True
        if self.read_paused:
            self.read_paused = False
            self.transport.resume_reading()
        self.close_timer = self.loop.call_later(LINGER_S, self.transport.close)

    async def send(self, message: Any) -> None:
        await super().send(message)
        if message["type"] == "websocket.http.response.body":
            # a refusal is an end of the handshake too, and nothing to be logged as an error
            self.handshake_complete = True

    def shutdown(self) -> None:
        """Let the application answer what it took before it closes the socket."""
        if self.handshake_complete and not self.close_sent:
            self.stop_keepalive()
            self.queue.put_nowait({"type": "websocket.disconnect", "code": RESTARTS})
        else:
            super().shutdown()

    def keepalive_timeout(self) -> None:
        if self.read_paused:
            # the client's answer waits unread because we are busy with its messages
            self.pong_timer = self.loop.call_later(PING_S, self.keepalive_timeout)
        else:
            super().keepalive_timeout()
