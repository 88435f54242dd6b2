"""A whole service for tests: on a port that the system chose, in a directory of its own."""

import json
import os
import subprocess
from pathlib import Path
from typing import Any

from service.ending import command_line
from service.processes.child import ServiceProcess
from service.processes.commands import COMMAND
from service.settings import Settings


def service(directory: Path, **settings: Any) -> ServiceProcess:
    """Return a service that starts when it is entered; ``settings`` are Settings' fields.

    Its trainer takes its share of the processors as all do: what other tests leave may be nothing.
    It starts nothing by itself, unless a test says so.
    """
    usual = {
        "port": 0,
        "data_dir": directory / "data",
        "trainer_nice": 0,
        "retrain_after_events": 0,
    }
    return ServiceProcess(Settings(**usual | settings))


def started(running: ServiceProcess) -> dict[str, list[int]]:
    """Return the process ids under which each child was started so far, the newest last."""
    pids: dict[str, list[int]] = {}
    for event in logged(running):
        if event["event"] == "child_started":
            pids.setdefault(event["child"], []).append(event["pid"])
    return pids


def activations(running: ServiceProcess) -> int:
    """Return how often an api process has logged that it serves a new model."""
    return sum(
        event["event"] == "model_activated" and event["role"].startswith("api")
        for event in logged(running)
    )


def logged(running: ServiceProcess) -> list[dict[str, Any]]:
    """Return the log so far; a line that is still being written is left out."""
    lines = running.log.read_text().splitlines()
    return [json.loads(line) for line in lines if line.startswith("{") and line.endswith("}")]


def store_pid(running: ServiceProcess) -> int:
    """Return the process id of the private server."""
    record = running.log.parent / "server.json"
    return int(json.loads(record.read_text())["pid"])


def is_gone(pid: int) -> bool:
    """Return whether no process has this id; a zombie counts as gone."""
    return command_line(pid) == ""


def hedgerow(*arguments: str, given: str | None = None, **environment: str) -> Any:
    """Run the command line; returns the finished process."""
    return subprocess.run(
        [*COMMAND, *arguments],
        input=given,
        capture_output=True,
        text=True,
        check=False,
        timeout=180,
        env=os.environ | environment,
    )
