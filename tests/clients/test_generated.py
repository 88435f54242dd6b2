"""What of the clients follows from the OpenAPI document is as the document is now."""

import inspect
import subprocess
import sys
from pathlib import Path

import pytest

from clients.generator import document, python
from hedgerow_client import AsyncClient, Client

ROOT = Path(__file__).parents[2]
GENERATED = sorted(
    path.relative_to(ROOT / "clients")
    for path in (ROOT / "clients").rglob("*")
    if path.suffix in {".py", ".js", ".ts"}
    if "node_modules" not in path.parts
    if "Written by `make clients`" in path.read_text().partition("\n")[0]
)
DOCUMENT = document.Document.read()


@pytest.fixture(scope="module")
def anew(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the generated files, made now."""
    folder = tmp_path_factory.mktemp("clients")
    command = [sys.executable, "-m", "clients.generator", str(folder)]
    subprocess.run(command, cwd=ROOT, timeout=180, check=True)
    return folder


@pytest.mark.parametrize("path", GENERATED, ids=str)
def test_a_generated_file_is_fresh(anew: Path, path: Path) -> None:
    assert (ROOT / "clients" / path).read_text() == (anew / path).read_text(), "run `make clients`"


def test_nothing_is_generated_that_is_not_committed(anew: Path) -> None:
    made = sorted(path.relative_to(anew) for path in anew.rglob("*") if path.is_file())
    assert made == GENERATED
    assert len(made) >= len(python.files(DOCUMENT))


@pytest.mark.parametrize("operation", DOCUMENT.operations, ids=lambda one: one.name)
def test_both_clients_have_a_method_for_each_operation(operation: document.Operation) -> None:
    for client in (Client, AsyncClient):
        method = inspect.signature(getattr(client, operation.snake))
        given = {one.name.replace("-", "_").lower() for one in operation.parameters}
        assert given <= set(method.parameters)


def test_what_is_written_by_hand_is_in_the_document() -> None:
    assert {*document.BY_HAND, *document.NOT_REPEATABLE} <= {
        said["operationId"]
        for methods in document.content()["paths"].values()
        for said in methods.values()
    }
