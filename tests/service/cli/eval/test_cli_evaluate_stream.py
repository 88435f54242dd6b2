"""``hedgerow eval stream``: the contract of its output, figures of planted streams, refusals."""

import json
from xml.etree import ElementTree

import numpy as np
import pytest
from typer.testing import CliRunner

from service.cli.eval.main import app
from tests.streams import OF_KINDS, RATED, rounds, write

FIGURES = {"n_judged", "mixture", "arms", "families", "by_length", "new_users", "windows"}
TIMES = {"training_seconds", "seconds"}
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
    assert of_ring.keys() == FIGURES | TIMES
    names = {"fbgd", "sequence", "neighbours", "online", "popular", "trending", "next"}
    assert of_ring["families"].keys() == names
    assert all(one.keys() == {"ndcg@10", "mrr", "judged"} for one in of_ring["families"].values())
    assert of_ring["mixture"].keys() == {"ndcg@10", "mrr"}
    assert of_ring["arms"].keys() == {"stack", "fusion"}
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
    assert {name: again[name] for name in FIGURES} == {name: of_ring[name] for name in FIGURES}
    few = [report(ring, *QUICK, "--sample", 60, "--seed", seed) for seed in (1, 2)]
    assert [one["n_judged"] <= 60 for one in few] == [True, True]
    assert few[0]["mixture"] != few[1]["mixture"]


def test_views_count_as_positives_where_the_file_has_kinds(tmp_path):
    rows = [(user, item, "view") for user, item, _ in rounds(120)]
    found = report(write(tmp_path / "views.csv", rows, OF_KINDS), *QUICK, "--families", "sequence")
    assert found["n_judged"] > 100
    assert "online" not in found["families"], "nobody has rated anything"
    assert found["families"]["sequence"]["ndcg@10"] > found["families"]["popular"]["ndcg@10"]


def test_windows_lie_between_trainings_and_cover_the_sample(of_ring):
    n = 400 * 12
    windows = of_ring["windows"]
    assert [(one["from"], one["to"]) for one in windows] == [
        (n * 8 // 10 + 1, n * 9 // 10),
        (n * 9 // 10 + 1, n),
    ]
    assert sum(one["judged"] for one in windows) == of_ring["n_judged"]
    assert len(of_ring["training_seconds"]) == 2


def test_a_lead_lies_in_its_interval_and_is_that_over_the_best_family(of_ring):
    for one in [*of_ring["by_length"], *of_ring["windows"], *of_ring["new_users"]]:
        best = one["best_family"]
        assert best["ndcg@10"] == max(one["families"].values()) == one["families"][best["name"]]
        assert one["lead"]["mean"] == pytest.approx(one["mixture"] - best["ndcg@10"])
        assert one["lead"]["low"] <= one["lead"]["mean"] <= one["lead"]["high"]


def test_a_drawing_has_a_line_for_the_mixture_and_each_family(ring, of_ring, tmp_path):
    plot = tmp_path / "ring.svg"
    report(ring, *QUICK, "--plot", plot)
    drawing = ElementTree.parse(plot).getroot()  # noqa: S314 - our own file
    svg = "{http://www.w3.org/2000/svg}"
    lines = drawing.findall(f"{svg}polyline")
    assert len(lines) == 2 * (1 + len(of_ring["families"]))
    texts = {text.text for text in drawing.findall(f"{svg}text")}
    assert {"mixture", *of_ring["families"]} <= texts
    heights = [float(at.split(",")[1]) for line in lines for at in line.get("points").split()]
    assert min(heights) == pytest.approx(40.0)
    assert max(heights) <= 340.0


def test_a_person_reads_tables(ring):
    printed = run(ring, *QUICK, "--sample", 50).stdout
    assert "events judged" in printed
    assert "new, after 1" in printed


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--families", "fbdg"), "did you mean fbgd?"),
        (("--families", "exmlds"), "no family that learns from events alone"),
        (("--warm", "1"), "less than or equal to 0.99"),
        (("--plot", "nowhere/x.svg"), "there is no folder nowhere"),
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
