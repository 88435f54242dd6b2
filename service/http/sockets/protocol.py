"""A WebSocket's connection: uvicorn's protocol, which we let end in order.

uvicorn pauses reading as soon as a message waits for the application. So what a client may send
ahead is bounded by one packet, and by ``max_size`` for a message that is not complete. What it does
not read is bounded too: an answer waits until the one before is nearly read, but not for ever.
"""

import asyncio
from collections.abc import Callable
from typing import Any

from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol
from websockets.frames import Frame

from service.http.sockets.codes import RESTARTS

CLOSE_S = 3.0
"""Seconds that a client has to answer a close."""
LINGER_S = 1.0
"""Seconds that a client has to read why its bytes are no WebSocket's."""
PING_S = 20.0
"""Seconds between two pings, and most seconds until a client answers one."""


class SocketProtocol(WebSocketsSansIOProtocol):
    """One WebSocket; ``on_lost`` is called when its connection has ended.

    A client that reads nothing for ``unread_s`` although answers wait is cut off.
    """

    def __init__(
        self, *args: Any, on_lost: Callable[[], None], unread_s: float, **kwargs: Any
    ) -> None:
        super().__init__(*args, **kwargs)
        self.close_timeout = CLOSE_S
        self._on_lost, self._unread_s = on_lost, unread_s
        self._unread: asyncio.TimerHandle | None = None
        """Runs while so much is unread that answers wait."""
        self._ending: asyncio.TimerHandle | None = None
        """Runs while the connection closes: that waits for a client to read everything."""
        self._pongs = b""
        self._continued = bytearray()

    def connection_lost(self, exc: Exception | None) -> None:
        self._on_lost()
        for timer in (self._unread, self._ending):
            if timer is not None:
                timer.cancel()
        super().connection_lost(exc)

    def pause_writing(self) -> None:
        super().pause_writing()
        self._unread = self.loop.call_later(self._unread_s, self.transport.abort)

    def resume_writing(self) -> None:
        if self._unread is not None:
            self._unread.cancel()
            self._unread = None
        super().resume_writing()
        if self._pongs:
            self.transport.write(self._pongs)
            self._pongs = b""

    def handle_ping(self) -> None:
        """Answer a ping; of those that come while answers wait, the last are answered then."""
        if self.writable.is_set():
            super().handle_ping()
        else:
            self._pongs = b"".join(self.conn.data_to_send()) or self._pongs

    def handle_cont(self, event: Frame) -> None:
        """Gather a message in one piece: a list of its fragments could take many times its size."""
        self._continued += event.data
        if event.fin:
            self.frames.append(bytes(self._continued))
            self._continued.clear()
            self.send_receive_event_to_app()

    def on_task_complete(self, task: asyncio.Task[None]) -> None:
        super().on_task_complete(task)
        self._end_soon()

    def _end_soon(self) -> None:
        if self._ending is None and not self.disconnected:
            self._ending = self.loop.call_later(CLOSE_S + LINGER_S, self.transport.abort)

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if self.conn.handshake_exc is not None and not self.handshake_initiated:
            # the library wrote its answer, but uvicorn waits for ever for a request
            self.transport.write(b"".join(self.conn.data_to_send()))
            self.transport.close()
        if self.close_sent or self.transport.is_closing():
            self._end_soon()

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
        self._unread_s = min(self._unread_s, LINGER_S)
        if self._unread is not None:
            self._unread.cancel()
            self.pause_writing()
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
            self._end_soon()
