"""Rules for tests and folders.

Tests import nothing from test modules and never patch our own code. A folder that has grown too
large to be looked over at once is divided by what its modules are about.
"""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
OURS = ("bench", "core", "hedgerow", "service", "tests", "website")
"""Packages whose modules and classes no test may patch: pass an argument, or a subclass."""
LARGE = {"core/kernels"}
"""Folders of modules that import no other, so that there is no order between them to show."""
MOST_MODULES = 22
PATCHES = ("setattr", "delattr", "setitem", "delitem")


def imported(tree: ast.Module) -> Iterator[tuple[str, str]]:
    """Yield each import as the name that it binds and the dotted name that it stands for."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield alias.asname or alias.name.partition(".")[0], alias.name
        elif isinstance(node, ast.ImportFrom):
            for alias in node.names:
                yield alias.asname or alias.name, f"{node.module}.{alias.name}"
        elif isinstance(node, ast.Call) and "import_module" in ast.unparse(node.func):
            for argument in node.args:
                if isinstance(argument, ast.Constant):
                    yield "", str(argument.value)


def imports_of_test_modules(source: str) -> list[str]:
    """Return the imports of a module that name a test module or something in it."""
    return [
        name
        for _, name in imported(ast.parse(source))
        if any(part.startswith("test_") for part in name.split("."))
    ]


def patches_of_ours(source: str) -> list[str]:
    """Return the calls of ``monkeypatch`` that change a module, a class or a table of ours."""
    tree = ast.parse(source)
    ours = {bound for bound, name in imported(tree) if name.partition(".")[0] in OURS}
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call) and node.args]
    return [
        ast.unparse(call) for call in calls if is_patch(call) and target(call) in {*ours, *OURS}
    ]


def is_patch(call: ast.Call) -> bool:
    function = call.func
    return isinstance(function, ast.Attribute) and (
        function.attr in PATCHES and ast.unparse(function.value).endswith("monkeypatch")
    )


def target(call: ast.Call) -> str:
    """Return the first name of what a call patches: ``a`` of ``a.b.c`` and of ``"a.b.c"``."""
    first = call.args[0]
    text = first.value if isinstance(first, ast.Constant) else ast.unparse(first)
    return str(text).partition(".")[0]


FOLDERS = sorted(
    path.parent.relative_to(ROOT).as_posix()
    for top in ("core", "hedgerow", "service")
    for path in (ROOT / top).rglob("__init__.py")
)


@pytest.mark.parametrize("folder", sorted({*FOLDERS} - LARGE))
def test_a_folder_can_be_looked_over_at_once(folder: str) -> None:
    modules = [path.stem for path in (ROOT / folder).glob("*.py") if path.stem != "__init__"]
    assert len(modules) <= MOST_MODULES, "divide it by what its modules are about (docs/adr/0009)"


MODULES = sorted((ROOT / "tests").rglob("*.py"))


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(ROOT)))
def test_a_module_keeps_the_rules(path: Path) -> None:
    source = path.read_text()
    assert imports_of_test_modules(source) == [], "move what tests share into a helper module"
    assert patches_of_ours(source) == [], "pass an argument instead"


@pytest.mark.parametrize(
    "line",
    [
        "from tests.core.test_stars import world",
        "from tests.core import test_stars",
        "from .test_stars import world",
        "import tests.core.test_stars as stars",
        "importlib.import_module('tests.core.test_stars')",
    ],
)
def test_an_import_of_a_test_module_is_found(line: str) -> None:
    assert imports_of_test_modules(f"import importlib\n{line}\n")
    assert not imports_of_test_modules(f"import importlib\n{line}\n".replace("test_stars", "rated"))


@pytest.mark.parametrize(
    "call",
    [
        "monkeypatch.setattr(views, 'SHARE', 1.0)",
        "monkeypatch.setattr(views.Views, 'copy', None)",
        "monkeypatch.setattr(Registry, '_put', None)",
        "monkeypatch.setattr('service.learning.following.views.SHARE', 1.0)",
        "monkeypatch.setitem(views.TABLE, 'tiny', 1)",
        "self.monkeypatch.delattr(views, 'SHARE')",
    ],
)
def test_a_patch_of_ours_is_found(call: str) -> None:
    imports = "from service.learning.following import views\nfrom service.store import Registry\n"
    assert patches_of_ours(f"{imports}{call}\n") == [call]


def test_the_environment_and_other_libraries_may_be_patched() -> None:
    source = """
import gzip, sys
monkeypatch.setenv("PATH", "/nowhere")
monkeypatch.setattr(gzip.GzipFile, "readline", None)
monkeypatch.setattr(sys, "stdin", None)
"""
    assert patches_of_ours(source) == []
