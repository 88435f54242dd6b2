"""Spans of OpenTelemetry: requests, batches of learners, trainings. Off unless a URL is given.

A span is added when it is over, beside the metrics of the same thing. While this is off, nothing
that could send one is imported, and a span costs a comparison.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Protocol

from service.extras import load

Attributes = Mapping[str, str | int | float]


class Spans(Protocol):
    """What takes spans."""

    def add(
        self,
        name: str,
        seconds: float,
        attributes: Attributes,
        *,
        failed: bool = False,
        parent: str | None = None,
    ) -> None:
        """Add a span that ends now."""
        ...

    def close(self) -> None:
        """Send what is left."""
        ...


class _Tracing:
    spans: Spans | None = None


def spans() -> Spans | None:
    """Return what takes the spans of this process; None: they are off."""
    return _Tracing.spans


@contextmanager
def tracing(role: str, url: str | None) -> Iterator[None]:
    """Send spans to the collector at ``url``, if there is one; Misconfigured without the extra."""
    if url is None:
        yield
        return
    made = load("service.otel", extra="otel", for_what="HEDGEROW_TRACES_URL")
    sent: Spans = made.SentSpans(role, url)
    _Tracing.spans = sent
    try:
        yield
    finally:
        _Tracing.spans = None
        sent.close()
