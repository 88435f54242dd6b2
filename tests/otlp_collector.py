"""A collector of spans that takes OTLP over HTTP, in a thread of the test."""

import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, NamedTuple, Self

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
    ExportTraceServiceRequest,
    ExportTraceServiceResponse,
)


class Collected(NamedTuple):
    """A span, as it was received."""

    role: str
    name: str
    trace: str
    parent: str
    seconds: float
    failed: bool
    about: dict[str, Any]


class Collector:
    """Listens on a port that the system chose."""

    def __enter__(self) -> Self:
        self.spans: list[Collected] = []
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._thread = threading.Thread(target=self._server.serve_forever)
        self._thread.start()
        self.url = f"http://127.0.0.1:{self._server.server_port}/v1/traces"
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def named(self, name: str) -> list[Collected]:
        return [span for span in self.spans if span.name == name]

    def _take(self, body: bytes) -> None:
        for resource in ExportTraceServiceRequest.FromString(body).resource_spans:
            role = _values(resource.resource.attributes)["hedgerow.role"]
            for scope in resource.scope_spans:
                self.spans += [
                    Collected(
                        role,
                        span.name,
                        span.trace_id.hex(),
                        span.parent_span_id.hex(),
                        (span.end_time_unix_nano - span.start_time_unix_nano) / 1e9,
                        span.status.code == 2,
                        _values(span.attributes),
                    )
                    for span in scope.spans
                ]

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        collector = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["content-length"]))
                assert self.path == "/v1/traces"
                collector._take(body)
                answer = ExportTraceServiceResponse().SerializeToString()
                self.send_response(200)
                self.send_header("content-type", "application/x-protobuf")
                self.send_header("content-length", str(len(answer)))
                self.end_headers()
                self.wfile.write(answer)

            def log_message(self, *_: object) -> None:
                pass

        return Handler


def _values(attributes: Any) -> dict[str, Any]:
    return {one.key: getattr(one.value, one.value.WhichOneof("value")) for one in attributes}
