"""A replay of real ratings gives the recorded results, to the bit on a recorded processor."""

import json

import pytest

from tests.golden import replay

pytestmark = [
    pytest.mark.flow,
    pytest.mark.skipif(not replay.DATA.exists(), reason="MovieLens 100K is not beside the project"),
]

SAME_ITEMS = 0.9
"""Least share of the recorded items that another processor must show, too."""
SAME_QUALITY = 0.03
"""Largest relative difference of a metric that rounding may cause."""


@pytest.fixture(scope="module")
def made():
    return replay.figures()


@pytest.fixture(scope="module")
def recorded():
    return json.loads(replay.FIGURES.read_text())


def test_a_recorded_processor_makes_the_same_bits(made, recorded):
    digests = recorded["digests"].get(replay.machine())
    # Histories contain no computed number, so they are the same everywhere.
    histories = {entry["histories"] for entry in recorded["digests"].values()}
    assert histories == {made["digests"]["histories"]}
    assert digests is None or made["digests"] == digests


def test_any_processor_shows_nearly_the_same_items(made, recorded):
    assert made["slates"].keys() == recorded["slates"].keys()
    for name, slates in recorded["slates"].items():
        pairs = list(zip(made["slates"][name], slates, strict=True))
        same = sum(len(set(mine.split()) & set(expected.split())) for mine, expected in pairs)
        assert same >= SAME_ITEMS * sum(len(expected.split()) for _, expected in pairs), name


def test_any_processor_evaluates_nearly_the_same(made, recorded):
    for model, measures in recorded["evaluated"].items():
        assert made["evaluated"][model] == pytest.approx(measures, rel=SAME_QUALITY)
