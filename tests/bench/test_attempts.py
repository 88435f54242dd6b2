"""Tests of the table of attempted fits that a long run keeps."""

from dataclasses import replace

from bench.attempts import METRICS, Attempt, Attempts, best, parsed, text

SCORES = dict.fromkeys(METRICS, 0.25)
ONE = Attempt("ML", 0, "ALS", {"factors": 64.0, "alpha": 2.5}, SCORES, 1.5)


def test_a_stopped_run_continues_with_its_table(tmp_path):
    path = tmp_path / "made" / "table.csv"
    other = replace(ONE, split=1, settings={"factors": 64.0, "alpha": 0.1})
    Attempts(path).add([ONE])
    Attempts(path).add([other])
    again = Attempts(path)
    assert again.find("ML", 0, "ALS") == [ONE]
    assert again.find("ML", 1, "ALS", other.settings) == [other]
    assert again.find("ML", 1, "ALS", {"factors": 64.0, "alpha": 0.2}) == []
    assert path.read_text().count("\n") == 3


def test_the_best_is_the_one_with_the_highest_score():
    better = replace(ONE, scores={**SCORES, "ndcg@10": 0.3})
    assert best([ONE, better, ONE], "ndcg@10") is better


def test_settings_are_one_word():
    settings = {"learning_rate": 0.03, "iterations": 300.0}
    assert text(settings) == "learning_rate=0.03;iterations=300"
    assert parsed(text(settings)) == settings
    assert parsed("") == {}
