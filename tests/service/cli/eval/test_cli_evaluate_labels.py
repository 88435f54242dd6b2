"""``hedgerow eval labels``: the contract of its output, and refusals."""

import gzip
import json
from typing import get_args

import numpy as np
import pytest
from typer.testing import CliRunner

from service.cli.eval.labels import Model
from service.cli.eval.main import app
from service.evaluation.label_models import MODELS
from tests.core import ranking
from tests.core.labelled import points

CONTRACT = {"model", "p@1", "p@3", "p@5", "fit_seconds", "predict_seconds"}


def write(path, X, labels):
    lines = [f"{X.shape[0]} {X.shape[1]} {labels.n_items}"]
    for at in range(X.shape[0]):
        own = labels.item_ix[labels.ptr[at] : labels.ptr[at + 1]].tolist()
        row = X[[at]].tocoo()
        features = zip(row.col.tolist(), row.data.tolist(), strict=True)
        lines.append(",".join(map(str, own)) + "".join(f" {f}:{v:.6f}" for f, v in features))
    with gzip.open(path, "wt") as file:
        file.write("\n".join(lines) + "\n")
    return path


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("labels")
    return write(folder / "train.txt.gz", *points(300)), write(
        folder / "test.txt.gz", *points(200, seed=1)
    )


def run(*arguments):
    return CliRunner().invoke(app, ["labels", *map(str, arguments)])


def report(*arguments):
    result = run(*arguments, "--json")
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


def test_the_models_are_the_recipes_for_labelled_points():
    assert get_args(Model) == MODELS


EMBEDDINGS = ["exmlds1", "exmlds2", "exmlds3", "exmlds4"]


@pytest.mark.parametrize("model", ["ocmf-lr-wsq", "ocmf-sq-wsq", "ocmf-sq-sq", *EMBEDDINGS])
def test_the_report_has_the_names_of_the_contract_and_knows_something(files, model):
    found = report(*files, "--model", model, "--budget-s", "1")
    assert found.keys() >= CONTRACT
    assert found["model"] == model
    assert found["p@1"] > 70.0
    assert 100.0 >= found["p@1"] > found["p@3"] > found["p@5"]
    if model == "ocmf-sq-sq":
        assert "weight" not in found["parameters"]
    # the reported settings can be stated and make the same model
    stated = [f"--set={name}={value}" for name, value in found["parameters"].items()]
    again = report(*files, "--model", model, "--budget-s", "0", *stated)
    assert timeless(again) == timeless(found)


def timeless(found):
    return {name: value for name, value in found.items() if "seconds" not in name}


def test_more_factors_and_landmarks_than_there_can_be_are_not_reported(files):
    found = report(
        *files,
        "--set",
        "factors=5000",
        "--set",
        "landmarks=5000",
        "--set",
        "rounds=1",
        "--budget-s",
        "0",
    )
    assert found["parameters"]["factors"] == found["n_labels"]
    assert found["parameters"]["landmarks"] == found["n_train"]


def test_a_seed_repeats_a_fit_with_stated_settings(files):
    settings = ["--set", "landmarks=20", "--set", "reg=0.5", "--budget-s", "0", "--seed", "3"]
    one, other = (report(*files, *settings) for _ in range(2))
    assert one["p@5"] == other["p@5"]
    assert (one["parameters"]["landmarks"], one["parameters"]["reg"]) == (20, 0.5)


@pytest.mark.parametrize("model", ["ocmf-lr-wsq", "exmlds1", "exmlds3"])
def test_hidden_labels_make_it_worse(files, model):
    settings = ["--model", model, "--budget-s", "0"]
    whole = report(*files, *settings)
    hidden = report(*files, *settings, "--revealed", "0.1")
    assert hidden["p@1"] < whole["p@1"]


def test_without_json_there_is_a_table(files):
    result = run(*files, "--budget-s", "0")
    assert result.exit_code == 0
    assert "p@1" in result.stdout


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--revealed", "0"], "--revealed must be above 0"),
        (["--set", "reg"], "NAME=VALUE"),
        (["--set", "colour=3"], "no such setting"),
        (["--set", "reg=much"], "give a number"),
        (["--set", "rounds=1.5"], "give a whole number"),
        (["--set", "landmarks=-1"], "landmarks must be 0 or more"),
        (["--set", "gamma=0"], "gamma must be above 0"),
        (["--set", "reg=1", "--set", "reg=2"], "--set reg is given twice"),
        (["--model", "ocmf-sq-sq", "--set", "weight=0.5"], "no such setting"),
        (["--set", "weight=2", "--budget-s", "0"], "weight must not exceed 1"),
        (["--set", "negatives=some", "--budget-s", "0"], "all, sampled, listed"),
        (["--set", "solver=adam", "--budget-s", "0"], "newton, gradient"),
        (["--model", "exmlds1", "--set", "rounds=3"], "no such setting"),
        (["--model", "exmlds1", "--set", "factors=many"], "give a whole number"),
        (["--model", "exmlds1", "--set", "neighbours=0"], "neighbours must be in 1"),
        (["--model", "exmlds4", "--set", "optimiser=sgd"], "adagrad or adam"),
    ],
)
def test_bad_options_are_refused_with_advice(files, arguments, says):
    result = run(*files, *arguments)
    assert result.exit_code == 2
    assert says in result.stderr


@pytest.mark.parametrize("model", ["ocmf-lr-wsq", "exmlds1"])
def test_points_that_all_lack_labels_are_refused(tmp_path, model):
    path = tmp_path / "bare.txt"
    path.write_text("2 3 4\n 0:1\n 1:1\n")
    result = run(path, path, "--model", model, "--budget-s", "0")
    assert result.exit_code == 2
    assert "give at least one" in result.stderr


def test_a_test_file_without_labels_is_refused(files, tmp_path):
    path = tmp_path / "bare.txt"
    path.write_text("1 30 12\n 0:1\n")
    result = run(files[0], path)
    assert result.exit_code == 2
    assert "no point of the test file has a label" in result.stderr


def test_files_of_two_kinds_are_refused(files, tmp_path):
    other = write(tmp_path / "other.txt.gz", *points(30, d=7))
    result = run(files[0], other)
    assert result.exit_code == 2
    assert "30 features, the test file 7" in result.stderr


def test_one_class_models_rank_items_too(tmp_path):
    pairs = ranking.tribes()
    rows = zip(pairs.user_ix.tolist(), pairs.item_ix.tolist(), strict=True)
    lines = np.array([f"{u},{i}" for u, i in rows])
    held = np.random.default_rng(1).random(lines.size) < 0.2
    train, test = tmp_path / "train.csv", tmp_path / "test.csv"
    for path, part in ((train, lines[~held]), (test, lines[held])):
        path.write_text("user,item\n" + "\n".join(part) + "\n")
    reports = {}
    for model in ("popular", "ocmf-lr-wsq", "ocmf-sq-wsq", "ocmf-sq-sq"):
        arguments = ["--model", model, *([] if model == "popular" else ["--budget-s", "2"])]
        result = CliRunner().invoke(app, ["topk", str(train), str(test), *arguments, "--json"])
        assert result.exit_code == 0, result.output
        reports[model] = json.loads(result.stdout)["ndcg@10"]
    popular = reports.pop("popular")
    assert min(reports.values()) > 1.2 * popular, (reports, popular)
