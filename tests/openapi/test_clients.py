"""Clients are generated from the document without a warning, and work with a running service."""

import shutil
from pathlib import Path

import pytest

from tests.openapi.document import COMMITTED
from tests.openapi.tools import (
    NODE_TOOLS,
    PYTHON_TOOLS,
    TOOLS,
    needs_node_tools,
    needs_python_tools,
    run,
)
from tests.service.running import service

pytestmark = pytest.mark.flow

HERE = Path(__file__).parent


@needs_python_tools
def test_a_generated_python_client_works(tmp_path: Path) -> None:
    said = run(
        *(PYTHON_TOOLS / "openapi-python-client", "generate", "--path", COMMITTED),
        *("--config", TOOLS / "python-client.yaml", "--meta", "none", "--fail-on-warning"),
        *("--output-path", tmp_path / "hedgerow_client"),
    )
    assert "warning" not in said.lower()
    shutil.copy(HERE / "use_client.py", tmp_path)
    with service(tmp_path / "room", wait_timeout_ms=60_000) as running:
        # the script's folder is on its path, so it finds the client beside it
        run(PYTHON_TOOLS / "python", "-W", "error", tmp_path / "use_client.py", running.url)


@needs_node_tools
def test_a_generated_typescript_client_works(tmp_path: Path) -> None:
    said = run(NODE_TOOLS / "openapi-typescript", COMMITTED, "-o", tmp_path / "hedgerow.ts")
    assert "warn" not in said.lower()
    shutil.copy(HERE / "use_client.ts", tmp_path)
    shutil.copy(TOOLS / "package.json", tmp_path)
    (tmp_path / "node_modules").symlink_to(TOOLS / "node_modules")
    strict = ("--strict", "--module", "nodenext", "--target", "es2022", "--outDir", "out")
    run(NODE_TOOLS / "tsc", *strict, "hedgerow.ts", "use_client.ts", cwd=tmp_path)
    with service(tmp_path / "room", wait_timeout_ms=60_000) as running:
        run("node", tmp_path / "out" / "use_client.js", running.url)
