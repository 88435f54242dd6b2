"""``hedgerow eval online``: the contract of its output, and refusals."""

import json
import math

import numpy as np
import pytest
from typer.testing import CliRunner

from service.cli.eval.main import app

KEYS = {
    "model",
    "n_train",
    "n_test",
    "train_mae",
    "test_mae",
    "test_rmse",
    "coverage80",
    "coverage80_by_class",
    "seconds",
    "ratings_per_second",
    "experts",
}


@pytest.fixture(scope="module")
def ratings(tmp_path_factory):
    """A file of 500 ratings 1..5 with a time that falls along the file."""
    path = tmp_path_factory.mktemp("eval") / "ratings.csv"
    rng = np.random.default_rng(0)
    lines = [
        f"u{u},i{i},{1 + (u + i) % 5},{1000 - n}\n"
        for n, (u, i) in enumerate(rng.integers(0, 20, (500, 2)))
    ]
    path.write_text("user,item,rating,timestamp\n" + "".join(lines))
    return path


def run(*arguments):
    return CliRunner().invoke(app, ["online", *map(str, arguments)])


def report(*arguments):
    result = run(*arguments, "--json")
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


@pytest.mark.parametrize("model", ["nn-apa-diag", "nn-apa-full", "nn-pa", "sgd"])
def test_a_single_model_reports_the_agreed_fields(ratings, model):
    found = report(ratings, "--model", model, "--rank", 3, "--c", 0.05)
    assert found.keys() >= KEYS
    assert (found["model"], found["n_train"], found["n_test"]) == (model, 400, 100)
    (expert,) = found["experts"]
    assert (expert["rank"], expert["c"], expert["weight"]) == (3, 0.05, 1.0)
    assert expert["mae"] == pytest.approx(found["test_mae"])
    assert sum(one["n"] for one in found["coverage80_by_class"]) == 100
    assert found["ratings_per_second"] == pytest.approx(400 / found["seconds"])


@pytest.mark.parametrize(
    ("arguments", "experts"),
    [
        ([], 6),
        (["--experts", "paper"], 15),
        (["--model", "nn-apa-u"], 15),
        (["--init", "paper"], 15),
        (["--aggregator", "boa"], 6),
    ],
)
def test_a_set_of_experts_reports_every_one(ratings, arguments, experts):
    found = report(ratings, *arguments)
    assert len(found["experts"]) == experts
    assert sum(one["weight"] for one in found["experts"]) == pytest.approx(1.0)
    assert all(math.isfinite(one["mae"]) for one in found["experts"])


def test_a_seed_repeats_the_report(ratings):
    def without_time(found):
        return {key: value for key, value in found.items() if "second" not in key}

    assert without_time(report(ratings)) == without_time(report(ratings))
    assert without_time(report(ratings)) != without_time(report(ratings, "--seed", 1))


def test_the_order_of_time_learns_the_earlier_ratings(ratings, tmp_path):
    """A file in reverse order of time gives the figures of its mirror image."""
    header, *lines = ratings.read_text().splitlines()
    mirror = tmp_path / "mirror.csv"
    mirror.write_text("\n".join([header, *reversed(lines)]) + "\n")
    arguments = ("--order", "time", "--model", "sgd", "--scale", "1:5")
    assert report(ratings, *arguments)["test_mae"] == report(mirror, *arguments)["test_mae"]


def test_parameters_left_open_are_chosen_for_the_start_of_the_paper(ratings):
    found = report(ratings, "--model", "nn-pa", "--init", "paper", "--rank", 4, "--eps", 0.1)
    assert found["experts"][0]["eps"] == 0.1
    assert 0.01 <= found["experts"][0]["c"] <= 10.0


def test_without_json_it_prints_tables(ratings):
    result = run(ratings, "--model", "sgd")
    assert result.exit_code == 0
    assert "test MAE" in result.stdout
    assert "0-sgd-10" in result.stdout


@pytest.mark.parametrize(
    ("content", "arguments", "says"),
    [
        ("user,item\na,x\n", [], "no column 'rating'"),
        ("user,item,rating\n", [], "no ratings"),
        ("user,item,rating\na,x,nan\n", [], "line 2: the rating 'nan'"),
        ("user,item,rating\na,x,3\n", [], "one rating cannot be split"),
        ("user,item,rating\na,x,3\nb,x,3\n", [], "all ratings are 3"),
        ("user,item,rating\na,x,3\nb,x,9\n", ["--scale", "1:5"], "a rating is 9"),
        ("user,item,rating\na,x,3\nb,x,4\n", ["--scale", "high"], "--scale must be LOW:HIGH"),
        ("user,item,rating\na,x,3\nb,x,4\n", ["--scale", "5:1"], "low < high"),
        ("user,item,rating\na,x,3\nb,x,4\n", ["--order", "time"], "timestamp"),
        ("user,item,rating\na,x,3\nb,x,4\n", ["--test-fraction", "2"], "between 0 and 1"),
        ("user,item,rating\na,x,3\nb,x,4\n", ["--model", "svd"], "nn-apa-m"),
        ("user,item,rating\na,x,3\nb,x,4\n", ["--c", "1"], "is a set of experts"),
        ("user,item,rating\na,x,3\nb,x,4\n", ["--seed", "-1"], "seed"),
        ("user,item,rating\na,x,3\nb,x,4\n", ["--model", "sgd", "--c", "-1"], "c of"),
        ("user,item,rating\na,x,3\nb,x,4\n", ["--model", "sgd", "--eps", "nan"], "eps of"),
        (
            "user,item,rating\na,x,3\nb,x,4\n",
            ["--experts", "default", "--init", "paper"],
            "--experts paper",
        ),
        (
            "user,item,rating\na,x,3\nb,x,4\n",
            ["--model", "nn-apa-full", "--rank", "65"],
            "rank 64",
        ),
    ],
)
def test_bad_input_is_said_clearly_with_exit_code_2(tmp_path, content, arguments, says):
    path = tmp_path / "ratings.csv"
    path.write_text(content)
    result = run(path, *arguments)
    assert result.exit_code == 2
    assert says in result.stderr
    assert result.stdout == ""
