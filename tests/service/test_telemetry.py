import ast
import io
import json
import logging
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import structlog

from service.telemetry import EVENTS, Outage, logger, set_up_logs


@pytest.fixture(autouse=True)
def restored_logging() -> Iterator[None]:
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    yield
    root.handlers[:] = handlers
    root.setLevel(level)
    structlog.reset_defaults()


def lines(stream: io.StringIO) -> list[dict[str, Any]]:
    return [json.loads(line) for line in stream.getvalue().splitlines()]


def test_an_event_is_one_line_of_json_with_role_and_time() -> None:
    stream = io.StringIO()
    set_up_logs("learner-0", "info", stream)
    logger().info("learner_started", partition=0)
    (line,) = lines(stream)
    assert line.pop("time").endswith("Z")
    assert line == {
        "event": "learner_started",
        "partition": 0,
        "level": "info",
        "role": "learner-0",
    }


def test_a_verb_that_is_no_role_prints_no_log_among_its_output() -> None:
    code = "from service.telemetry import logger; logger().info('store_loading'); print('{}')"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "{}\n"
    assert "store_loading" in done.stderr


def test_messages_below_the_level_are_left_out() -> None:
    stream = io.StringIO()
    set_up_logs("api", "warning", stream)
    logger().info("learner_started")
    assert stream.getvalue() == ""


def test_a_bound_request_id_is_part_of_every_line() -> None:
    stream = io.StringIO()
    set_up_logs("api", "info", stream)
    with structlog.contextvars.bound_contextvars(request_id="r1"):
        logger().error("request_failed")
    assert lines(stream)[0]["request_id"] == "r1"


def test_a_message_of_a_library_comes_in_the_same_form() -> None:
    stream = io.StringIO()
    set_up_logs("api", "info", stream)
    logging.getLogger("uvicorn.error").warning("it %s", "rains")
    (line,) = lines(stream)
    assert (line["event"], line["message"], line["role"]) == ("library_message", "it rains", "api")


def test_a_traceback_is_data() -> None:
    stream = io.StringIO()
    set_up_logs("api", "info", stream)
    try:
        raise ValueError("oh")
    except ValueError:
        logger().exception("request_failed")
    (line,) = lines(stream)
    assert line["exception"][0]["exc_type"] == "ValueError"


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize("stream", [io.StringIO(), Terminal()], ids=["file", "terminal"])
def test_a_traceback_shows_no_values(stream: io.StringIO) -> None:
    set_up_logs("api", "info", stream)
    secret = "hr_" * 3
    try:
        raise ValueError("oh")
    except ValueError:
        logger().exception("request_failed")
        logging.getLogger("uvicorn.error").exception("it rains")
    assert "ValueError" in stream.getvalue()
    assert secret not in stream.getvalue()


def test_an_outage_is_logged_when_it_begins_every_minute_and_when_it_ends() -> None:
    clock, stream = [100.0], io.StringIO()
    set_up_logs("learner", "info", stream)
    outage = Outage(lambda: clock[0])
    outage.over()
    for _ in range(4 * 61):
        outage.lasts("away")
        clock[0] += 0.25
    outage.over()
    outage.over()
    outage.lasts("away again")
    told = lines(stream)
    assert [(line["event"], line.get("for_s", line.get("after_s"))) for line in told] == [
        ("store_unavailable", 0),
        ("store_unavailable", 60),
        ("store_answers", 61),
        ("store_unavailable", 0),
    ]


def test_every_name_that_is_logged_is_listed_and_every_listed_one_is_logged() -> None:
    logged = {name for path in Path("service").rglob("*.py") for name in logged_names(path)}
    assert logged == set(EVENTS) - {"library_message"}


def logged_names(path: Path) -> Iterator[str]:
    """First arguments of log.info("...") and the like, also of logger().info."""
    for node in ast.walk(ast.parse(path.read_text())):
        match node:
            case ast.Call(
                func=ast.Attribute(
                    attr="debug" | "info" | "warning" | "error" | "exception" | "critical"
                ),
                args=[ast.Constant(value=str(name)), *_],
            ):
                yield name
            case ast.Call(
                func=ast.Attribute(attr="log"), args=[_, ast.Constant(value=str(name)), *_]
            ):
                yield name
