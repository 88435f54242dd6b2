"""The examples of the pages on clients work, in their order, against a fresh service."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from hedgerow_client import Client
from service.settings import Settings
from tests.api import learning, served
from tests.clients.js.node import needs_node, room_of, run
from tests.docs.pages import PAGES, ROOT, SERVICE, blocks, name_of

IN_PYTHON = [page for page in PAGES if SERVICE in "".join(blocks(page, "python"))]
IN_JAVASCRIPT = [page for page in PAGES if SERVICE in "".join(blocks(page, "js"))]
PACKAGE = ROOT / "clients" / "python" / "src"


@pytest.fixture
def address(namespace: str, redis_url: str) -> Iterator[str]:
    """Host and port of a service."""
    settings = Settings(namespace=namespace, min_sequence_wait_ms=60_000)
    with learning(settings, redis_url), served(settings, redis_url) as (host, port):
        with Client(f"http://{host}:{port}") as client:
            client.wait_until_ready()
        yield f"{host}:{port}"


@pytest.mark.parametrize("page", IN_PYTHON, ids=name_of)
def test_the_python_of_a_page_runs_as_one_program(page: Path, tmp_path: Path, address: str) -> None:
    program = "\n".join(blocks(page, "python")).replace(SERVICE, address)
    (tmp_path / "page.py").write_text(program)
    run(sys.executable, "-W", "error", "page.py", folder=tmp_path, PYTHONPATH=str(PACKAGE))


@needs_node
@pytest.mark.parametrize("page", IN_JAVASCRIPT, ids=name_of)
def test_the_javascript_of_a_page_runs_as_one_program(
    page: Path, tmp_path: Path, address: str
) -> None:
    program = "\n".join(blocks(page, "js")).replace(SERVICE, address)
    (room_of(tmp_path) / "page.js").write_text(program)
    run("node", "page.js", folder=tmp_path)


def test_the_pages_on_clients_are_tried() -> None:
    assert {page.parent.name for page in IN_PYTHON} == {"python", "how-to"}
    assert {page.parent.name for page in IN_JAVASCRIPT} == {"js", "how-to"}
