"""The tools that check the document from outside; `make openapi-tools` installs them."""

import os
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
TOOLS = ROOT / "openapi" / "tools"
PYTHON_TOOLS = TOOLS / ".venv" / "bin"
NODE_TOOLS = TOOLS / "node_modules" / ".bin"

needs_python_tools = pytest.mark.skipif(
    not (TOOLS / ".venv" / "installed").exists(), reason="not installed: run `make openapi-tools`"
)
needs_node_tools = pytest.mark.skipif(
    not (TOOLS / "node_modules" / "installed").exists(),
    reason="not installed: run `make openapi-tools`, which needs node and npm",
)


def run(
    *command: Any,
    cwd: Path | None = None,
    timeout_s: float = 600,
    env: Mapping[str, str] = os.environ,
) -> str:
    """Run a tool; return what it said, fail with it if the tool fails."""
    done = subprocess.run(
        [str(word) for word in command],
        cwd=cwd,
        env=env,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
        timeout=timeout_s,
    )
    assert done.returncode == 0, done.stdout
    return done.stdout
