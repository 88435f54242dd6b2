"""The page docs/reference/metrics.md, generated from the catalogue."""

from collections.abc import Iterator
from itertools import groupby

from service.metrics.catalogue import METRICS, Metric

INTRODUCTION = """# Metrics

Made by `make docs` from `service/metrics/catalogue.py`; a test keeps it fresh.

`GET /metrics` answers in Prometheus's text format, or as OpenMetrics if the header `Accept` asks
for that. It needs a key with the role `read`, as soon as there is a key; [how to connect
Prometheus](../how-to/monitor.md). **No figure ever leaves the machine by itself: whoever wants one
has to ask for it.**

```sh
curl localhost:8000/metrics
```

The answer of any api process holds the counts of all processes that share the data directory.
When a process, or the whole service, starts again, its counters and histograms go on from their
last values.
No label has a user, an item or a path as its value: `route` is a template such as
`/v1/users/{user}/recommendations`, `page` for the documentation, or `unknown`.
"""


def metrics_reference() -> str:
    """Return the whole page."""
    return "\n".join([INTRODUCTION, *_sections()])


def _sections() -> Iterator[str]:
    for part, metrics in groupby(METRICS, lambda metric: metric.part):
        yield f"## {part}\n"
        yield "| metric | labels | meaning |"
        yield "|---|---|---|"
        yield from map(_row, metrics)
        yield ""


def _row(metric: Metric) -> str:
    labels = ", ".join(f"`{label}`" for label in metric.labels) or "none"
    return f"| `{metric.name}` ({metric.kind}) | {labels} | {metric.about} |"
