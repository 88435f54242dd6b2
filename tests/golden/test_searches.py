"""A search with a clock that counts finds the recorded settings, to the bit on a known processor.

The replay of real ratings states all settings, so it cannot see a change of the search.
"""

import json

import pytest

from tests.golden import replay, searches

pytestmark = pytest.mark.flow


def test_a_recorded_processor_finds_the_same_settings_and_models():
    recorded = json.loads(searches.FIGURES.read_text()).get(replay.machine())
    if recorded is None:
        pytest.skip("no figures are recorded for this processor and its libraries")
    assert searches.figures() == recorded
