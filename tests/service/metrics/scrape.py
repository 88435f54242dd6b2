"""What Prometheus would read from an answer of /metrics."""

from prometheus_client.parser import text_string_to_metric_families

Samples = dict[tuple[str, frozenset[tuple[str, str]]], float]


def samples(text: str) -> Samples:
    """Return every sample by its name and labels."""
    return {
        (sample.name, frozenset(sample.labels.items())): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


def value(found: Samples, name: str, **labels: str) -> float:
    """Return one sample; 0 if there is none."""
    return found.get((name, frozenset(labels.items())), 0.0)


def total(found: Samples, name: str, **labels: str) -> float:
    """Return the sum of the samples that have these labels, whatever others they have."""
    wanted = set(labels.items())
    return sum(one for (known, has), one in found.items() if known == name and wanted <= has)
