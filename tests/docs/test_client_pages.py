"""The examples of the pages on clients work, in their order, against a fresh service."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from hedgerow_client import Client
from service.settings import Settings
from tests.api import learning, served
from tests.docs.pages import PAGES, ROOT, SERVICE, blocks, name_of

IN_PYTHON = [page for page in PAGES if SERVICE in "".join(blocks(page, "python"))]
PACKAGE = ROOT / "clients" / "python" / "src"


@pytest.fixture
def address(namespace: str, redis_url: str) -> Iterator[str]:
    """Host and port of a service."""
    settings = Settings(namespace=namespace, min_sequence_wait_ms=60_000)
    with learning(settings, redis_url), served(settings, redis_url) as (host, port):
        with Client(f"http://{host}:{port}") as client:
            client.wait_until_ready()
        yield f"{host}:{port}"


def run(*command: str | Path, folder: Path, **environment: str) -> None:
    done = subprocess.run(
        command,
        cwd=folder,
        env=os.environ | environment,
        check=False,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"


@pytest.mark.parametrize("page", IN_PYTHON, ids=name_of)
def test_the_python_of_a_page_runs_as_one_program(page: Path, tmp_path: Path, address: str) -> None:
    program = "\n".join(blocks(page, "python")).replace(SERVICE, address)
    (tmp_path / "page.py").write_text(program)
    run(sys.executable, "-W", "error", "page.py", folder=tmp_path, PYTHONPATH=str(PACKAGE))


def test_the_pages_on_clients_are_tried() -> None:
    assert {page.parent.name for page in IN_PYTHON} == {"python", "how-to"}
