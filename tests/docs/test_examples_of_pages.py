"""The examples of the pages on evaluation and on Python work, in their order."""

import json
import re
import runpy
import shlex
import subprocess
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from service.cli.main import app
from service.training.recipes import RANKING
from tests.docs.pages import DOCS, PAGES, SERVICE, blocks, name_of

EVALUATION = DOCS / "how-to" / "evaluate-models.md"
SETTINGS = DOCS / "reference" / "model-settings.md"
WITH_PYTHON = [
    page
    for page in PAGES
    if blocks(page, "python") and SERVICE not in "".join(blocks(page, "python"))
]
"""Pages on clients, whose examples ask a service, are in test_client_pages.py."""
USERS, ITEMS = 60, 40


def lines() -> list[str]:
    return [
        line
        for block in blocks(EVALUATION, "sh")
        for line in block.splitlines()
        if line.startswith("hedgerow")
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
    (making,) = [block for block in blocks(EVALUATION, "sh") if block.startswith("awk")]
    subprocess.run(["bash", "-ec", making], cwd=folder, timeout=180, check=True)
    return folder


def test_the_files_are_what_the_page_says(folder: Path) -> None:
    heads = {name: (folder / f"{name}.csv").read_text().splitlines()[:2] for name in FILES}
    assert {name: head[0] for name, head in heads.items()} == FILES
    assert all(len(head) == 2 for head in heads.values())


FILES = {
    "train": "user,item,rating,timestamp",
    "test": "user,item,rating,timestamp",
    "users": "user,age,gender,occupation",
    "links": "user,friend",
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


@pytest.mark.parametrize("model", RANKING)
def test_every_setting_of_a_model_is_in_a_table_of_its_page(model: str) -> None:
    family = "## One-class" if model.startswith("ocmf") else "## "
    text = SETTINGS.read_text().partition(family)[2]
    cells = re.findall(r"^\| (`.*?) \|", text, re.MULTILINE)
    named = set(re.findall(r"`(\w+)`", " ".join(cells)))
    settings = RANKING[model].settings
    # how features are used has a table of its own
    assert {*settings.names, *settings.offline} - {"features"} <= named


@pytest.mark.parametrize("model", ["fbgd", "svdfeature", "ocmf-lr-wsq", "ocmf-sq-sq"])
def test_what_a_search_reported_makes_the_same_model_again(
    folder: Path, model: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)

    def evaluated(*more: str) -> dict[str, object]:
        words = ["eval", "topk", "train.csv", "test.csv", "--model", model, "--json", *more]
        told = json.loads(CliRunner().invoke(app, words).stdout)
        return {name: said for name, said in told.items() if "seconds" not in name}

    found = evaluated("--budget-s", "1")
    parameters = found["parameters"]
    assert isinstance(parameters, dict)
    stated = [f"--set={k}={v}" for k, v in parameters.items()]
    assert evaluated("--budget-s", "0", *stated) == found


@pytest.mark.parametrize("page", WITH_PYTHON, ids=name_of)
def test_the_python_of_a_page_runs_as_one_program(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "page.py").write_text("\n".join(blocks(page, "python")))
    runpy.run_path(str(tmp_path / "page.py"))


def test_the_splits_of_the_page_are_what_it_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    page = DOCS / "how-to" / "use-models-from-python.md"
    (tmp_path / "page.py").write_text("\n".join(blocks(page, "python")))
    made = runpy.run_path(str(tmp_path / "page.py"))
    pairs, train, test = (made[name] for name in ("pairs", "train", "test"))
    assert len(train) + len(test) == len(pairs)
    assert train.time.max() < test.time.min()
