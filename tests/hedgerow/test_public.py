"""The public package exports exactly its documented names, and loads them when they are used."""

import ast
import importlib
import inspect
import pkgutil
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import hedgerow

SOURCE = Path(hedgerow.__file__)
MODULES = sorted(
    module.name for module in pkgutil.iter_modules(hedgerow.__path__) if module.name[0] != "_"
)


def defined(name: str) -> list[str]:
    """Return the public names of a module of the package."""
    module = importlib.import_module(f"hedgerow.{name}")
    return sorted(module.__all__)


def public() -> list[tuple[str, Any]]:
    flat = [(name, getattr(hedgerow, name)) for name in hedgerow.__all__ if name not in MODULES]
    of_modules = [
        (f"{module}.{name}", getattr(importlib.import_module(f"hedgerow.{module}"), name))
        for module in MODULES
        for name in defined(module)
    ]
    return flat + of_modules


def test_all_is_exactly_what_is_exported() -> None:
    assert hedgerow.__all__ == sorted(hedgerow.__all__)
    assert sorted([*hedgerow._HOMES, *hedgerow._MODULES]) == hedgerow.__all__
    assert list(hedgerow._MODULES) == MODULES
    assert set(hedgerow.__all__) <= set(dir(hedgerow))


def test_type_checkers_see_the_same_names_from_the_same_modules() -> None:
    block, _ = [node for node in ast.parse(SOURCE.read_text()).body if isinstance(node, ast.If)]
    seen = {
        alias.name: node.module
        for node in block.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    homes = hedgerow._HOMES | dict.fromkeys(MODULES, "hedgerow")
    assert seen == homes


@pytest.mark.parametrize("name", hedgerow.__all__)
def test_each_name_can_be_imported(name: str) -> None:
    found = getattr(hedgerow, name)
    assert inspect.ismodule(found) or found.__name__ == name


def test_a_name_is_public_in_one_place() -> None:
    names = [name.rpartition(".")[2] for name, _ in public()]
    assert len(names) == len(set(names))


@pytest.mark.parametrize(
    ("name", "found"), public(), ids=lambda one: one if type(one) is str else ""
)
def test_each_public_name_shows_an_example(name: str, found: Any) -> None:
    """Run the examples as doctests in their place."""
    constant = not (inspect.isclass(found) or inspect.isfunction(found))
    if not constant and not (inspect.isclass(found) and issubclass(found, Exception)):
        assert ">>> " in (found.__doc__ or ""), f"{name} has no example"


def test_an_unknown_name_says_where_to_look() -> None:
    with pytest.raises(AttributeError, match="did you mean 'FbgdConfig'"):
        hedgerow.FbgdConfg  # type: ignore[attr-defined]  # noqa: B018
    with pytest.raises(AttributeError, match=r"dir\(hedgerow\).*hedgerow\.metrics"):
        hedgerow.nothing  # type: ignore[attr-defined]  # noqa: B018
    with pytest.raises(ImportError):
        importlib.import_module("hedgerow.nothing")


@pytest.mark.parametrize(
    "code",
    [
        "import hedgerow; dir(hedgerow); hedgerow.__all__; hasattr(hedgerow, '__wrapped__')",
        "from hedgerow import ServiceClient",
        "from hedgerow import errors",
    ],
)
def test_what_computes_nothing_loads_no_numba(code: str) -> None:
    code += "; import sys; sys.exit('numba' in sys.modules)"
    subprocess.run([sys.executable, "-c", code], cwd=SOURCE.parents[1], timeout=180, check=True)


@pytest.mark.slow
def test_type_checkers_know_what_there_is_and_what_is_not(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(
        "import hedgerow\n"
        "from hedgerow import Fbgd, FbgdConfig\n"
        "reveal_type(Fbgd(FbgdConfig()).config)\n"
        "hedgerow.nothing\n"
    )
    command = [sys.executable, "-m", "mypy", "--strict", "--config-file", "", str(program)]
    ended = subprocess.run(
        [*command, "--cache-dir", str(tmp_path)],
        cwd=SOURCE.parents[1],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert (
        'program.py:3: note: Revealed type is "core.batch.fbgd.config.FbgdConfig"' in ended.stdout
    )
    assert 'program.py:4: error: Module has no attribute "nothing"' in ended.stdout


def test_the_documentation_imports_from_the_public_package_alone() -> None:
    root = SOURCE.parents[1]
    internal = re.compile(r"^\s*(?:from|import) (?:core|service)\b.*", re.MULTILINE)
    pages = [root / "README.md", *sorted((root / "docs").rglob("*.md"))]
    assert {page.name: internal.findall(page.read_text()) for page in pages} == {
        page.name: [] for page in pages
    }
