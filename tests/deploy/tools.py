"""The programs of deploy/tools, which come as wheels into an environment of their own."""

import functools
import json
import subprocess
from typing import Any

import pytest

from tests.docs.pages import ROOT

PLACE = ROOT / "deploy/tools/.venv/bin"


def tool(name: str) -> str:
    """Return the path of a program; without it the test is skipped."""
    path = PLACE / name
    if not path.exists():
        pytest.skip(f"{name} is missing: run `make deploy-tools`")
    return str(path)


def ask(*words: str) -> str:
    """Return what a program prints; it must end well."""
    command = [tool(words[0]), *words[1:]]
    done = subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=120
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@functools.cache
def read_yaml(text: str) -> list[Any]:
    """Return the documents of a YAML text."""
    program = "import json, sys, yaml; print(json.dumps(list(yaml.safe_load_all(sys.stdin))))"
    done = subprocess.run(
        [tool("python"), "-c", program], input=text, capture_output=True, text=True, check=True
    )
    documents: list[Any] = json.loads(done.stdout)
    return documents
