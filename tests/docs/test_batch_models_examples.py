"""The command lines of the page on ranking models do what it says, in the order in which it says it."""

import json
import re
import runpy
import shlex
import subprocess
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse
from typer.testing import CliRunner

from core.interactions import from_pairs
from service.cli.main import app
from service.evaluation.topk_models import _NAMES

PAGE = Path(__file__).parents[2] / "docs/explanation/batch-models.md"
OCMF_PAGE = PAGE.with_name("one-class.md")
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


@pytest.mark.parametrize("model", _NAMES)
def test_every_setting_of_a_model_is_in_a_table_of_its_page(model: str) -> None:
    page = OCMF_PAGE if model.startswith("ocmf") else PAGE
    cells = re.findall(r"^\| (`.*?) \|", page.read_text(), re.MULTILINE)
    named = set(re.findall(r"`(\w+)`", " ".join(cells)))
    # how features are used has a table of its own
    assert set(_NAMES[model]) - {"features"} <= named


def test_the_pairs_of_the_page_are_made_and_split_as_it_says(tmp_path: Path) -> None:
    python = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)
    (block,) = [one for one in python if "from_pairs" in one]
    rng = np.random.default_rng(0)
    given = {"users": rng.integers(0, 9, 80), "items": rng.integers(0, 30, 80)}
    given |= {"weight": 1.0 + rng.random(80), "target": rng.integers(0, 2, 80)}
    given |= {"time": np.arange(80)}
    (tmp_path / "block.py").write_text(block)
    found = runpy.run_path(str(tmp_path / "block.py"), given)
    pairs, train, test = (found[name] for name in ("pairs", "train", "test"))
    wanted = from_pairs(given["users"], given["items"], time=given["time"])
    assert np.array_equal(pairs.time, wanted.time)
    assert len(train) + len(test) == len(pairs)
    assert train.time.max() < test.time.min()


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


def python_of(page: Path, *words: str) -> str:
    """Return the Python blocks of a page that have one of these words, as one program."""
    blocks = re.findall(r"```python\n(.*?)```", page.read_text(), re.DOTALL)
    return "\n".join(block for block in blocks if any(word in block for word in words))


def world() -> dict[str, object]:
    """Return what the pages take for given."""
    rng = np.random.default_rng(0)
    users, items = np.nonzero(rng.random((60, 30)) < 0.3)
    pairs = from_pairs(users, items, n_items=30, time=rng.permutation(users.size))
    matrix = sparse.csr_array((np.ones(len(pairs)), pairs.item_ix, pairs.ptr), (60, 30))
    features = np.eye(4)[np.arange(60) % 4]
    some = {"user": 3, "item": 2, "users": np.array([5, 3]), "user_items": matrix, "pairs": pairs}
    new = {"new_users": [60, 61], "new_user_items": matrix[[0, 1]], "X": features, "n_users": 60}
    known = {
        "links": [[0, 1], [1, 2]],
        "their_links": np.eye(60)[:2],
        "their_features": np.eye(4)[:2],
    }
    return {**some, **new, **known, "item_numbers": pairs.rows(np.array([3])).item_ix}


@pytest.mark.parametrize(
    ("page", "words", "ends"),
    [
        (PAGE, ("import Fbgd, FbgdConfig", "of_contexts"), "model"),
        (OCMF_PAGE, ("OcmfConfig", "fit_features"), "scores"),
    ],
)
def test_the_python_of_the_pages_runs_in_its_order(
    page: Path, words: tuple[str, ...], ends: str, tmp_path: Path
) -> None:
    (tmp_path / "block.py").write_text(python_of(page, *words))
    assert runpy.run_path(str(tmp_path / "block.py"), world())[ends] is not None
