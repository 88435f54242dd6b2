"""Every kernel has a naive twin of the same name and says which equation it computes."""

import importlib
import inspect
import pkgutil
import re
from pathlib import Path

import pytest

import core.kernels

ROOT = Path(__file__).parents[3]


def kernels():
    """Yield (module, name, function) of every kernel; helpers begin with an underscore."""
    for found in pkgutil.iter_modules(core.kernels.__path__):
        module = importlib.import_module(f"core.kernels.{found.name}")
        if found.name == "jit":
            continue
        for name, member in vars(module).items():
            function = getattr(member, "py_func", member)
            own = inspect.isfunction(function) and function.__module__ == module.__name__
            if own and not name.startswith("_"):
                yield pytest.param(function, id=f"{found.name}.{name}")


@pytest.mark.parametrize("function", list(kernels()))
def test_a_kernel_names_its_equation_and_its_twin(function):
    text = inspect.getdoc(function) or ""
    assert re.search(r"^Equation +\S", text, re.MULTILINE), "the docstring needs a line Equation"
    reference = re.search(r"^Reference +(\S+)::(\w+)$", text, re.MULTILINE)
    assert reference, "the docstring needs a line Reference, tests/core/reference*.py::name"
    path, twin = reference.groups()
    assert twin == function.__name__
    source = (ROOT / path).read_text()
    assert f"\ndef {twin}(" in source, f"{path} has no twin {twin}"


@pytest.mark.parametrize(
    "path", sorted((ROOT / "tests" / "core").glob("reference*.py")), ids=lambda p: p.name
)
def test_a_twin_is_numpy_only(path):
    imported = set(re.findall(r"^(?:from|import) (\w+)", path.read_text(), re.MULTILINE))
    assert imported <= {"numpy", "core", "itertools", "math", "tests"}
