"""The tools that check the document are pinned by hashes, and name no place to get them from."""

import json

from tests.openapi.tools import TOOLS


def test_packages_of_node_are_pinned_by_hashes_alone() -> None:
    lock = json.loads((TOOLS / "package-lock.json").read_text())
    packages = {name: one for name, one in lock["packages"].items() if name}
    assert len(packages) > 100
    assert [name for name, one in packages.items() if "resolved" in one] == []
    assert [name for name, one in packages.items() if "integrity" not in one] == []
    wanted = json.loads((TOOLS / "package.json").read_text())["devDependencies"]
    assert {name: packages[f"node_modules/{name}"]["version"] for name in wanted} == wanted


def test_packages_of_python_are_pinned_by_hashes_alone() -> None:
    lock = (TOOLS / "requirements.lock").read_text()
    pins = [line for line in lock.splitlines() if "==" in line]
    assert len(pins) > 20
    assert lock.count("--hash=sha256:") >= len(pins)
    assert "://" not in lock
