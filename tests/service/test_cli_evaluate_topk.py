"""``hedgerow eval topk``: the contract of its output, and what it refuses."""

import gzip
import json

import numpy as np
import pytest
from typer.testing import CliRunner

from core.interactions import split_within_users
from service.cli.evaluate import eval_app
from tests.core import ranking

KEYS = {
    "model",
    "n_users",
    "recall@10",
    "ndcg@10",
    "recall@20",
    "ndcg@20",
    "mrr@10",
    "precision@5",
    "search_seconds",
    "fit_seconds",
    "epochs",
    "parameters",
}


def write(path, pairs):
    rows = zip(pairs.user_ix.tolist(), pairs.item_ix.tolist(), strict=True)
    with gzip.open(path, "wt") as file:
        file.write("user,item\n" + "".join(f"u{u},i{i}\n" for u, i in rows))
    return path


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("topk")
    fit, held = split_within_users(ranking.tribes(), 0.2, np.random.default_rng(1))
    return write(folder / "train.csv.gz", fit), write(folder / "test.csv.gz", held), held


def run(*arguments):
    return CliRunner().invoke(eval_app, ["topk", *map(str, arguments)])


def report(*arguments):
    result = run(*arguments, "--json")
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


def test_the_report_has_the_names_of_the_contract_and_beats_popularity(files):
    train, test, held = files
    popular = report(train, test, "--model", "popular")
    ours = report(train, test, "--budget-s", "3")
    assert popular.keys() == ours.keys() == KEYS
    assert ours["n_users"] == int((held.user_counts > 0).sum())
    assert ours["ndcg@10"] > 1.3 * popular["ndcg@10"]
    assert ours["epochs"] == ours["parameters"]["epochs"]


def test_stated_settings_are_taken_and_nothing_is_searched_without_a_budget(files):
    train, test, _ = files
    settings = ["--set", "factors=8", "--set", "alpha0=60", "--set", "reg=1.5", "--budget-s", "0"]
    found = report(train, test, "--k", "5", *settings)
    assert (found["parameters"]["factors"], found["parameters"]["reg"]) == (8, 1.5)
    assert {"recall@5", "ndcg@5"} <= found.keys()
    again = report(train, test, "--k", "5", *settings)
    assert again["ndcg@5"] == found["ndcg@5"]


def test_cold_users_get_the_popular_items_and_unknown_items_are_misses(tmp_path):
    train, test = tmp_path / "train.csv", tmp_path / "test.csv"
    train.write_text("user,item\na,x\nb,x\nb,y\n")
    test.write_text("user,item\nnew,x\na,never\n")
    found = report(train, test, "--model", "popular", "--k", "1")
    assert (found["n_users"], found["recall@1"]) == (2, 0.5)
    found = report(train, test, "--k", "1", "--budget-s", "0")
    assert found["recall@1"] == 0.5


def test_a_table_is_printed_for_people(files):
    result = run(files[0], files[1], "--budget-s", "0")
    assert result.exit_code == 0
    assert "ndcg@10" in result.stdout
    assert "factors" in result.stdout


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--set", "rank=3"], "no such setting"),
        (["--set", "factors"], "NAME=VALUE"),
        (["--set", "factors=many"], "give a number"),
        (["--set", "factors=0"], "factors must be at least 1"),
        (["--k", "0"], "--k must be"),
    ],
)
def test_wrong_usage_is_refused_with_advice(files, arguments, says):
    result = run(files[0], files[1], *arguments)
    assert result.exit_code == 2
    assert says in result.output


def test_a_file_without_the_columns_is_refused(tmp_path, files):
    bad = tmp_path / "bad.csv"
    bad.write_text("who,what\na,b\n")
    result = run(bad, files[1])
    assert result.exit_code == 2
    assert "no column 'user'" in result.output
