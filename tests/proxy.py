"""A proxy on a unix socket that forwards requests, loses replies and closes the connection."""

import contextlib
import select
import socket
import threading
from collections.abc import Callable
from pathlib import Path


class LossyProxy:
    """Forwards to a server; ``loses(request)`` decides which replies are lost.

    With ``hangs`` the line stays open after the loss, as if the answer were merely late.
    """

    def __init__(
        self,
        server_url: str,
        path: Path,
        loses: Callable[[bytes], bool] = lambda _: False,
        *,
        hangs: bool = False,
    ) -> None:
        self.url = f"unix://{path}"
        self.loses, self.hangs, self.lost = loses, hangs, 0
        self._server = server_url.removeprefix("unix://")
        self._closed = threading.Event()
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(str(path))
        self._listener.listen(128)
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
        with client, socket.socket(socket.AF_UNIX) as server, contextlib.suppress(OSError):
            server.connect(self._server)
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
