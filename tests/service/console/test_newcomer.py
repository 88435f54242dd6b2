"""A newcomer's first minutes, from a fresh clone; it installs and compiles, so it is slow."""

from pathlib import Path

import pytest

from tests.service.console.chromium import needs_chromium
from tests.service.console.newcomer import free_port, try_it

pytestmark = [pytest.mark.flow, pytest.mark.slow, needs_chromium]


def test_a_newcomer_rates_three_items_and_watches_a_training(tmp_path: Path) -> None:
    steps = try_it(tmp_path, free_port())
    assert steps[-1][0] == "a training has been watched to its end"
