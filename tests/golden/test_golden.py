"""A replay of real ratings makes what it always made, to the bit where the processor is known."""

import json

import pytest

from tests.golden import replay

pytestmark = [
    pytest.mark.flow,
    pytest.mark.skipif(not replay.DATA.exists(), reason="MovieLens 100K is not beside the project"),
]

SAME_ITEMS = 0.9
"""Share of the items in all slates that another processor must agree on."""
SAME_QUALITY = 0.03
"""Relative difference of a measure that rounding may make."""


@pytest.fixture(scope="module")
def made():
    return replay.figures()


@pytest.fixture(scope="module")
def known():
    return json.loads(replay.FIGURES.read_text())


def test_a_known_processor_makes_the_same_bits(made, known):
    digests = known["digests"].get(replay.machine())
    # histories hold no computed number: they are the same everywhere
    histories = {one["histories"] for one in known["digests"].values()}
    assert histories == {made["digests"]["histories"]}
    assert digests is None or made["digests"] == digests


def test_any_processor_shows_nearly_the_same_items(made, known):
    assert made["slates"].keys() == known["slates"].keys()
    for name, slates in known["slates"].items():
        pairs = list(zip(made["slates"][name], slates, strict=True))
        same = sum(len(set(mine.split()) & set(theirs.split())) for mine, theirs in pairs)
        assert same >= SAME_ITEMS * sum(len(theirs.split()) for _, theirs in pairs), name


def test_any_processor_evaluates_nearly_the_same(made, known):
    for model, measures in known["evaluated"].items():
        assert made["evaluated"][model] == pytest.approx(measures, rel=SAME_QUALITY)
