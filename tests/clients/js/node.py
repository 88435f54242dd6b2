"""Running node with the client in a folder of its own, where programs find it by its name."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
CLIENT = ROOT / "clients" / "js"
HERE = Path(__file__).parent

needs_node = pytest.mark.skipif(shutil.which("node") is None, reason="install node 20 or newer")


def room_of(folder: Path) -> Path:
    """Make a folder in which node finds the client as an installed package."""
    modules = folder / "node_modules"
    modules.mkdir()
    (modules / "hedgerow-client").symlink_to(CLIENT)
    (folder / "package.json").write_text('{"type": "module"}')
    return folder


def run(*command: str | Path, folder: Path, **environment: str) -> str:
    """Run a command; return what it said, fail with it if it fails."""
    done = subprocess.run(
        command,
        cwd=folder,
        env=os.environ | environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
        timeout=300,
    )
    assert done.returncode == 0, done.stdout
    return done.stdout
