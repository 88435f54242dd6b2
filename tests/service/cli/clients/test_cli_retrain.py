"""`hedgerow retrain` against a whole service with its trainer."""

import json
import re
from collections.abc import Iterator

import pytest

from service.cli.clients.retrain import RECIPES, left_out, settings
from service.cli.clients.watching import LogPace
from service.client import ndjson, outcome
from service.errors import Misconfigured
from service.processes.child import ServiceProcess
from service.training.orders import TRAINED
from tests.service.running import hedgerow, service

pytestmark = pytest.mark.flow


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServiceProcess]:
    rows = [
        {"user": f"u{u}", "item": f"i{(u % 3) + 3 * n}", "rating": 5}
        for u in range(30)
        for n in range(6)
    ]
    with service(tmp_path_factory.mktemp("retrain")) as whole:
        with whole.client() as client:
            client.wait_until_ready()
            client.wait_until_learned(client.upload("/v1/ratings/stream", ndjson(rows)).sequence)
        yield whole


def test_a_training_is_ordered_watched_and_serves(running: ServiceProcess) -> None:
    done = hedgerow(
        "retrain", "--set", "factors=4", "--budget-s", "0", "--wait", "--json", "--url", running.url
    )
    assert done.returncode == 0, done.stderr
    job = json.loads(done.stdout)
    assert (job["status"], job["parameters"]) == ("succeeded", {"factors": 4})
    with running.client() as client:
        models = client.get("/v1/models")
    assert job["version"] in json.dumps(models)


def test_the_outcome_is_printed_in_words(running: ServiceProcess) -> None:
    order = ("--set", "factors=5", "--budget-s", "0", "--promote-unjudged")
    done = hedgerow("retrain", *order, "--wait", "--url", running.url)
    assert done.returncode == 0, done.stderr
    # another test may have trained a better model before
    assert re.search(r": (promoted|refused), ", done.stderr)
    assert "only 30 users can judge, fewer than 200" in done.stderr
    assert "180 pairs of 30 users and 18 items" in done.stderr
    assert re.search(r"^job \w+: \w+, \d+%$", done.stderr, re.MULTILINE)
    assert done.stdout == ""


def test_without_a_recipe_each_one_has_its_outcome(running: ServiceProcess) -> None:
    order = ("retrain", "--budget-s", "0", "--promote-unjudged", "--wait", "--url", running.url)
    done = hedgerow(*order)
    assert done.returncode == 0, done.stderr
    # which of them are trained depends on what other tests have trained before
    assert all(re.search(rf"\b{name}\b", done.stderr) for name in TRAINED)
    job = json.loads(hedgerow(*order, "--json").stdout)
    assert (job["model"], job["status"]) == (None, "succeeded")
    assert {one["model"] for one in job["tried"]} == set(TRAINED)


def test_the_help_names_every_recipe() -> None:
    named = re.findall(r"[\w-]+", RECIPES.replace(" or ", " "))
    assert named == [*TRAINED]


def test_the_very_same_model_is_no_promotion() -> None:
    decision = {"outcome": "promoted", "rival": "4f2a"}
    job = {"status": "succeeded", "version": "4f2a", "decision": decision}
    assert outcome(job) == "unchanged"
    assert outcome(job | {"version": "51c0"}) == "promoted"
    first = {"outcome": "promoted", "rival": None}
    assert outcome(job | {"decision": first}) == "promoted"


def test_a_graph_without_links_is_reported(running: ServiceProcess) -> None:
    order = ("--model", "ocmf-sq-wsq", "--set", "graph=0.1", "--budget-s", "0")
    done = hedgerow("retrain", *order, "--wait", "--url", running.url)
    assert done.returncode == 0, done.stderr
    assert "no links: `graph` had no effect" in done.stderr


def test_a_wrong_model_or_setting_is_one_line(running: ServiceProcess) -> None:
    done = hedgerow("retrain", "--model", "magic", "--url", running.url)
    assert done.returncode == 2
    assert "there is no model 'magic' to train; there are: fbgd" in done.stderr


def test_a_stage_is_printed_at_once_and_only_once_without_progress() -> None:
    pace = LogPace()
    assert pace.is_due("searching", "10%")
    assert not pace.is_due("searching", "10%")
    assert pace.is_due("fitting", "10%")


def test_settings_are_names_and_numbers() -> None:
    assert settings(["factors=16", "reg=0.5"]) == {"factors": 16, "reg": 0.5}
    for wrong in ("factors", "factors=", "factors=many"):
        with pytest.raises(Misconfigured, match="NAME=NUMBER"):
            settings([wrong])


def test_features_without_columns_are_reported() -> None:
    features = {
        "users": {"columns": 9, "left_out": {"names": 0, "values": 1200}},
        "items": {"columns": 9, "left_out": {"names": 0, "values": 0}},
    }
    [line] = left_out(features)
    assert line.startswith("features of users: ")
    assert "1,200 more values" in line
