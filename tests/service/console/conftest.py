"""One service with a small world and one browser, for all tests of the console in a module."""

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser

from service.processes.child import ServiceProcess
from tests.service.console.chromium import browser as started_browser
from tests.service.console.world import fill, small
from tests.service.running import service


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with started_browser() as browser:
        yield browser


@pytest.fixture(scope="module")
def running() -> Iterator[ServiceProcess]:
    with tempfile.TemporaryDirectory(prefix="hr-") as room, service(Path(room)) as whole:
        with whole.client() as client:
            client.wait_until_ready()
            fill(client, small())
        yield whole
