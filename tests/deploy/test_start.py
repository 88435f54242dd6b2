"""deploy/image/start gives a container compiled code in a folder that it may write to."""

import subprocess
from pathlib import Path

import pytest

from tests.deploy.units import needs_sandbox
from tests.docs.pages import ROOT

START = ROOT / "deploy/image/start"
SHOW = 'echo "$NUMBA_CACHE_DIR ${NUMBA_CPU_NAME:-}"; cat "$NUMBA_CACHE_DIR"/kernels/one.nbi'


@pytest.fixture
def image(tmp_path: Path) -> Path:
    """A folder with what the script finds in an image, and the volume of a container."""
    needs_sandbox()
    kernels = tmp_path / "compiled" / "kernels"
    kernels.mkdir(parents=True)
    (kernels / "one.nbi").write_text("machine code")
    (tmp_path / "compiled" / "compiled-0f1e").write_text("1")
    (tmp_path / "data").mkdir()
    return tmp_path


def started(
    image: Path, *command: str, bind: str = "--bind", **environment: str
) -> subprocess.Popen[str]:
    """Start the script in a container whose root is read-only."""
    words = ["bwrap", "--ro-bind", "/", "/", "--dev", "/dev", "--unshare-user", "--tmpfs", "/opt"]
    words += ["--ro-bind", str(image / "compiled"), "/opt/hedgerow/compiled"]
    # a folder that the root of every machine has stands for /data
    words += ["--tmpfs", "/mnt", bind, str(image / "data"), "/mnt"]
    for name, value in environment.items():
        words += ["--setenv", name, value]
    script = START.read_text().replace("/data", "/mnt")
    return subprocess.Popen(
        [*words, "sh", "-c", script, "start", *command],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def said(process: subprocess.Popen[str]) -> str:
    out, err = process.communicate(timeout=60)
    assert process.returncode == 0, err
    return out


def test_the_code_of_the_image_is_copied_once_and_used(image: Path) -> None:
    shown = "/mnt/compiled-0f1e generic\nmachine code"
    assert said(started(image, "sh", "-c", SHOW)) == shown
    (image / "data/compiled-0f1e/kernels/one.nbi").write_text("newer code")
    assert said(started(image, "sh", "-c", SHOW)) == shown.replace("machine", "newer")


def test_containers_of_one_volume_may_start_at_once(image: Path) -> None:
    together = [started(image, "sh", "-c", SHOW) for _ in range(8)]
    assert {said(one) for one in together} == {"/mnt/compiled-0f1e generic\nmachine code"}
    assert [path.name for path in (image / "data").iterdir()] == ["compiled-0f1e"]


def test_another_image_has_another_folder(image: Path) -> None:
    said(started(image, "true"))
    (image / "compiled/compiled-0f1e").rename(image / "compiled/compiled-2d3c")
    assert said(started(image, "sh", "-c", SHOW)).startswith("/mnt/compiled-2d3c ")


def test_code_for_this_processor_is_kept_apart(image: Path) -> None:
    show = 'echo "$NUMBA_CACHE_DIR ${NUMBA_CPU_NAME:-this}"'
    assert said(started(image, "sh", "-c", show, COMPILE_FOR="this")) == "/mnt/compiled this\n"


def test_a_volume_that_takes_nothing_ends_the_start(image: Path) -> None:
    process = started(image, "echo", "started", bind="--ro-bind")
    out, err = process.communicate(timeout=60)
    assert process.returncode != 0
    assert not out
    assert "Read-only file system" in err
