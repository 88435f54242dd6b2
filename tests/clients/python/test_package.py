"""The distribution holds the whole client and nothing else, and works where it is installed."""

import shutil
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
CLIENT = ROOT / "clients" / "python"
MODULES = {path.name for path in (CLIENT / "src" / "hedgerow_client").glob("*.py")}
USE = """
import sys
from hedgerow_client import AsyncClient, Client
assert "numpy" not in sys.modules and "service" not in sys.modules
print(Client.__module__)
"""


def run(*command: str | Path, **environment: str) -> str:
    done = subprocess.run(
        command, env=environment or None, capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder with the source distribution, and the wheel that is made from it."""
    folder = tmp_path_factory.mktemp("package")
    left_out = shutil.ignore_patterns("__pycache__", "*.egg-info", "build")
    shutil.copytree(CLIENT, folder / "source", ignore=left_out)
    uv = Path(sys.executable).parent / "uv"
    offline = ("--offline", "--no-build-isolation", "--python", sys.executable)
    run(uv, "build", "--quiet", *offline, folder / "source", "--out-dir", folder / "built")
    return folder / "built"


def test_both_distributions_hold_all_modules_the_types_and_the_licence(built: Path) -> None:
    (wheel,), (source,) = built.glob("*.whl"), built.glob("*.tar.gz")
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
    assert {f"hedgerow_client/{name}" for name in {*MODULES, "py.typed"}} <= {*names}
    assert {name.partition("/")[0].partition("-")[0] for name in names} == {"hedgerow_client"}
    assert any(name.endswith("licenses/LICENSE") for name in names)
    with tarfile.open(source) as archive:
        inside = {Path(name).name for name in archive.getnames()}
    assert {*MODULES, "py.typed", "LICENSE", "README.md", "pyproject.toml"} <= inside


def test_an_installed_client_needs_nothing_of_the_service(built: Path, tmp_path: Path) -> None:
    (wheel,) = built.glob("*.whl")
    uv = Path(sys.executable).parent / "uv"
    into = ("--target", tmp_path / "site", "--python", sys.executable)
    run(uv, "pip", "install", "--quiet", "--offline", "--no-deps", *into, wheel)
    assert run(sys.executable, "-c", USE, PYTHONPATH=str(tmp_path / "site")) == (
        "hedgerow_client.client\n"
    )


def test_its_licence_version_and_python_are_those_of_the_service() -> None:
    assert (CLIENT / "LICENSE").read_text() == (ROOT / "LICENSE").read_text()
    ours = tomllib.loads((CLIENT / "pyproject.toml").read_text())["project"]
    whole = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    same = ("version", "license", "requires-python")
    assert {name: ours[name] for name in same} == {name: whole[name] for name in same}
    assert ours["dependencies"] == [one for one in whole["dependencies"] if "httpx" in one]
