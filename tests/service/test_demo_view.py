import io
from itertools import islice
from pathlib import Path

from rich.console import Console

from service.cli.running.demo import _say_where_to_look, _settings
from service.demo.stream import trained
from service.demo.view import Expert, Progress, Sample, plain_line, screen, sparkline
from service.demo.worlds import file_world, sample_world
from service.settings_loading import load_settings


def shown(progress: Progress) -> str:
    console = Console(file=io.StringIO(), width=100)
    console.print(screen(progress))
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def test_the_view_can_be_rendered_before_the_first_figures() -> None:
    assert "0 ratings" in shown(Progress("http://x"))
    assert plain_line(Progress("http://x")).startswith("0 ratings")


def test_the_view_shows_the_error_the_parts_and_the_predictions() -> None:
    progress = Progress("http://x")
    for n in range(1000):
        progress.add_error(1.0 if n < 500 else 0.5)
    progress.experts = [Expert("biased", 0.9, 0.1), Expert("plain", -0.1, 0.2)]
    progress.samples = [Sample("ann", "i1", "The [Silent] Hedge")]
    progress.samples[0].update(3.0, 2.0, 4.0)
    progress.samples[0].update(3.5, 2.5, 4.5)
    text = shown(progress)
    for expected in (
        "0.50, first: 1.00",
        "+0.90",
        "-0.10",
        "The [Silent] Hedge",
        "3.50 ↗",
    ):
        assert expected in text
    assert plain_line(progress).startswith("1,000 ratings · error 1.00 → 0.50 · ")


def test_the_curve_keeps_the_whole_history_in_bounded_memory() -> None:
    progress = Progress("http://x")
    for n in range(50_000):
        progress.add_error(float(n < 25_000))
    assert len(progress.curve) < 120
    assert progress.curve[0] == 1.0
    assert progress.curve[-1] == 0.0


def test_a_flat_curve_is_drawn_flat() -> None:
    assert sparkline([2.0, 2.0]) == "▁▁"
    assert sparkline([]) == ""


def test_a_prediction_that_does_not_move_has_no_arrow() -> None:
    sample = Sample("ann", "i", "t")
    sample.update(3.0, 2.0, 4.0)
    sample.update(3.001, 2.0, 4.0)
    assert sample.arrow == " "


def test_a_file_becomes_a_world_on_its_own_scale(tmp_path: Path) -> None:
    file = tmp_path / "ratings.csv"
    file.write_text("user,item,rating\na b,x,-3\n\nb,y,8\n")
    world = file_world(file)
    assert (world.scale, world.total) == ("-3:8", 2)
    console = Console(file=io.StringIO(), width=80)
    _say_where_to_look(console, "http://x", world, 50.0)
    assert isinstance(console.file, io.StringIO)
    said = console.file.getvalue()
    assert "/v1/users/a%20b/predictions/x\n" in said
    assert "--rate" in said
    progress = Progress("http://x", world.total)
    assert plain_line(progress).startswith("0 of 2 ratings")
    assert "0 of 2 ratings" in shown(progress)
    assert list(world.ratings) == [
        {"user": "a b", "item": "x", "rating": -3.0},
        {"user": "b", "item": "y", "rating": 8.0},
    ]


def test_the_sample_world_has_a_title_for_every_item_it_rates() -> None:
    world = sample_world(0)
    ratings = [next(world.ratings) for _ in range(100)]
    assert all(rating["item"] in world.titles for rating in ratings)


def test_there_is_always_something_to_recommend_in_the_sample_world() -> None:
    world = sample_world(0)
    rated: dict[object, set[object]] = {}
    for row in islice(world.ratings, 30_000):
        rated.setdefault(row["user"], set()).add(row["item"])
    assert len(world.titles) - max(map(len, rated.values())) >= 50


def test_trainings_of_the_demo_get_a_share_of_a_busy_machine(tmp_path: Path) -> None:
    settings = _settings(sample_world(0), 0, tmp_path)
    assert settings.trainer_nice < load_settings().trainer_nice
    assert settings.retrain_after_events == 0


def test_a_training_that_failed_says_why() -> None:
    job = {"status": "failed", "error": "the disk is full: make room", "decision": {}}
    said = trained(job, 800)
    assert said == "training failed (the disk is full: make room), next at 800"
    progress = Progress("http://x", training=said)
    assert said in plain_line(progress)
    assert "the disk is full" in shown(progress)
    done = {"status": "succeeded", "error": None, "decision": {"outcome": "not_judged"}}
    assert trained(done, 800) == "training not judged, next at 800"


def test_a_line_stays_within_the_width() -> None:
    progress = Progress("http://x", training="training failed (" + "why " * 40 + ")")
    lines = plain_line(progress, 60).splitlines()
    assert len(lines) > 2
    assert max(map(len, lines)) <= 60
    assert all(line.startswith("  ") for line in lines[1:])


def test_an_ordinary_line_is_one_line_of_a_terminal() -> None:
    progress = Progress("http://x", 100_000)
    for _ in range(7_400):
        progress.add_error(0.5)
    progress.training = trained(
        {"status": "succeeded", "error": None, "decision": {"outcome": "promoted"}, "version": "a"},
        8630,
    )
    assert len(plain_line(progress, 80).splitlines()) == 1
