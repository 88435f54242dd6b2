"""``hedgerow eval ordinal``: the contract of its output, and refusals."""

import gzip
import json

import numpy as np
import pytest
from typer.testing import CliRunner

from service.cli.eval.main import app

CONTRACT = {"model", "auc", "mae", "accuracy", "fit_seconds", "thresholds"}


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    rng = np.random.default_rng(0)
    x = rng.random((400, 3))
    y = np.sin(3.0 * x[:, 0]) + x[:, 1] ** 2
    path = tmp_path_factory.mktemp("ordinal") / "table.csv.gz"
    rows = [f"{a:.5f},{b:.5f},{t:.6f},{c:.5f},note" for (a, b, c), t in zip(x, y, strict=True)]
    with gzip.open(path, "wt") as out:
        out.write("\n".join(["one,two,goal,noise,text", *rows]) + "\n")
    return path


def run(*arguments):
    return CliRunner().invoke(app, ["ordinal", *map(str, arguments)])


USUAL = ("--target", "goal", "--ignore", "text", "--labelled", "80", "--levels", "4")


@pytest.mark.parametrize("solver", ["closed", "stochastic"])
def test_the_report_has_the_names_of_the_contract_and_knows_something(file, solver):
    result = run(file, *USUAL, "--solver", solver, "--json")
    assert result.exit_code == 0, result.output
    found = json.loads(result.stdout)
    assert found.keys() >= CONTRACT
    assert found["model"] == "qs3orao"
    assert found["auc"] > 0.95
    assert found["mae"] < 0.4
    assert found["thresholds"] == sorted(found["thresholds"])
    assert (len(found["thresholds"]), found["n_labelled"], found["n_unlabelled"]) == (3, 80, 320)
    assert found["parameters"]["widths"].keys() == {"one", "two", "noise"}


def test_without_json_there_are_sentences(file):
    result = run(file, *USUAL)
    assert result.exit_code == 0
    assert "AUC" in result.stdout


def test_a_mark_of_the_encoding_is_no_part_of_a_name(file, tmp_path):
    path = tmp_path / "marked.csv"
    text = gzip.decompress(file.read_bytes()).decode()
    path.write_text(text.replace("one,two,goal", "goal,two,one", 1), encoding="utf-8-sig")
    assert run(path, *USUAL).exit_code == 0


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("--target", "price"), "no column price; the columns are one, two, goal, noise, text"),
        (("--target", "goal", "--ignore", "txt"), "no column txt"),
        (("--target", "goal"), "line 2, column text: 'note' is not a finite number"),
        (("--target", "goal", "--ignore", "one,two,noise,text"), "at least one other column"),
        (("--target", "goal", "--ignore", "text"), "the file has 400 rows, give fewer"),
    ],
)
def test_bad_input_is_an_error_with_advice(file, arguments, says):
    result = run(file, *arguments)
    assert result.exit_code == 2
    assert says in result.stderr.replace("\n", " ")


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "the file is empty"),
        ("goal,a\n", "no rows"),
        ("goal,a\n1,2,3\n", "line 2: 3 cells, the header has 2"),
        ("goal,a\n1,2\n1,3\n1,4\n", "only one level"),
        ("goal,a\n1,2\n2,2\n3,2\n4,2\n", "all features are constant"),
        ("goal,a\n1,nan\n", "'nan' is not a finite number"),
    ],
)
def test_files_that_cannot_be_learned_from_are_refused(tmp_path, text, says):
    path = tmp_path / "bad.csv"
    path.write_text(text)
    result = run(path, "--target", "goal", "--labelled", "2")
    assert result.exit_code == 2
    assert says in result.stderr.replace("\n", " ")


def test_files_that_cannot_be_read_are_refused(tmp_path, file):
    cut = tmp_path / "cut.csv.gz"
    cut.write_bytes(file.read_bytes()[:500])
    for path, says in (
        (cut, "cut off or damaged"),
        (tmp_path / "none.csv", "give a readable file"),
    ):
        result = run(path, *USUAL)
        assert result.exit_code == 2
        assert says in result.stderr.replace("\n", " ")
