"""The shell blocks of the pages work, one after the other, against a fresh service."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import httpx
import pytest

from service.settings import Settings
from tests.api import learning, served
from tests.docs.pages import DOCS, blocks, name_of
from tests.server import wait_until
from tests.service.running import service

REFERENCE = sorted((DOCS / "reference").glob("*.md"))
TASKS = sorted((DOCS / "how-to").glob("*.md"))
TUTORIALS = sorted((DOCS / "tutorial").glob("*.md"))
EVALUATION = DOCS / "how-to" / "evaluate-models.md"
"""Its lines need files and no service: test_examples_of_pages.py runs them."""

PREAMBLE = """set -euo pipefail
curl() { command curl --silent --show-error --fail-with-body "$@"; }
"""

pytestmark = [
    pytest.mark.flow,
    pytest.mark.skipif(
        shutil.which("curl") is None, reason="install curl to try the documented lines"
    ),
]


def pages(*, with_verbs: bool) -> list[Path]:
    """Return the pages whose shell blocks use verbs of the command line, or only curl."""
    scripts = {page: "".join(blocks(page, "sh")) for page in [*REFERENCE, *TASKS]}
    return [
        page
        for page, script in scripts.items()
        if script and page != EVALUATION
        if bool(re.search(r"^hedgerow ", script, re.MULTILINE)) == with_verbs
    ]


def run(page: Path, *, folder: Path, address: str, environment: dict[str, str]) -> None:
    """Run all shell blocks of a page as one script."""
    script = PREAMBLE + "".join(blocks(page, "sh")).replace("localhost:8000", address)
    path = f"{Path(sys.executable).parent}:/usr/local/bin:/usr/bin:/bin"
    done = subprocess.run(
        ["bash", "-c", script],
        cwd=folder,
        env={"PATH": path, "HOME": str(folder), **environment},
        check=False,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"


def run_beside_a_whole_service(page: Path, folder: Path) -> None:
    with service(folder, retrain_budget_s=1.0, retrain_after_events=None) as whole:
        with whole.client() as client:
            whole.wait_until_ready(client)
        address = whole.url.removeprefix("http://")
        where = {
            "HEDGEROW_PORT": address.rpartition(":")[2],
            "HEDGEROW_DATA_DIR": str(folder / "data"),
        }
        run(page, folder=folder, address=address, environment=where)


@pytest.mark.parametrize("page", pages(with_verbs=False), ids=name_of)
def test_the_requests_of_a_page_work(
    page: Path, redis_url: str, namespace: str, tmp_path: Path
) -> None:
    settings = Settings(namespace=namespace)
    with learning(settings, redis_url), served(settings, redis_url) as (host, port):
        wait_until(lambda: httpx.get(f"http://{host}:{port}/readyz").is_success)
        run(page, folder=tmp_path, address=f"{host}:{port}", environment={})


@pytest.mark.parametrize("page", pages(with_verbs=True), ids=name_of)
def test_the_commands_of_a_page_work(page: Path, tmp_path: Path) -> None:
    run_beside_a_whole_service(page, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("page", TUTORIALS, ids=name_of)
def test_a_tutorial_works_from_its_beginning_to_its_end(page: Path, tmp_path: Path) -> None:
    run_beside_a_whole_service(page, tmp_path)


def test_enough_pages_are_tried() -> None:
    assert len(pages(with_verbs=False)) > 10
    assert len(pages(with_verbs=True)) > 1
    assert len(TUTORIALS) > 1
