"""Parquet files: what is exported is what is imported, and bad rows are named."""

import json
import subprocess
from collections.abc import Iterator
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from service.files.documents import read_documents
from service.files.feedback import read_parts
from service.files.opening import BadFile
from service.processes.child import ServiceProcess
from service.processes.commands import COMMAND
from tests.service.running import hedgerow, service

MOMENT = datetime(2026, 11, 1, 12, 30, tzinfo=UTC)


def written(path: Path, columns: dict[str, Any]) -> Path:
    pq.write_table(pa.table(columns), path)
    return path


def lines_of(path: Path, named: str) -> list[Any]:
    [part] = read_documents(path, named)
    return [json.loads(line) for line in part.lines.splitlines()]


def test_rows_are_events_whatever_the_types_of_the_columns(tmp_path: Path) -> None:
    columns = {
        "user": pa.array([1, 2, 3, 4, 5, None]),
        "item": pa.array(["a", "a", "b", "b", "c", "c"]).dictionary_encode(),
        "rating": pa.array([4.0, None, float("nan"), 2.5, None, 1.0]),
        "kind": [None, "view", "click", None, "like", None],
        "timestamp": pa.array([MOMENT, None, MOMENT, MOMENT, MOMENT, MOMENT], pa.timestamp("ns")),
        "context": pa.array([{"page": "x"}, *[None] * 5], pa.struct([("page", pa.string())])),
        "price": [1] * 6,
    }
    first, second = read_parts(written(tmp_path / "events.parquet", columns), 4)
    events = [json.loads(line) for line in (first.lines + second.lines).splitlines()]
    at = "2026-11-01T12:30:00+00:00"
    assert events == [
        {"user": "1", "item": "a", "rating": 4.0, "timestamp": at, "context": {"page": "x"}},
        {"user": "2", "item": "a", "kind": "view"},
        {"user": "3", "item": "b", "kind": "click", "timestamp": at},
        {"user": "4", "item": "b", "rating": 2.5, "timestamp": at},
        {"user": "5", "item": "c", "kind": "like", "timestamp": at},
    ]
    assert (first.numbers, second.numbers, second.read) == ([1, 2, 3, 4], [5], 1.0)
    [(number, why)] = second.faults
    assert (number, "user" in why) == (6, True)
    assert first.ignored == ("price",)


def test_columns_of_documents_are_what_they_mean(tmp_path: Path) -> None:
    columns = {
        "item": [7.0, 8.0],
        "categories": ["crime|thriller", None],
        "hidden": [True, None],
        "available_from": pa.array([MOMENT, None], pa.timestamp("ms", "UTC")),
        "extra": ['{"image": "x"}', None],
        "features": pa.array([{"year": 1995.0}, None], pa.struct([("year", pa.float64())])),
        "tags": [["a", "b"], None],
        "price": pa.array([Decimal("9.50"), None], pa.decimal128(5, 2)),
        "made": [date(1995, 12, 15), None],
    }
    first, second = lines_of(written(tmp_path / "items.parquet", columns), "item")
    assert first == {
        "item": "7",
        "categories": ["crime", "thriller"],
        "hidden": True,
        "available_from": "2026-11-01T12:30:00+00:00",
        "extra": {"image": "x"},
        "features": {"year": 1995, "tags": ["a", "b"], "price": 9.5, "made": "1995-12-15"},
    }
    assert second == {"item": "8", "features": {}}


def test_texts_that_are_not_marked_as_such_are_texts(tmp_path: Path) -> None:
    columns = {
        "user": [b"ada", b"\xff", b"bob"],
        "item": [b"caf\xc3\xa9", b"heat", b"heat"],
        "kind": pa.array([b"view"] * 3, pa.binary(4)),
        "image": [b"\xff"] * 3,
    }
    [part] = read_parts(written(tmp_path / "events.parquet", columns))
    assert [json.loads(line) for line in part.lines.splitlines()] == [
        {"user": "ada", "item": "café", "kind": "view"},
        {"user": "bob", "item": "heat", "kind": "view"},
    ]
    assert part.faults == [
        (2, "user is not text in UTF-8: convert the column, or leave it out"),
    ]
    path = tmp_path / "items.parquet"
    columns = {"item": [b"up", b"heat"], "tags": [[b"a"], None], "image": [None, b"\xff"]}
    with pytest.raises(BadFile, match="line 2: image is not text in UTF-8"):
        list(read_documents(written(path, columns), "item"))
    del columns["image"]
    first, second = lines_of(written(path, columns), "item")
    assert first == {"item": "up", "features": {"tags": ["a"]}}
    assert second == {"item": "heat", "features": {}}


def test_ids_that_are_whole_numbers_are_texts_without_a_fraction(tmp_path: Path) -> None:
    large = 12345678901234567
    columns = {
        "user": pa.array([1.0, 2.0, None, 2.5]),
        "item": pa.array([Decimal(large)] * 4, pa.decimal128(20, 0)),
        "kind": ["view"] * 4,
    }
    [part] = read_parts(written(tmp_path / "events.parquet", columns))
    assert [json.loads(line) for line in part.lines.splitlines()] == [
        {"user": user, "item": str(large), "kind": "view"} for user in ("1", "2")
    ]
    assert [number for number, _ in part.faults] == [3, 4]
    columns = {"item": columns["item"][:1], "year": pa.array([Decimal(large)])}
    [item] = lines_of(written(tmp_path / "items.parquet", columns), "item")
    assert item == {"item": str(large), "features": {"year": large}}


def test_what_is_no_file_of_events_or_documents_says_why(tmp_path: Path) -> None:
    path = tmp_path / "x.parquet"
    with pytest.raises(BadFile, match="needs the columns user, item and rating or kind; these are"):
        list(read_parts(written(path, {"user": ["a"], "rating": [1]})))
    for columns, says in (
        ({"user": ["a"]}, "need the column item; these are user"),
        ({"user": ["a"], "item": ["b"]}, "holds feedback, not documents"),
        ({"item": ["a", "b", "a"]}, "line 3: item 'a' is in line 1 already"),
        ({"item": ["a", None]}, "line 2: the item is empty"),
    ):
        with pytest.raises(BadFile, match=says):
            list(read_documents(written(path, columns), "item"))
    pq.write_table(pa.Table.from_arrays([pa.array([1])] * 2, ["item", "item"]), path)
    with pytest.raises(BadFile, match="column item: there are two columns of this name"):
        list(read_documents(path, "item"))


def test_no_damage_of_a_file_is_an_error_of_another_kind(tmp_path: Path) -> None:
    path = tmp_path / "x.parquet"
    whole = written(path, {"user": ["ada"] * 50, "item": ["heat"] * 50, "rating": [3.0] * 50})
    content = whole.read_bytes()
    damaged = [content[:n] for n in range(4, len(content), 97)]
    damaged += [content[:at] + b"\xff" * 8 + content[at + 8 :] for at in range(4, 300, 31)]
    said = []
    for one in damaged:
        path.write_bytes(one)
        try:
            list(read_parts(path))
        except BadFile as error:
            said.append(str(error))
    assert len(said) >= len(range(4, len(content), 97))
    assert all("give a readable Parquet file" in one or "write the file" in one for one in said)


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServiceProcess]:
    directory = tmp_path_factory.mktemp("parquet")
    with service(directory, wait_timeout_ms=60_000, trainer=False) as whole:
        with whole.client() as client:
            client.wait_until_ready()
        yield whole


def test_an_export_is_the_same_as_that_of_lines_and_may_be_imported(
    running: ServiceProcess, tmp_path: Path
) -> None:
    columns = {
        "user": ["ann", "ann", "ann", "bob"],
        "item": ["a", "b", "c", "a"],
        "rating": [4.0, None, 9.0, 2.25],
        "kind": [None, "view", None, None],
        "timestamp": [1700000000, 1700000001, 1700000002, 1700000003],
        "device": ["phone"] * 4,
    }
    items = [
        {"item": "a", "features": {"year": 1995, "x": True, "tags": ["a"]}, "hidden": True},
        {"item": "b", "features": {"year": 2009.5, "x": "no"}, "extra": {"image": [1]}},
        {"item": "c"},
    ]
    users = [{"user": "ann", "features": {}, "links": [{"user": "bob", "weight": 0.5}]}]
    with running.client() as client:
        for one in items:
            client.put(f"/v1/items/{one['item']}", {k: v for k, v in one.items() if k != "item"})
        client.put("/v1/users/ann", {"links": users[0]["links"]})
    events = written(tmp_path / "events.parquet", columns)
    for _ in range(2):
        done = hedgerow("import", str(events), "--url", running.url, "--json")
        said = json.loads(done.stdout)
        assert (done.returncode, said["accepted"], said["ignored"]) == (1, 3, ["device"])
        assert [(one["line"], one["code"]) for one in said["rejected"]] == [(3, "out_of_scale")]
    assert said["known"] == 3

    room = str(running.log.parent)
    files = {name: tmp_path / f"{name}.parquet" for name in ("all", "items", "users")}
    arguments = ["-o", str(files["all"]), "--items", str(files["items"])]
    done = hedgerow(
        *("export", "--data-dir", room, "--format", "parquet", *arguments),
        *("--users", str(files["users"])),
    )
    assert done.returncode == 0, done.stderr
    assert "not of one type everywhere are texts" in done.stderr
    rows = pq.read_table(files["all"]).to_pylist()
    assert [(row["user"], row["item"], row["rating"], row["kind"]) for row in rows] == [
        ("ann", "a", 4.0, None),
        ("ann", "b", None, "view"),
        ("bob", "a", 2.25, None),
    ]
    assert rows[0]["timestamp"] == datetime.fromtimestamp(1700000000, UTC)
    items[0]["features"]["x"] = "true"
    assert [one for one in lines_of(files["items"], "item") if one["item"] in "abc"] == [
        one | {"features": one.get("features", {})} for one in items
    ]
    assert lines_of(files["users"], "user") == users
    lines = hedgerow("export", "--data-dir", room).stdout.splitlines()
    [part] = read_parts(files["all"])
    assert [told(line) for line in part.lines.splitlines()] == [*map(told, lines)]

    command = [*COMMAND, "export", "--data-dir", room, "--format", "parquet"]
    piped = subprocess.run(command, capture_output=True, check=True, timeout=180)
    assert piped.stdout == files["all"].read_bytes()


def told(line: str | bytes) -> dict[str, Any]:
    event: dict[str, Any] = json.loads(line)
    return event | {"timestamp": datetime.fromisoformat(event["timestamp"])}
