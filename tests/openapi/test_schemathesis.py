"""Whatever the document allows, and much that it does not, is answered as it promises."""

import os
import re
from pathlib import Path

import pytest

from tests.openapi.document import OPERATIONS
from tests.openapi.tools import PYTHON_TOOLS, TOOLS, needs_python_tools, run
from tests.service.running import service

pytestmark = pytest.mark.flow

SHORT = "examples,fuzzing,stateful"
"""Not all values at bounds: those of all parameters of all operations take half a minute."""
LONG = f"{SHORT},coverage"


@needs_python_tools
@pytest.mark.parametrize(
    ("examples", "phases"),
    [(2, SHORT), pytest.param(50, LONG, marks=pytest.mark.slow)],
    ids=["short", "long"],
)
def test_schemathesis_finds_nothing(tmp_path: Path, examples: int, phases: str) -> None:
    hooks = {"SCHEMATHESIS_HOOKS": str(TOOLS / "lines.py")}
    # a deletion waits until it is learned; an event that is not there yet is not waited for
    quick = {"wait_timeout_ms": 60_000, "min_sequence_wait_ms": 50}
    with service(tmp_path / "room", **quick) as running, running.client() as client:
        running.wait_until_ready(client)
        # a key first: one that schemathesis made would end the others' requests
        key = client.post("/v1/admin/keys", {"role": "admin", "name": "tester"})["secret"]
        said = run(
            *(PYTHON_TOOLS / "schemathesis", "--config-file", TOOLS / "schemathesis.toml", "run"),
            *(f"{running.url}/openapi.json", "--phases", phases),
            *("--max-examples", examples, "--seed", 1),
            *("--header", f"Authorization: Bearer {key}", "--no-color"),
            cwd=tmp_path,
            timeout_s=1_500,
            env=os.environ | hooks,
        )
        tested = re.search(r"Tested: +(\d+)", said)
        assert tested
        # all but the revocation of keys, see schemathesis.toml
        assert int(tested[1]) == len(OPERATIONS) - 1
