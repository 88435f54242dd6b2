"""docs/reference/api.md: its commands work one after the other, its routes are all of them."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from service.api.roles import ROLES
from service.settings import Settings
from tests.api import learning, served

PAGE = (Path(__file__).parents[2] / "docs/reference/api.md").read_text()


def commands() -> list[str]:
    """Return the shell commands of the page, each with its continuation lines."""
    blocks = re.findall(r"^```sh\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
    joined = re.sub(r"(\\|\|)\n\s*", lambda end: "| " if end[1] == "|" else "", "".join(blocks))
    return joined.strip().splitlines()


@pytest.mark.skipif(shutil.which("curl") is None, reason="install curl to try the documented lines")
def test_the_commands_of_the_page_work(redis_url: str, namespace: str) -> None:
    settings = Settings(namespace=namespace)
    with learning(settings, redis_url), served(settings, redis_url) as (host, port):
        assert len(commands()) > 15
        for command in commands():
            assert "curl" in command
            here = command.replace("localhost:8000", f"{host}:{port}")
            strict = re.sub(r"\bcurl\b", "curl --silent --show-error --fail-with-body", here)
            done = subprocess.run(
                ["bash", "-o", "pipefail", "-c", strict],
                check=False,
                capture_output=True,
                text=True,
                timeout=60,
            )
            assert done.returncode == 0, f"{command}\n{done.stdout}{done.stderr}"


@pytest.mark.parametrize("route", sorted({route for _, route in ROLES}))
def test_every_route_is_on_the_page(route: str) -> None:
    assert route in PAGE
