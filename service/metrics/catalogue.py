"""Every metric, its labels and its meaning; docs/reference/metrics.md is made from this list.

No label has unbounded values: routes are templates, codes and families are names of ours. Nothing
here names a user or an item.
"""

from dataclasses import dataclass
from typing import Literal

REQUEST_S = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
FRESH_S = (0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0)

HTTP, FEEDBACK = "Requests", "Feedback"

Kind = Literal["counter", "gauge", "histogram"]


@dataclass(frozen=True)
class Metric:
    """A family of figures, one for each combination of the labels' values."""

    name: str
    """As Prometheus knows it, with the unit."""
    kind: Kind
    part: str
    """What it belongs to, a heading of its reference."""
    about: str
    """Its meaning, as one sentence for people."""
    labels: tuple[str, ...] = ()
    bounds: tuple[float, ...] = ()
    """The upper bounds of a histogram's buckets, rising, without infinity."""

    @property
    def cells(self) -> int:
        """Numbers that one series takes: of a histogram, those of all buckets and the sum."""
        return len(self.bounds) + 2 if self.bounds else 1


REQUESTS = Metric(
    "hedgerow_http_requests_total",
    "counter",
    HTTP,
    "Requests that were answered, by route and status; the status `none`: the client left before.",
    ("method", "route", "status"),
)
REQUEST_SECONDS = Metric(
    "hedgerow_http_request_duration_seconds",
    "histogram",
    HTTP,
    "Time from a request's headers to the end of its answer; of a stream, to the end of its body.",
    ("method", "route"),
    REQUEST_S,
)
CONNECTIONS_REFUSED = Metric(
    "hedgerow_http_connections_refused_total",
    "counter",
    HTTP,
    "Connections that were ended before they had a complete request, by error code.",
    ("code",),
)
EVENTS_ACCEPTED = Metric(
    "hedgerow_events_accepted_total",
    "counter",
    FEEDBACK,
    "Events that were stored and acknowledged.",
)
EVENTS_REFUSED = Metric(
    "hedgerow_events_refused_total",
    "counter",
    FEEDBACK,
    "Events that were not stored, by error code; a body that cannot be read counts once.",
    ("code",),
)

METRICS = (
    REQUESTS,
    REQUEST_SECONDS,
    CONNECTIONS_REFUSED,
    EVENTS_ACCEPTED,
    EVENTS_REFUSED,
)
"""All metrics, in the order of the answer."""
BY_NAME = {metric.name: metric for metric in METRICS}
