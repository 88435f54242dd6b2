"""The text that Prometheus reads, in the format that it asks for."""

from collections.abc import Iterator, Mapping
from itertools import accumulate

from prometheus_client import CollectorRegistry
from prometheus_client.core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
)
from prometheus_client.core import (
    Metric as Family,
)
from prometheus_client.exposition import choose_encoder
from prometheus_client.registry import Collector

from service.metrics.catalogue import METRICS, Metric
from service.metrics.gathering import Sums

Figures = Mapping[Metric, Mapping[tuple[str, ...], float]]
"""Single figures of each metric, by the labels' values."""


def exposition(sums: Sums, figures: Figures, accept: str) -> tuple[bytes, str]:
    """Return the text of all series, and its content type; ``accept`` is the header Accept."""
    registry = CollectorRegistry(auto_describe=False)
    registry.register(_Families(sums, figures))
    encode, content_type = choose_encoder(accept)
    return encode(registry), content_type


class _Families(Collector):
    def __init__(self, sums: Sums, figures: Figures) -> None:
        self._sums, self._figures = sums, figures

    def describe(self) -> list[Family]:
        return []

    def collect(self) -> Iterator[Family]:
        for metric in METRICS:
            series = {values: [one] for values, one in self._figures.get(metric, {}).items()}
            yield _family(metric, {**self._sums.get(metric, {}), **series})


def _family(metric: Metric, series: Mapping[tuple[str, ...], list[float]]) -> Family:
    labels = list(metric.labels)
    if metric.kind == "histogram":
        histogram = HistogramMetricFamily(metric.name, metric.about, labels=labels)
        bounds = [*map(str, metric.bounds), "+Inf"]
        for values, (*buckets, total) in sorted(series.items()):
            so_far = list(zip(bounds, accumulate(buckets), strict=True))
            histogram.add_metric(list(values), so_far, total)
        return histogram
    kind = CounterMetricFamily if metric.kind == "counter" else GaugeMetricFamily
    family: CounterMetricFamily | GaugeMetricFamily = kind(metric.name, metric.about, labels=labels)
    for values, [number] in sorted(series.items()):
        family.add_metric(list(values), number)
    return family
