"""``hedgerow eval topk``: the contract of its output, and refusals."""

import gzip
import json

import numpy as np
import pytest
from typer.testing import CliRunner

from core.splits import split_within_users
from service.cli.eval.main import app
from tests.core import ranking

KEYS = {
    "model",
    "n_users",
    "repeated_pairs",
    "unknown_item_pairs",
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
    "popular",
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
    return CliRunner().invoke(app, ["topk", *map(str, arguments)])


def heads_of(printed):
    """Return the names of the table's columns."""
    line = next(line for line in printed.splitlines() if line.startswith("┃"))
    return [head for head in (part.strip() for part in line.split("┃")) if head]


def report(*arguments):
    result = run(*arguments, "--json")
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


def test_a_misspelt_model_is_refused_with_the_nearest_name():
    result = run("train.csv", "test.csv", "--model", "fbdg")
    assert result.exit_code == 2
    assert "did you mean fbgd?" in result.output


def test_the_report_has_the_names_of_the_contract_and_beats_popularity(files):
    train, test, held = files
    popular = report(train, test, "--model", "popular")
    ours = report(train, test, "--budget-s", "3")
    assert popular.keys() == ours.keys() == KEYS
    assert ours["n_users"] == int((held.user_counts > 0).sum())
    assert ours["ndcg@10"] > 1.3 * popular["ndcg@10"]
    figures = {name: value for name, value in popular.items() if "@" in name}
    assert ours["popular"] == popular["popular"] == figures
    assert ours["epochs"] == ours["parameters"]["epochs"]


def test_every_row_is_a_positive_whatever_its_rating_and_the_help_says_so(files, tmp_path):
    train, test, _ = files
    rated = tmp_path / "rated.csv"
    rows = gzip.decompress(train.read_bytes()).decode().split()[1:]
    rated.write_text(
        "user,item,rating\n" + "".join(f"{row},{n % 5}\n" for n, row in enumerate(rows))
    )
    figures = [report(path, test, "--model", "popular")["ndcg@10"] for path in (train, rated)]
    assert figures[0] == figures[1]
    assert "whatever its rating" in " ".join(run("--help").output.split())


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
    assert (found["n_users"], found["recall@1"], found["unknown_item_pairs"]) == (2, 0.5, 1)
    found = report(train, test, "--k", "1", "--budget-s", "0")
    assert found["recall@1"] == 0.5
    printed = run(train, test, "--model", "popular").stdout
    assert "1 test pairs have items that are not in the training file" in " ".join(printed.split())
    test.write_text("user,item\nnew, X\na,never\n")
    refused = run(train, test, "--model", "popular")
    assert refused.exit_code == 2
    assert "check that both write ids alike" in refused.output


def test_test_pairs_of_the_training_are_left_out_and_reported(tmp_path):
    train, test, half = tmp_path / "train.csv", tmp_path / "test.csv", tmp_path / "half.csv"
    train.write_text("user,item\na,x\nb,x\nb,y\n")
    test.write_text("user,item\na,y\nb,z\n")
    half.write_text("user,item\na,y\nb,z\na,x\nb,x\n")
    found = report(train, half, "--model", "popular", "--k", "1")
    assert found.pop("repeated_pairs") == 2
    clean = report(train, test, "--model", "popular", "--k", "1")
    assert clean["repeated_pairs"] == 0
    assert (
        (found["n_users"], found["recall@1"]) == (clean["n_users"], clean["recall@1"]) == (2, 0.5)
    )
    printed = run(train, half, "--model", "popular").stdout
    assert "2 test pairs are left out: they are in the training file" in " ".join(printed.split())
    refused = run(train, train, "--model", "popular")
    assert refused.exit_code == 2
    assert "hold out pairs that training lacks" in " ".join(refused.output.split())


def test_the_error_of_too_few_users_says_how_to_skip_the_search(tmp_path):
    train, test = tmp_path / "train.csv", tmp_path / "test.csv"
    train.write_text("user,item\na,x\na,y\nb,x\nb,y\n")
    test.write_text("user,item\nc,x\n")
    for model in ("fbgd", "ocmf-lr-wsq", "svdfeature"):
        result = run(train, test, "--model", model)
        assert result.exit_code == 2
        assert "(--budget-s 0)" in result.stderr
    assert run(train, test, "--budget-s", "0").exit_code == 0


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
        (["--set", "factors=many"], "give a whole number"),
        (["--set", "reg=much"], "give a number"),
        (["--set", "factors=0"], "factors must be at least 1"),
        (["--set", "factors=2.5"], "give a whole number"),
        (["--set", "factors=1000000000"], "give at most"),
        (["--model", "ocmf-sq-wsq", "--set", "graph=0.1"], "give --graph"),
        (["--model", "ocmf-sq-sq", "--set", "weight=0.1"], "no such setting"),
        (["--model", "ocmf-sq-sq", "--users", "nowhere.csv"], "nowhere.csv: No such file"),
        (["--model", "ocmf-sq-wsq", "--set", "features=some"], "one of cold, beside, made"),
        (["--model", "ocmf-sq-wsq", "--set", "features=made"], "give --users"),
        (["--model", "ocmf-sq-wsq", "--set", "solver=adam"], "one of newton, gradient"),
        (["--k", "0"], "--k must be"),
        (["--k", "²"], "--k must be"),
        (["--set", "reg=1", "--set", "reg=2"], "--set reg is given twice"),
        (["--seed", "-1"], "greater than or equal to 0"),
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


# --- the models that know more than pairs ---------------------------------------------------------


def chains(path, n_users, *, held):
    """Write walks along a circle of 30 items, one a second; the last is ``held`` or left out."""
    with path.open("w") as file:
        file.write("user,item,timestamp\n")
        for user in range(n_users):
            rng = np.random.default_rng(user)
            start, stride = int(rng.integers(30)), 7
            steps = range(12, 13) if held else range(12)
            file.writelines(f"u{user},i{(start + stride * t) % 30},{1000 + t}\n" for t in steps)
    return path


@pytest.fixture(scope="module")
def walks(tmp_path_factory):
    folder = tmp_path_factory.mktemp("walks")
    return chains(folder / "a.csv", 60, held=False), chains(folder / "b.csv", 60, held=True)


@pytest.mark.parametrize("model", ["svdfeature", "pitf", "cp"])
def test_a_model_of_contexts_knows_what_follows_the_item_before(walks, model):
    settings = ["--set", "alpha0=5", "--set", "reg=0.01", "--set", "epochs=120"]
    found = report(*walks, "--model", model, "--budget-s", "0", *settings, "--k", "1")
    assert found["recall@1"] > 0.5
    assert found["epochs"] == 120
    popular = report(*walks, "--model", "popular", "--k", "1")
    assert found["recall@1"] > 3.0 * popular["recall@1"]


def test_settings_of_a_descent_are_found(walks):
    found = report(*walks, "--model", "svdfeature", "--budget-s", "2")
    assert found["parameters"]["optimiser"] == "adagrad"
    assert found["search_seconds"] > 0.0
    assert found.keys() == KEYS


def test_the_plain_optimiser_of_the_paper_can_be_asked_for(files):
    settings = ["--set", "optimiser=plain", "--set", "learning_rate=0.002", "--set", "epochs=30"]
    found = report(*files[:2], "--model", "mf", "--budget-s", "0", *settings)
    assert found["parameters"]["optimiser"] == "plain"
    assert found["ndcg@10"] > 0.0


def test_gradient_descent_can_be_asked_for_and_ranks_as_newton_does(files):
    settings = ["--model", "ocmf-lr-wsq", "--budget-s", "0", "--set", "factors=8"]
    newton = report(*files[:2], *settings)
    descent = report(*files[:2], *settings, "--set", "solver=gradient")
    solvers = [found["parameters"]["solver"] for found in (newton, descent)]
    assert solvers == ["newton", "gradient"]
    assert descent["ndcg@10"] == pytest.approx(newton["ndcg@10"], rel=0.05)


@pytest.mark.parametrize("model", ["pitf", "cp"])
def test_without_times_there_is_no_item_before(files, model):
    result = run(*files[:2], "--model", model, "--budget-s", "0")
    assert result.exit_code == 2
    assert "give the pairs times" in result.output


@pytest.fixture(scope="module")
def side(files, tmp_path_factory):
    """Files that tell the tribe of users and items, and join users of one tribe."""
    folder = tmp_path_factory.mktemp("side")
    (folder / "users.csv").write_text(
        "user,tribe,age\n" + "".join(f"u{u},t{u % 4},{u}\n" for u in range(120))
    )
    (folder / "items.csv").write_text(
        "item,kinds\n" + "".join(f"i{i},k{i % 4}|all\n" for i in range(60))
    )
    (folder / "links.csv").write_text(
        "user,friend\n" + "".join(f"u{u},u{u + 4}\n" for u in range(116))
    )
    return folder


@pytest.mark.parametrize(
    ("model", "options"),
    [
        ("ocmf-lr-wsq", ["--users"]),
        ("ocmf-sq-wsq", ["--graph"]),
        ("ocmf-sq-wsq", ["--users", "--graph"]),
        ("svdfeature", ["--items"]),
    ],
)
def test_side_information_is_used(files, side, model, options):
    paths = {"--users": "users.csv", "--items": "items.csv", "--graph": "links.csv"}
    named = [part for option in options for part in (option, side / paths[option])]
    found = report(*files[:2], "--model", model, "--budget-s", "2", *named)
    popular = report(*files[:2], "--model", "popular")
    assert found["ndcg@10"] > 1.3 * popular["ndcg@10"]
    assert ("graph" in found["parameters"]) == ("--graph" in options)


def test_the_report_says_how_much_of_a_feature_file_was_used(files, tmp_path):
    rows = gzip.decompress(files[0].read_bytes()).decode().split()[1:]
    known = {row.split(",")[0] for row in rows}
    users, links = tmp_path / "users.csv", tmp_path / "links.csv"
    named = sorted(known)[:40]
    users.write_text("user, tribe\nstranger, a\n" + "".join(f"{u}, t{u[-1]}\n" for u in named))
    links.write_text("user,friend\nu1,u2\nu1,stranger\n")
    options = ["--model", "ocmf-sq-wsq", "--budget-s", "0", "--users", users, "--graph", links]
    found = report(*files[:2], *options)
    told = {"users": {"described": 40, "of": len(known)}, "graph": {"links": 1}}
    assert found["side"] == told
    printed = run(*files[:2], *options).stdout
    assert f"--users: 40 of {len(known)} users have features" in printed
    assert "1 links join users" in printed


def test_the_report_says_how_features_and_links_are_used_and_what_each_way_scored(files, side):
    named = ["--users", side / "users.csv", "--graph", side / "links.csv"]
    found = report(*files[:2], "--model", "ocmf-sq-wsq", "--budget-s", "2", *named)
    assert found.keys() == KEYS | {"validation", "side"}
    ways = [(one["features"], one["graph"]) for one in found["validation"]]
    assert (found["parameters"]["features"], found["parameters"]["graph"]) in ways
    assert {use for use, _ in ways} == {"cold", "beside", "made"}
    assert all(0.0 < one["ndcg@20"] <= 1.0 for one in found["validation"])


@pytest.mark.parametrize("use", ["cold", "beside", "made"])
def test_the_use_of_features_can_be_stated(files, side, use):
    options = ["--users", side / "users.csv", "--set", f"features={use}", "--budget-s", "0"]
    found = report(*files[:2], "--model", "ocmf-sq-wsq", *options)
    assert found["parameters"]["features"] == use
    assert found.keys() == KEYS | {"side"}


@pytest.fixture
def newcomers(side, tmp_path):
    """Users without training pairs, each linked to a user of the tribe whose items they like."""
    cold = tmp_path / "cold.csv"
    cold.write_text("user,item\n" + "".join(f"n{u},i{u % 4}\n" for u in range(8)))
    users, links = tmp_path / "users.csv", tmp_path / "links.csv"
    known = (side / "users.csv").read_text()
    users.write_text(known + "".join(f"n{u},t{u % 4},1\n" for u in range(8)))
    known = (side / "links.csv").read_text()
    links.write_text(known + "".join(f"n{u},u{u + v}\n" for u in range(8) for v in (4, 40, 80)))
    return cold, ["--users", users], ["--graph", links]


@pytest.mark.parametrize("option", [1, 2], ids=["features", "links"])
def test_features_and_links_answer_users_without_pairs(files, newcomers, option):
    settings = ["--model", "ocmf-lr-wsq", *newcomers[option], "--budget-s", "0", "--k", "1"]
    found = report(files[0], newcomers[0], *settings)
    assert found["cold"]["n_users"] == found["n_users"] == 8
    assert found["cold"]["recall@1"] == found["recall@1"]
    assert found["recall@1"] >= 2.0 * found["cold"]["popular"]["recall@1"]


def test_users_without_features_and_pairs_get_popular_items_and_the_table_says_so(files, newcomers):
    found = report(files[0], newcomers[0], "--budget-s", "0", "--k", "1")
    popular = found["cold"].pop("popular")
    assert found["cold"] == {"n_users": 8, **popular}
    printed = run(files[0], newcomers[0], "--budget-s", "0", "--k", "1").stdout
    heads = ["fbgd", "popular", "fbgd, 8 cold", "popular, 8 cold"]
    assert heads_of(printed) == heads
    printed = run(files[0], newcomers[0], "--model", "popular").stdout
    assert heads_of(printed) == ["popular", "popular, 8 cold"]


def test_the_table_has_every_figure_of_the_model_beside_popularity(files):
    settings = ["--budget-s", "0", "--k", "1,5,10,20,50,100"]
    printed = run(*files[:2], *settings).stdout
    assert heads_of(printed) == ["fbgd", "popular"]
    found = report(*files[:2], *settings)
    for name, figure in found["popular"].items():
        row = next(line for line in printed.splitlines() if f" {name} " in line)
        assert [word for word in row.split() if word[0].isdigit()] == [
            f"{found[name]:.4f}",
            f"{figure:.4f}",
        ]


@pytest.mark.parametrize(
    ("text", "options", "says"),
    [
        ("item,kind\ni1,a\n", ["--model", "fbgd", "--items"], "fbgd cannot use --items"),
        ("user,tribe\nu1\n", ["--model", "ocmf-sq-sq", "--users"], "line 2: not 2 columns"),
        (
            "user,tribe\nx,a\n",
            ["--model", "ocmf-sq-sq", "--users"],
            "no row has the id of a known",
        ),
        ("who,tribe\nu1,a\n", ["--model", "ocmf-sq-sq", "--users"], "must name user"),
        ("user;tribe\nu1;a\n", ["--model", "ocmf-sq-sq", "--users"], "separated by ';'"),
        ("user,friend\nx,y\n", ["--model", "ocmf-sq-sq", "--graph"], "check the ids"),
        (
            "weight,user,friend\n2,u1,u2\n",
            ["--model", "ocmf-sq-sq", "--graph"],
            "weight,user,friend: a link has the column user and one more",
        ),
    ],
)
def test_a_file_of_no_use_is_refused(files, tmp_path, text, options, says):
    path = tmp_path / "side.csv"
    path.write_text(text)
    result = run(*files[:2], *options, path)
    assert result.exit_code == 2
    assert says in " ".join(result.output.split())


def test_a_mixture_of_families_reports_the_same_and_its_weights(files):
    train, test, _ = files
    found = report(train, test, "--model", "mixture", "--budget-s", "2")
    assert found.keys() == KEYS | {"weights"}
    assert found["ndcg@10"] > 1.3 * found["popular"]["ndcg@10"]
    assert found["weights"]
    printed = run(train, test, "--model", "mixture", "--budget-s", "0").stdout
    assert "mixture" in printed


def test_what_is_said_of_items_takes_part_in_a_mixture(files, side):
    options = ("--model", "mixture", "--budget-s", 0, "--items", side / "items.csv")
    found = report(*files[:2], *options)
    assert any(name.startswith("content") for name in found["weights"])
    assert found["side"] == {"items": {"described": 60, "of": 60}}
    assert found["ndcg@10"] > 1.3 * found["popular"]["ndcg@10"]


@pytest.mark.parametrize(
    ("more", "words"),
    [(("--set", "factors=8"), "name it with --model"), (("--users", "u.csv"), "name a --model")],
)
def test_a_mixture_refuses_what_is_meant_for_one_model(files, tmp_path, more, words):
    train, test, _ = files
    users = tmp_path / "u.csv"
    users.write_text("user,kind\nu0,a\nu1,b\n")
    more = [str(users) if part == "u.csv" else part for part in more]
    result = run(train, test, "--model", "mixture", *more)
    assert result.exit_code == 2
    assert words in " ".join(result.output.split())
