"""The judge gives the recorded verdicts: which events are judged, and each ranker's rank."""

import json

import pytest

from tests.golden import verdicts

pytestmark = pytest.mark.flow

SAME = 0.98
"""Least share of verdicts that another processor must repeat: rounding may swap two items."""


@pytest.fixture(scope="module")
def made():
    return verdicts.figures()


@pytest.fixture(scope="module")
def recorded():
    return json.loads(verdicts.FIGURES.read_text())


def test_the_same_events_are_judged(made, recorded):
    assert list(made) == list(recorded)
    assert len(made) > verdicts.EVENTS // 10


def test_the_ranks_are_the_recorded_ones(made, recorded):
    differing = {at: (made[at], recorded[at]) for at in made if made[at] != recorded[at]}
    assert len(differing) <= (1.0 - SAME) * len(recorded), differing
