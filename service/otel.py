"""Spans on their way to a collector, by OTLP over HTTP. Needs the extra `otel`."""

import threading
import time

from opentelemetry import trace
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.trace import SpanKind, StatusCode
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from service.tracing import Attributes

SEND_S = 3.0
"""Seconds that the collector may take for an answer; at the end nobody waits longer for it."""
_PARENT = TraceContextTextMapPropagator()


class SentSpans:
    """Spans of one process; those that the collector does not take are dropped."""

    def __init__(self, role: str, url: str, *, answer_s: float = SEND_S) -> None:
        resource = Resource.create({"service.name": "hedgerow", "hedgerow.role": role})
        # not the provider of the whole process: a framework would add spans of its own
        self._provider = TracerProvider(resource=resource, shutdown_on_exit=False)
        exporter = OTLPSpanExporter(endpoint=url, timeout=answer_s)
        self._provider.add_span_processor(BatchSpanProcessor(exporter))
        self._tracer = self._provider.get_tracer("hedgerow")

    def add(
        self,
        name: str,
        seconds: float,
        attributes: Attributes,
        *,
        failed: bool = False,
        parent: str | None = None,
    ) -> None:
        """Add a span that ends now; ``parent`` is a header ``traceparent``: it is a request."""
        ends = time.time_ns()
        context = None if parent is None else _PARENT.extract({"traceparent": parent})
        span = self._tracer.start_span(
            name,
            context=context,
            kind=SpanKind.INTERNAL if parent is None else SpanKind.SERVER,
            attributes=dict(attributes),
            start_time=ends - int(seconds * 1e9),
        )
        if failed:
            span.set_status(trace.Status(StatusCode.ERROR))
        span.end(ends)

    def close(self, within_s: float = SEND_S) -> None:
        """Send what is left, and give up on a collector that does not answer."""
        # beside: the library waits for each batch that is left, and this long for each of them
        closing = threading.Thread(target=self._provider.shutdown, daemon=True)
        closing.start()
        closing.join(within_s)
