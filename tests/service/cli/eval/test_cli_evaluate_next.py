"""``hedgerow eval next``: the contract of its output, and refusals."""

import json

import numpy as np
import pytest
from typer.testing import CliRunner

from service.cli.eval.main import app
from service.evaluation.rankers import families_that_rank

MEASURES = {f"{name}@{k}" for name in ("ndcg", "hr", "mrr") for k in (10, 20)}
KEYS = MEASURES | {
    "model",
    "n_predictions",
    "repeated",
    "search_seconds",
    "fit_seconds",
    "weights",
    "families",
    "popular",
}


def run(*arguments):
    return CliRunner().invoke(app, ["next", *map(str, arguments)])


def report(*arguments):
    result = run(*arguments, "--json")
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


@pytest.fixture(scope="module")
def walks(tmp_path_factory):
    """Return files of walks through tribes of items: what comes next is of the same tribe."""
    folder, rng = tmp_path_factory.mktemp("next"), np.random.default_rng(0)
    lines = {"train": [], "test": []}
    for session in range(260):
        tribe = session % 4
        items = 12 * tribe + rng.permutation(12)[: rng.integers(4, 9)]
        part = lines["train" if session < 220 else "test"]
        part += [f"s{session},{at},i{item}\n" for at, item in enumerate(items)]
    for name, rows in lines.items():
        (folder / f"{name}.csv").write_text("session,position,item\n" + "".join(rows))
    return folder / "train.csv", folder / "test.csv"


def test_the_report_has_the_names_of_the_contract_and_beats_popularity(walks):
    found = report(walks[0], "--budget-s", 2, "--model", "fbgd")
    assert found.keys() == KEYS
    assert found["popular"].keys() == found["families"]["fbgd"].keys() == MEASURES
    assert found["n_predictions"] == 220
    assert found["ndcg@10"] > 1.5 * found["popular"]["ndcg@10"]


def test_all_prefixes_of_new_sessions_are_predicted(walks):
    train, test = walks
    arguments = (train, test, "--protocol", "prefixes", "--model", "popular")
    rows = len(test.read_text().splitlines()) - 1
    assert report(*arguments)["n_predictions"] == rows - 40
    assert report(*arguments, "--first", 0)["n_predictions"] == rows
    assert report(*arguments, "--repeats")["hr@20"] < report(*arguments)["hr@20"]


def test_the_same_seed_gives_the_same_figures_and_users_may_have_timestamps(walks, tmp_path):
    rows = walks[0].read_text().splitlines()[1:]
    timed = tmp_path / "timed.csv"
    timed.write_text("user,timestamp,item,rating\n" + "".join(f"{row},1\n" for row in rows))
    arguments = ("--budget-s", 0, "--model", "fbgd", "--seed", 3)
    assert report(timed, *arguments)["ndcg@20"] == report(walks[0], *arguments)["ndcg@20"]


def test_a_person_reads_a_table(walks):
    printed = run(*walks, "--model", "popular").stdout
    assert "predictions" in printed
    assert "hr@20" in printed


def test_models_are_families_and_a_misspelt_one_is_refused_with_the_nearest_name(walks):
    assert {"fbgd", "popular"} <= set(families_that_rank())
    assert "ocmf" not in families_that_rank()
    result = run(walks[0], "--model", "fbdg")
    assert result.exit_code == 2
    assert "did you mean fbgd?" in result.output


def test_what_is_said_of_items_takes_part(walks, tmp_path):
    items = tmp_path / "items.csv"
    items.write_text("item,categories\n" + "".join(f"i{i},c{i // 12}|all\n" for i in range(48)))
    alone = report(walks[0], "--model", "content", "--items", items, "--budget-s", 0)
    assert alone["ndcg@10"] > 1.5 * alone["popular"]["ndcg@10"]
    mixed = report(walks[0], "--items", items, "--budget-s", 0)
    assert mixed["families"]["content"] == alone["families"]["content"]
    assert any(name.startswith("content") for name in mixed["weights"])
    without = report(walks[0], "--budget-s", 0)
    assert "content" not in without["families"]


def test_a_model_and_a_file_of_items_go_together(walks, tmp_path):
    items = tmp_path / "items.csv"
    items.write_text("item,kind\ni1,a\ni2,a\n")
    for options, says in (
        (["--model", "content"], "give --items"),
        (["--model", "fbgd", "--items", items], "fbgd cannot use --items: leave it out"),
    ):
        refused = run(walks[0], *options)
        assert refused.exit_code == 2
        assert says in " ".join(refused.output.split())


def test_prefixes_need_a_test_file(walks):
    result = run(walks[0], "--protocol", "prefixes")
    assert result.exit_code == 2
    assert "needs a file TEST" in " ".join(result.output.replace("│", " ").split())


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("user,item\na,x\n", "line 1: no column timestamp or position"),
        ("user,session,item,position\na,b,x,1\n", "both user and session"),
        ("session,position\na,1\n", "no column 'item'"),
        ("session,position,item\na,b,x\n", "line 2: the position 'b' is not a number"),
        ("session,position,item\na,1,x\na,2,y\n", "events by which to choose settings"),
        ('{"user": "a", "item": "x", "rating": 1}\n', "no column timestamp or position"),
    ],
)
def test_a_bad_file_is_refused_in_one_sentence(tmp_path, text, words):
    path = tmp_path / "train.csv"
    path.write_text(text)
    result = run(path, "--json")
    assert result.exit_code == 2
    assert words in result.output
    assert "Traceback" not in result.output
