"""Tests of the bench of the code's structure, on a small tree."""

import subprocess
import sys
from pathlib import Path

from bench import structure

ROOT = Path(structure.__file__).parents[1]
TREE = {
    "core/__init__.py": "",
    "core/types.py": "",
    "core/scale.py": "import core.types\n",
    "core/kernels/__init__.py": "",
    "core/kernels/count.py": "def count(a, b, c, d, e, f): ...\n",
    "service/__init__.py": "",
    "service/app.py": "from core import scale, types\nx = " + "1 + " * 30 + "1\n",
    "service/checked.py": (
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import service.app\n"
    ),
}


def test_the_report_counts_modules_imports_and_lines(tmp_path: Path) -> None:
    for name, source in TREE.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(source)
    # A separate process, since modules named core and service are already imported in this one.
    command = [sys.executable, "-m", "bench.structure", "--path", str(tmp_path)]
    said = subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, timeout=180, check=True
    ).stdout
    for line in (
        "| core | 2 |",
        "| core/kernels | 1 |",
        "| service | 2 |",
        "Longest chain of imports: 3 modules.\n`service.app` → `core.scale` → `core.types`",
        "| service.app | 2 |",
        "| service.checked | 0 |",
        "| core/kernels | 1 (most 6) |",
        "| service | 1 |",
        "| the longest line | 125 |",
    ):
        assert line in said


def test_self_is_no_argument() -> None:
    source = "class A:\n    def f(self, a, /, b, *c, d, **e): ...\n\n\nasync def g(): ...\n"
    assert sorted(structure.arguments(source)) == [("f", 3), ("g", 0)]
