"""A search with a clock that counts finds the recorded settings, and the same bits where it can.

The replay of real ratings states all settings, so it cannot see a change of the search.
"""

import json

import pytest

from tests.golden import replay, searches

pytestmark = pytest.mark.flow


@pytest.fixture(scope="module")
def made():
    return searches.figures()


@pytest.fixture(scope="module")
def recorded():
    return json.loads(searches.FIGURES.read_text())


@pytest.mark.parametrize("name", searches.SEARCHED)
def test_any_processor_finds_the_same_settings_in_as_many_trials(made, recorded, name):
    """Settings are rounded, and the clock counts: the last bits of a score decide nothing."""
    assert {key: made[name][key] for key in ("settings", "trials")} == recorded["found"][name]


def test_a_recorded_processor_fits_the_same_bits(made, recorded):
    digests = recorded["digests"].get(replay.machine())
    assert digests is None or {name: one["digests"] for name, one in made.items()} == digests


@pytest.mark.parametrize("name", searches.SEARCHED)
def test_searching_again_in_one_process_gives_the_same_bits(made, name):
    assert made[name]["again"] == made[name]["digests"]
