"""The image gets every file that the Dockerfile copies, and all packages of the project."""

import re
import tomllib

from tests.docs.pages import ROOT

COPIED = {
    source
    for line in re.findall(r"^COPY (.+)$", (ROOT / "Dockerfile").read_text(), re.MULTILINE)
    for source in line.split()[:-1]
}


def test_what_is_copied_is_there_and_not_ignored() -> None:
    ignored, *let_in = (ROOT / ".dockerignore").read_text().splitlines()
    assert ignored == "*"
    assert {f"!{source}" for source in COPIED} <= set(let_in)
    assert all((ROOT / source).exists() for source in COPIED)


def test_every_package_is_copied() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    packages = project["tool"]["setuptools"]["packages"]["find"]["include"]
    assert {name.removesuffix("*") for name in packages} <= COPIED
