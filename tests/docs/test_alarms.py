"""The rules and the dashboard for Prometheus name metrics that exist, and every alarm can ring."""

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from service.metrics.catalogue import BY_NAME
from tests.docs.pages import DOCS, ROOT

FOLDER = ROOT / "deploy/observability"
RULES, TESTS = FOLDER / "alerts.yml", FOLDER / "alerts_test.yml"
ALARMS = re.findall(r"^ +- alert: (\w+)$", RULES.read_text(), re.MULTILINE)
needs_promtool = pytest.mark.skipif(
    shutil.which("promtool") is None, reason="promtool is missing: install Debian's prometheus"
)


def promtool(*words: str, at: Path = FOLDER) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["promtool", *words], cwd=at, capture_output=True, text=True, timeout=180, check=False
    )


@pytest.mark.parametrize("file", [RULES, TESTS, FOLDER / "grafana/hedgerow.json"], ids=str)
def test_every_metric_that_a_file_names_exists(file: Path) -> None:
    named = set(re.findall(r"\bhedgerow_[a-z0-9_]+", file.read_text()))
    assert len(named) > 5
    assert {re.sub(r"_(bucket|sum|count)$", "", name) for name in named} <= set(BY_NAME)


def test_the_dashboard_has_panels_with_queries() -> None:
    panels = json.loads((FOLDER / "grafana/hedgerow.json").read_text())["panels"]
    assert len(panels) > 10
    assert all(target["expr"] for panel in panels for target in panel["targets"])
    assert len({panel["id"] for panel in panels}) == len(panels)


def test_the_dashboard_reads_from_the_data_source_that_is_chosen() -> None:
    text = (FOLDER / "grafana/hedgerow.json").read_text()
    assert set(re.findall(r'"uid": "(.+)"', text)) == {"hedgerow", "${datasource}"}
    [chosen] = json.loads(text)["templating"]["list"]
    assert (chosen["name"], chosen["type"]) == ("datasource", "datasource")


def test_every_alarm_is_explained_and_tested_both_ways() -> None:
    page, tests = (DOCS / "how-to/monitor.md").read_text(), TESTS.read_text()
    assert len(ALARMS) == len(set(ALARMS)) > 10
    assert [name for name in ALARMS if f"`{name}`" not in page] == []
    assert [name for name in ALARMS if f"alertname: {name}}}" not in tests] == []
    assert [name for name in ALARMS if f'alertname="{name}"' not in tests] == []


@needs_promtool
def test_promtool_accepts_the_rules_and_each_rings_for_its_cause() -> None:
    checked = promtool("check", "rules", RULES.name)
    assert checked.returncode == 0, checked.stdout + checked.stderr
    tested = promtool("test", "rules", TESTS.name)
    assert tested.returncode == 0, tested.stdout + tested.stderr


@needs_promtool
@pytest.mark.parametrize("alarm", ALARMS)
def test_an_alarm_that_never_rings_is_found(alarm: str, tmp_path: Path) -> None:
    dead = re.sub(
        rf"(- alert: {alarm}\n +expr: )(\|\n(?: {{10,}}.*\n)+|.*\n)",
        r"\g<1>vector(0) > 1\n",
        RULES.read_text(),
    )
    assert dead != RULES.read_text()
    (tmp_path / RULES.name).write_text(dead)
    (tmp_path / TESTS.name).write_text(TESTS.read_text())
    tested = promtool("test", "rules", TESTS.name, at=tmp_path)
    assert tested.returncode == 1
    assert alarm in tested.stdout + tested.stderr
