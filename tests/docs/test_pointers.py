"""Docstrings and comments name only files and modules that exist."""

import ast
import io
import re
import tokenize
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FOLDERS = ("core", "hedgerow", "service", "tests")
SOURCES = [path for folder in FOLDERS for path in sorted((ROOT / folder).rglob("*.py"))]
FILES = {f"/{path.relative_to(ROOT)}" for folder in FOLDERS for path in (ROOT / folder).rglob("*")}
FILE = re.compile(r"(?<![\w/.*-])((?:\w+/)*\w+\.(?:py|lua))\b")
DOTTED = re.compile(r"``((?:core|hedgerow|service)(?:\.\w+)+)")


def prose(source: str) -> Iterator[str]:
    """Yield all docstrings and comments of a module."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            yield str(node.value.value)
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            yield token.string


def is_here(dotted: str) -> bool:
    """Whether a dotted name is a package, a module, or a name that its module contains."""
    parts = dotted.split(".")
    for n in range(len(parts), 0, -1):
        path = ROOT.joinpath(*parts[:n])
        for module in (path.with_suffix(".py"), path / "__init__.py"):
            if module.is_file():
                source = module.read_text()
                return all(re.search(rf"\b{name}\b", source) for name in parts[n:])
    return False


def stale(source: str) -> list[str]:
    """Return the names in a module's prose that lead nowhere."""
    text = "\n".join(prose(source))
    files = [name for name in FILE.findall(text) if not any(f.endswith(f"/{name}") for f in FILES)]
    return files + [name for name in DOTTED.findall(text) if not is_here(name)]


def test_docstrings_and_comments_name_files_that_exist() -> None:
    found = {str(path.relative_to(ROOT)): stale(path.read_text()) for path in SOURCES}
    assert {path: names for path, names in found.items() if names} == {}


@pytest.mark.parametrize(
    ("prose_of_module", "names"),
    [
        ('"""See ``core.gate`` and ``core/gate.py``."""', []),
        ('"""See ``core.gate.decide``."""', []),
        ('"""See ``core.gate.refuse``."""', ["core.gate.refuse"]),
        ("# as in gates.py", ["gates.py"]),
    ],
)
def test_a_stale_name_is_found(prose_of_module: str, names: list[str]) -> None:
    assert stale(prose_of_module) == names
