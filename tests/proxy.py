"""A proxy that forwards requests, loses replies and closes the connection."""

import contextlib
import select
import socket
import threading
from collections.abc import Callable
from pathlib import Path
from urllib.parse import urlsplit


class LossyProxy:
    """Forwards to a server; ``loses(request)`` decides which replies are lost.

    It listens on a unix socket at ``path``, or on a loopback port if there is none. With
    ``hangs`` the line stays open after the loss, as if the answer were merely late.
    """

    def __init__(
        self,
        server_url: str,
        path: Path | None,
        loses: Callable[[bytes], bool] = lambda _: False,
        *,
        hangs: bool = False,
    ) -> None:
        self.loses, self.hangs, self.lost = loses, hangs, 0
        self._server = server_url
        self._closed = threading.Event()
        if path is None:
            self._listener = socket.create_server(("127.0.0.1", 0))
            self.url = f"http://127.0.0.1:{self._listener.getsockname()[1]}"
        else:
            self._listener = socket.socket(socket.AF_UNIX)
            self._listener.bind(str(path))
            self._listener.listen(128)
            self.url = f"unix://{path}"
        self._threads = [threading.Thread(target=self._accept)]
        self._threads[0].start()

    def close(self) -> None:
        self._closed.set()
        for thread in self._threads:
            thread.join()
        self._listener.close()

    def _accept(self) -> None:
        while not self._closed.is_set():
            if not select.select([self._listener], [], [], 0.05)[0]:
                continue
            client, _ = self._listener.accept()
            thread = threading.Thread(target=self._relay, args=(client,))
            self._threads.append(thread)
            thread.start()

    def _relay(self, client: socket.socket) -> None:
        with client, contextlib.suppress(OSError), self._connected() as server:
            losing = False
            while not self._closed.is_set():
                for source in select.select([client, server], [], [], 0.05)[0]:
                    data = source.recv(1 << 20)
                    if not data:
                        return
                    if source is client:
                        server.sendall(data)
                        losing = losing or self.loses(data)
                    elif not losing:
                        client.sendall(data)
                    else:
                        self.lost += 1
                        losing = False
                        if self.hangs:
                            self._closed.wait()
                        return

    def _connected(self) -> socket.socket:
        where = urlsplit(self._server)
        if where.scheme == "http":
            return socket.create_connection((where.hostname, where.port))
        server = socket.socket(socket.AF_UNIX)
        try:
            server.connect(where.path)
        except OSError:
            server.close()
            raise
        return server
