"""A receiver of webhooks: a real HTTP server that answers as a test tells it."""

import base64
import hashlib
import hmac
import ssl
import threading
from collections.abc import Iterable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, NamedTuple, Self

import msgspec


class Received(NamedTuple):
    """A request that came."""

    path: str
    headers: dict[str, str]
    body: bytes

    @property
    def id(self) -> str:
        return self.headers["webhook-id"]

    @property
    def event(self) -> Any:
        return msgspec.json.decode(self.body)

    def is_signed_with(self, secret: str) -> bool:
        """Check the signature as the specification says, not as the service computes it."""
        key = base64.b64decode(secret.split("_", 1)[1])
        said = f"{self.id}.{self.headers['webhook-timestamp']}.".encode() + self.body
        mac = base64.b64encode(hmac.digest(key, said, hashlib.sha256)).decode()
        return f"v1,{mac}" in self.headers["webhook-signature"].split(" ")


class Receiver:
    """Answers with ``statuses`` in turn, and then with the last of them."""

    def __init__(
        self,
        *statuses: int,
        headers: Iterable[tuple[str, str]] = (),
        certificate: tuple[Path, Path] | None = None,
    ) -> None:
        self.received: list[Received] = []
        self.may_answer = threading.Event()
        """Cleared: whoever asks waits."""
        self.may_answer.set()
        self._statuses = list(statuses or (204,))
        answers = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["content-length"]))
                named = {name.lower(): value for name, value in self.headers.items()}
                answers.received.append(Received(self.path, named, body))
                answers.may_answer.wait()
                self.send_response(answers._next())
                for name, value in headers:
                    self.send_header(name, value)
                self.send_header("content-length", "0")
                self.end_headers()

            def log_message(self, *_: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        if certificate is not None:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(*certificate)
            self._server.socket = context.wrap_socket(self._server.socket, server_side=True)
            # what is wrong with a handshake is seen by the client
            self._server.handle_error = lambda *_: None  # type: ignore[method-assign]
        self.port: int = self._server.server_address[1]
        self.url = f"http://127.0.0.1:{self.port}/hook"
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,))

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.may_answer.set()
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    @property
    def types(self) -> list[str]:
        """The types of the events that came, in their order."""
        return [one.event["type"] for one in self.received]

    def _next(self) -> int:
        return self._statuses.pop(0) if len(self._statuses) > 1 else self._statuses[0]
