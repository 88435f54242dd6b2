"""``hedgerow eval stream``: the contract of its output, figures of planted streams, refusals."""

import json

import numpy as np
import pytest
from typer.testing import CliRunner

from service.cli.eval.main import app
from tests.streams import OF_KINDS, RATED, rounds, write

KEYS = {"n_judged", "mixture", "families", "by_length", "new_users", "seconds"}
TOO_FEW = [("a", "x"), ("a", "y"), ("a", "w"), ("b", "z"), ("c", "y"), ("d", "x")]
"""The only event of the stream is the first one of its user."""
QUICK = ("--budget-s", 0, "--retrain-every", 0.1)


def run(*arguments):
    return CliRunner().invoke(app, ["stream", *map(str, arguments)])


def report(*arguments):
    result = run(*arguments, "--json")
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


@pytest.fixture(scope="module")
def ring(tmp_path_factory):
    """Return a file in which the order alone says what comes next."""
    return write(tmp_path_factory.mktemp("ring") / "ring.csv", rounds(400))


@pytest.fixture(scope="module")
def of_ring(ring):
    return report(ring, *QUICK)


def test_the_report_has_the_names_of_the_contract(of_ring):
    assert of_ring.keys() == KEYS
    names = {"fbgd", "sequence", "neighbours", "online", "popular", "trending", "next"}
    assert of_ring["families"].keys() == names
    assert all(one.keys() == {"ndcg@10", "mrr", "judged"} for one in of_ring["families"].values())
    assert of_ring["mixture"].keys() == {"ndcg@10", "mrr"}
    assert sum(one["judged"] for one in of_ring["by_length"]) == of_ring["n_judged"]
    assert {one["events"] for one in of_ring["new_users"]} == {1, 2, 5, 10}


def test_where_the_order_decides_its_families_win_and_the_mixture_follows_them(of_ring):
    gain = {name: one["ndcg@10"] for name, one in of_ring["families"].items()}
    best = max(gain, key=gain.get)
    assert best in {"next", "sequence"}
    assert gain["next"] > 3 * gain["popular"]
    assert of_ring["mixture"]["ndcg@10"] > 0.8 * gain[best]


def test_where_everybody_likes_the_same_popularity_wins(tmp_path):
    rng = np.random.default_rng(1)
    chance = 1.0 / np.arange(1, 41)
    rows = [
        (f"u{rng.integers(120)}", f"i{rng.choice(40, p=chance / chance.sum())}", 5)
        for _ in range(1_500)
    ]
    rows[0] = ("u0", "i0", 1)
    found = report(write(tmp_path / "alike.csv", rows), *QUICK)
    gain = {name: one["ndcg@10"] for name, one in found["families"].items()}
    assert gain["popular"] > 0.9 * max(gain.values())
    assert found["mixture"]["ndcg@10"] > 0.85 * max(gain.values())


def test_the_same_seed_gives_the_same_figures(ring, of_ring):
    again = report(ring, *QUICK)
    assert again | {"seconds": 0} == of_ring | {"seconds": 0}
    few = [report(ring, *QUICK, "--sample", 60, "--seed", seed) for seed in (1, 2)]
    assert [one["n_judged"] <= 60 for one in few] == [True, True]
    assert few[0]["mixture"] != few[1]["mixture"]


def test_views_count_as_positives_where_the_file_has_kinds(tmp_path):
    rows = [(user, item, "view") for user, item, _ in rounds(120)]
    found = report(write(tmp_path / "views.csv", rows, OF_KINDS), *QUICK, "--families", "sequence")
    assert found["n_judged"] > 100
    assert "online" not in found["families"], "nobody has rated anything"
    assert found["families"]["sequence"]["ndcg@10"] > found["families"]["popular"]["ndcg@10"]


def test_a_person_reads_tables(ring):
    printed = run(ring, *QUICK, "--sample", 50).stdout
    assert "events judged" in printed
    assert "new, 1 events" in printed


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--families", "fbdg"), "did you mean fbgd?"),
        (("--families", "exmlds"), "no family that learns from events alone"),
        (("--warm", "1"), "less than or equal to 0.99"),
        (("--scale", "five"), "--scale must be LOW:HIGH"),
        (("--scale", "1:4"), "a rating is 5"),
    ],
)
def test_a_wrong_option_is_refused(ring, arguments, words):
    result = run(ring, *arguments)
    assert result.exit_code == 2
    assert words in " ".join(result.output.replace("│", " ").split())
    assert "Traceback" not in result.output


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        ([(user, item, 1 + 4 * (item != "z")) for user, item in TOO_FEW], "could be judged"),
        ([("a", "x", 5), ("b", "y", 1)], "2 events are too few"),
        ([("a", "x", 5)], "--scale 1:5"),
        ([("a", "x", 1), ("b", "x", 2), ("a", "y", 2), ("b", "y", 5)], "somebody liked something"),
    ],
)
def test_a_stream_without_anything_to_judge_is_refused(tmp_path, rows, words):
    result = run(write(tmp_path / "few.csv", rows, RATED), "--json", "--budget-s", 0)
    assert result.exit_code == 2
    assert words in result.output
