"""Kernels are compiled before a role is ready, for compiling later would hold up its work."""

import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.flow

ROOT = Path(__file__).parents[2]


def test_the_warm_up_reaches_every_kernel_with_the_types_that_are_used(
    redis_url: str, namespace: str, tmp_path: Path
) -> None:
    program = [sys.executable, "-m", "tests.flows.late_compilations"]
    done = subprocess.run(
        [*program, redis_url, namespace, str(tmp_path)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        timeout=1_200,
    )
    assert done.returncode == 0, done.stderr[-4_000:]
    assert done.stdout == "", (
        "compiled only when it was needed: warm it up in service/processes/compiling.py"
    )
