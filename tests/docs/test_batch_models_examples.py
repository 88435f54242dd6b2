"""The command lines of the page on ranking models do what it says, in the order in which it says it."""

import re
import shlex
import subprocess
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from service.cli.main import app

PAGE = Path(__file__).parents[2] / "docs" / "batch-models.md"
USERS, ITEMS = 60, 40


def blocks() -> list[str]:
    return re.findall(r"```sh\n(.*?)```", PAGE.read_text(), re.DOTALL)


def lines() -> list[str]:
    return [
        line for block in blocks() for line in block.splitlines() if line.startswith("hedgerow")
    ]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Run the lines that make the files on a small world in the published form."""
    folder = tmp_path_factory.mktemp("examples")
    published = folder / "ml-100k"
    published.mkdir()
    rng = np.random.default_rng(0)
    rated = np.argwhere(rng.random((USERS, ITEMS)) < 0.3) + 1
    published.joinpath("u.data").write_text(
        "".join(
            f"{u}\t{i}\t{rng.integers(1, 6)}\t{8 * 10**8 + n}\n" for n, (u, i) in enumerate(rated)
        )
    )
    published.joinpath("u.user").write_text(
        "".join(
            f"{u}|{20 + u % 30}|{'MF'[u % 2]}|writer|{10000 + u % 9}\n" for u in range(1, USERS + 1)
        )
    )
    kinds = ["|".join(str(int(i % 19 == kind)) for kind in range(19)) for i in range(1, ITEMS + 1)]
    published.joinpath("u.item").write_bytes(
        "".join(
            f"{i}|Café {i} (1995)|01-Jan-1995||http://x|{kinds[i - 1]}\n"
            for i in range(1, ITEMS + 1)
        ).encode("latin-1")
    )
    (making,) = [block for block in blocks() if block.startswith("awk")]
    subprocess.run(["bash", "-ec", making], cwd=folder, timeout=60, check=True)
    return folder


def test_the_files_are_what_the_page_says(folder: Path) -> None:
    heads = {name: (folder / f"{name}.csv").read_text().splitlines()[:2] for name in FILES}
    assert {name: head[0] for name, head in heads.items()} == FILES
    assert all(len(head) == 2 for head in heads.values())


FILES = {
    "train": "user,item,rating,timestamp",
    "test": "user,item,rating,timestamp",
    "users": "user,age,gender,occupation",
    "neighbours": "user,friend",
    "items": "item,categories",
}


@pytest.mark.parametrize("line", lines())
def test_each_command_line_of_the_page_runs(
    folder: Path, line: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)
    # the last of two budgets counts
    words = [*shlex.split(line)[1:], "--budget-s", "0.5"]
    result = CliRunner().invoke(app, words)
    assert result.exit_code == 0, result.output
    assert "ndcg@10" in result.stdout
