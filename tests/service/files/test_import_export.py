import gzip
import json
import os
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from service.client import Receipt, Refused, ServiceClient
from service.demo.sample_world import SampleWorld
from service.errors import StoreUnavailable
from service.files import sending
from service.files.feedback import read_parts
from service.files.opening import BadFile
from service.files.parts import FilePart
from service.files.sending import STREAM, send_parts
from service.limits import Limits
from service.processes.child import ServiceProcess
from service.processes.commands import COMMAND
from tests.server import wait_until
from tests.service.running import service

pytestmark = pytest.mark.flow

OTHER = os.environ | {"HEDGEROW_NAMESPACE": "other"}


def hedgerow(
    *arguments: str, given: bytes | None = None, env: Mapping[str, str] = os.environ
) -> Any:
    return subprocess.run(
        [*COMMAND, *arguments],
        input=given,
        capture_output=True,
        check=False,
        timeout=180,
        env=env,
    )


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServiceProcess]:
    with service(tmp_path_factory.mktemp("import")) as whole:
        with whole.client() as client:
            client.wait_until_ready()
        yield whole


def sent(running: ServiceProcess, file: Path | str, given: bytes | None = None) -> dict[str, Any]:
    """Import a file, wait until it is learned, and return the summary."""
    done = hedgerow("import", str(file), "--url", running.url, "--json", given=given)
    summary: dict[str, Any] = json.loads(done.stdout)
    assert done.returncode == (1 if summary["rejected_total"] else 0)
    with running.client() as client:
        client.wait_until_learned(summary["sequence"])
    return summary


def history(running: ServiceProcess, user: str) -> list[tuple[str, str, float | None]]:
    with running.client() as client:
        page = client.get(f"/v1/users/{user}/ratings")["items"]
    return sorted((event["item"], event["kind"], event["rating"]) for event in page)


def test_a_file_that_is_imported_twice_counts_once(running: ServiceProcess, tmp_path: Path) -> None:
    file = tmp_path / "ratings.csv"
    file.write_text("user,item,rating,timestamp\nann,a,4,1700000000\nann,b,2,1700000001\n")
    first, second = sent(running, file), sent(running, file)
    assert (first["accepted"], first["known"]) == (2, 0)
    assert (second["accepted"], second["known"]) == (2, 2)
    told = hedgerow("import", str(file), "--url", running.url).stderr.decode()
    assert "2 of them were already stored: they count once" in told
    assert history(running, "ann") == [("a", "rating", 4.0), ("b", "rating", 2.0)]


def test_bad_rows_are_named_by_their_line_and_the_good_ones_kept(
    running: ServiceProcess, tmp_path: Path
) -> None:
    rows = [
        '{"user": "bob", "item": "a", "rating": 5, "timestamp": 1700000000}',
        "",
        '{"user": "bob", "item": "b", "rating": 9}',
        "not json",
        '{"user": 7, "item": 8, "kind": "click", "more": 1}',
    ]
    file = tmp_path / "feedback.ndjson.gz"
    file.write_bytes(gzip.compress("\n".join(rows).encode()))
    summary = sent(running, file)
    assert [(one["line"], one["code"]) for one in summary["rejected"]] == [
        (3, "out_of_scale"),
        (4, "unreadable"),
    ]
    assert (summary["accepted"], summary["rejected_total"]) == (2, 2)
    assert history(running, "bob") == [("a", "rating", 5.0)]
    assert history(running, "7") == [("8", "click", None)]


def test_clicks_and_purchases_come_from_a_csv_with_the_checks_of_ndjson(
    running: ServiceProcess, tmp_path: Path
) -> None:
    clicks, both = tmp_path / "clicks.csv", tmp_path / "both.csv"
    clicks.write_text(
        "user,item,kind,timestamp\ngil,a,click,1700000000\ngil,b,purchase,1700000001\n"
    )
    assert sent(running, clicks)["accepted"] == 2
    assert history(running, "gil") == [("a", "click", None), ("b", "purchase", None)]
    rows = ["gus,a,4,", "gus,b,,click", "gus,c,3,click", "gus,d,,", "gus,e,9,", "gus,f,,glance"]
    both.write_text("\n".join(["user,item,rating,kind", *rows]))
    same = tmp_path / "same.ndjson"
    values = [{"rating": 4}, {"kind": "click"}, {"rating": 3, "kind": "click"}, {}]
    values += [{"rating": 9}, {"kind": "glance"}]
    lines = [json.dumps({"user": "kim", "item": "a"} | value) for value in values]
    same.write_text("\n".join(["", *lines]))
    summary = sent(running, both)
    assert summary["accepted"] == 2
    assert [one["line"] for one in summary["rejected"]] == [4, 5, 6, 7]
    assert summary["rejected"] == sent(running, same)["rejected"]
    assert history(running, "gus") == [("a", "rating", 4.0), ("b", "click", None)]


def test_the_error_of_a_csv_without_ratings_and_kinds_says_that_it_needs_one(
    tmp_path: Path,
) -> None:
    file = tmp_path / "pairs.csv"
    file.write_text("user,item\na,b\n")
    with pytest.raises(BadFile, match="must name user,item and rating or kind"):
        next(read_parts(file))
    file.write_text("user,item,rating,kind\na,b,,view\na,b,abc,\n")
    with pytest.raises(BadFile, match="line 3: the rating 'abc'"):
        next(read_parts(file))


def test_a_bad_line_ends_an_import_with_what_was_sent_before(
    running: ServiceProcess, tmp_path: Path
) -> None:
    file = tmp_path / "ratings.csv"
    file.write_text("user,item,rating\neve,a,9\neve,b,abc\n,c,3\n")
    done = hedgerow("import", str(file), "--url", running.url)
    assert done.returncode == 2
    [said] = done.stderr.decode().splitlines()
    assert "line 3: the rating 'abc'" in said
    assert said.endswith("Nothing of the file was sent")
    file.write_text("user,item,rating\neve,a,3\neve,b,9\n,c,3\n")
    with running.client() as client, pytest.raises(BadFile) as caught:
        sending.send_parts(client, sending.STREAM, read_parts(file, 1), keyed=True)
    said = str(caught.value)
    assert "line 4: the user is empty: give it an id. 1 earlier rows are stored, 1 refused" in said
    assert "the first in line 3" in said


def test_standard_input_is_read(running: ServiceProcess) -> None:
    assert sent(running, "-", b"user,item,rating\ncy,a,3\n")["accepted"] == 1
    assert history(running, "cy") == [("a", "rating", 3.0)]


def test_an_import_of_the_export_makes_the_same_histories(
    running: ServiceProcess, tmp_path: Path
) -> None:
    world = SampleWorld(n_users=150, n_items=40)
    events = world.ratings(1_000)
    lines = [
        {"user": f"w/{u} ü", "item": f"i{i}", "rating": r + 0.1 * (r < 5), "timestamp": t / 1000}
        for u, i, r, t in zip(
            events.user_ix.tolist(),
            events.item_ix.tolist(),
            events.rating.tolist(),
            events.timestamp_ms.tolist(),
            strict=True,
        )
    ]
    lines += [{"user": "w/0 ü", "item": "i1", "kind": "view", "timestamp": "2026-05-05T05:05:05Z"}]
    for at, line in enumerate(lines[::7]):
        line["context"] = {"device": "phone", "page": f"p{at} ü=="}
    file = tmp_path / "world.ndjson"
    file.write_text("\n".join(map(json.dumps, lines)))
    sent(running, file)
    first = tmp_path / "first.ndjson"
    data_dir = str(running.log.parent)
    assert hedgerow("export", "--data-dir", data_dir, "-o", str(first)).returncode == 0
    with service(tmp_path, namespace="other") as other:
        with other.client() as client:
            client.wait_until_ready()
        sent(other, first)
        exported = [*COMMAND, "export", "--data-dir", str(other.log.parent)]
        again = subprocess.run(exported, capture_output=True, check=True, env=OTHER)
        check_keys(other, tmp_path)
    assert again.stdout == first.read_bytes()
    assert len(again.stdout.splitlines()) >= 1_001
    exported = [json.loads(line) for line in again.stdout.splitlines()]
    placed = [line["context"]["page"] for line in exported if "context" in line]
    assert sorted(placed) == sorted(f"p{at} ü==" for at in range(len(lines[::7])))


def check_keys(other: ServiceProcess, directory: Path) -> None:
    """After the first key is made, requests need one. (Here, because a start takes seconds.)"""
    file = directory / "one.csv"
    file.write_text("user,item,rating\na,b,3\n")
    made = hedgerow("keys", "create", "--data-dir", str(other.log.parent), "--json", env=OTHER)
    with other.client(key=json.loads(made.stdout)["key"]) as client:
        wait_until(lambda: not_authorised(other))
        assert client.upload("/v1/ratings/stream", b"").accepted == 0
    arguments = ("import", str(file), "--url", other.url, "--key")
    refused = hedgerow(*arguments, "hr_no_key")
    assert refused.returncode == 2
    assert b"401" in refused.stderr
    assert b"HEDGEROW_API_KEY" in refused.stderr
    assert b"Traceback" not in refused.stderr
    key = json.loads(made.stdout)["key"]
    assert hedgerow(*arguments, key).returncode == 0
    secret = directory / "secret"
    secret.write_text(f"{key}\n")
    in_file = os.environ | {"HEDGEROW_API_KEY_FILE": str(secret)}
    assert hedgerow(*arguments[:-1], env=in_file).returncode == 0


def not_authorised(running: ServiceProcess) -> bool:
    try:
        with running.client() as client:
            client.get("/v1/experts")
    except Refused:
        return True
    return False


def test_an_import_of_exported_documents_makes_the_same_documents(
    running: ServiceProcess, tmp_path: Path
) -> None:
    item = {"categories": ["film"], "features": {"title": "Heat"}, "hidden": True}
    item |= {"available_from": "2026-11-01T00:00:00.000Z", "extra": {"image": ["1.png"]}}
    user = {"features": {"age": 31}, "links": [{"user": "bob", "weight": 0.5}]}
    with running.client() as client:
        client.put("/v1/items/exported", item)
        client.put("/v1/items/of-none", {})
        client.put("/v1/users/exported", user)
    items, users = tmp_path / "items.ndjson", tmp_path / "users.ndjson"
    documents = ("--items", str(items), "--users", str(users))
    done = hedgerow("export", *documents, "--data-dir", str(running.log.parent))
    assert (done.returncode, done.stdout) == (0, b"")
    lines = [json.loads(line) for path in (items, users) for line in path.read_text().splitlines()]
    assert {"item": "exported", **item} in lines
    assert {"item": "of-none"} in lines
    assert {"user": "exported", **user} in lines
    with running.client() as client:
        client.put("/v1/items/exported", {})
        client.put("/v1/users/exported", {})
    done = hedgerow("import", *documents, "--url", running.url, "--json")
    assert (done.returncode, json.loads(done.stdout)["items"]["rejected_total"]) == (0, 0)
    with running.client() as client:
        assert item.items() <= client.get("/v1/items/exported").items()
        assert user.items() <= client.get("/v1/users/exported").items()


def test_a_csv_export_holds_ratings_and_reports_what_it_left_out(running: ServiceProcess) -> None:
    with running.client() as client:
        client.post("/v1/ratings", {"user": 'd"d', "item": "a,b", "rating": 1}, wait="learned")
        client.post("/v1/ratings", {"user": 'd"d', "item": "x", "kind": "view"}, wait="learned")
    done = hedgerow("export", "--format", "csv", "--data-dir", str(running.log.parent))
    assert done.stdout.startswith(b"user,item,rating,timestamp\n")
    assert b'"d""d","a,b",1.0,2' in done.stdout
    assert b"left out" in done.stderr


def test_documents_are_imported_before_the_feedback(
    running: ServiceProcess, tmp_path: Path
) -> None:
    items, users, ratings = (tmp_path / name for name in ("i.csv", "u.ndjson", "r.csv"))
    items.write_text(
        "item,categories,year,title,hidden,available_from\n"
        "d1,film|drama,1994,The Long Hedge,false,\n"
        "d2,film,,,TRUE,2026-11-01T00:00:00Z\n"
        "d3,,n/a,,maybe,\n"
    )
    users.write_text('{"user": "dora", "features": {"age": 31}}\n\n{"user": "dan", "plan": 1}\n')
    ratings.write_text("user,item,rating\ndora,d1,5\n")
    files = ("--items", str(items), "--users", str(users))
    done = hedgerow("import", str(ratings), *files, "--url", running.url, "--json")
    assert done.returncode == 1, done.stderr
    told = json.loads(done.stdout)
    assert (told["accepted"], told["items"]["accepted"], told["users"]["accepted"]) == (1, 2, 1)
    assert [one["line"] for one in told["items"]["rejected"]] == [4]
    assert [one["line"] for one in told["users"]["rejected"]] == [3]
    with running.client() as client:
        first, second = client.get("/v1/items/d1"), client.get("/v1/items/d2")
        assert client.get("/v1/users/dora")["features"] == {"age": 31}
    assert first["categories"] == ["film", "drama"]
    assert first["features"] == {"year": 1994, "title": "The Long Hedge"}
    assert (second["hidden"], second["features"]) == (True, {})
    again = hedgerow("import", "--users", str(users), "--url", running.url)
    assert (again.returncode, again.stderr.decode().count("users: ")) == (1, 2)


def test_feedback_is_not_taken_for_documents_nor_one_of_two_documents_for_all_that_is_known(
    running: ServiceProcess, tmp_path: Path
) -> None:
    feedback, twice = tmp_path / "r.csv", tmp_path / "u.csv"
    feedback.write_text("user,item,rating\nfay,d1,5\n")
    twice.write_text("user,age\nfay,31\nfay,32\n")
    with running.client() as client:
        client.upload("/v1/users", b'{"user": "fay", "features": {"age": 30}}')
        for file, says in (
            (feedback, b"holds feedback"),
            (twice, b"line 3: user 'fay' is in line 2"),
        ):
            done = hedgerow("import", "--users", str(file), "--url", running.url)
            assert done.returncode == 2, done.stderr
            assert says in b" ".join(done.stderr.split())
        assert client.get("/v1/users/fay")["features"] == {"age": 30}


def test_an_import_of_nothing_says_what_to_name(running: ServiceProcess) -> None:
    done = hedgerow("import", "--url", running.url)
    assert done.returncode == 2
    assert b"--items" in done.stderr


def test_the_settings_say_where_the_service_is(running: ServiceProcess, tmp_path: Path) -> None:
    file = tmp_path / "ratings.csv"
    file.write_text("user,item,rating\neve,a,3\n")
    port = running.url.rpartition(":")[2]
    assert hedgerow("import", str(file), env=os.environ | {"HEDGEROW_PORT": port}).returncode == 0
    nowhere = hedgerow("retrain", env=os.environ | {"HEDGEROW_PORT": "0"})
    assert nowhere.returncode == 2
    assert b"--url" in nowhere.stderr


def test_a_service_that_goes_away_is_told_with_what_is_stored(tmp_path: Path) -> None:
    file = tmp_path / "ratings.csv"
    file.write_text("user,item,rating\na,b,3\n")
    heard: list[str] = []
    gone = "http://127.0.0.1:9"
    said = pytest.raises(StoreUnavailable, match=r"--url.* 0 rows are stored .*count once")
    with ServiceClient(gone, patience_s=0.0, tell=heard.append) as client, said:
        client.reached = True
        sending.send(client, file)
    assert [line.partition(" (")[0] for line in heard] == [f"no answer from {gone}"]
    assert "trying again for 0 s" in heard[0]


@pytest.mark.slow
def test_an_import_waits_as_it_is_told_and_loses_and_doubles_no_line(tmp_path: Path) -> None:
    file, n = tmp_path / "ratings.csv", 20
    file.write_text("user,item,rating\n" + "".join(f"ann,i{line:02},4\n" for line in range(n)))
    slow = Limits(count_loopback=True, unknown_requests_per_s=1, unknown_requests_at_once=1)
    heard: list[str] = []
    with service(tmp_path, limits=slow) as running:
        # each part meets a 429 that tells to wait longer than the client has patience
        with ServiceClient(running.url, patience_s=0.1, tell=heard.append) as client:
            client.wait_until_ready()
            summary = send_parts(client, STREAM, read_parts(file, 4), keyed=True)
            client.wait_until_learned(summary.sequence)
        assert summary.accepted == n
        assert "waiting 1 s, as it says" in heard[0]
        assert history(running, "ann") == [(f"i{line:02}", "rating", 4.0) for line in range(n)]
        # the whole file as one part: other keys, other ids, and the same waiting
        done = hedgerow("import", str(file), "--url", running.url, "--json")
        assert (done.returncode, json.loads(done.stdout)["accepted"]) == (0, n), done.stderr
        again = hedgerow("import", str(file), "--url", running.url, "--json")
        assert json.loads(again.stdout)["known"] == n, again.stderr
        assert len(history(running, "ann")) == 2 * n


def test_an_export_to_nowhere_is_said_in_one_line(running: ServiceProcess) -> None:
    target = running.log / "histories"
    done = hedgerow("export", "-o", str(target), "--data-dir", str(running.log.parent))
    assert done.returncode == 2
    assert done.stderr.decode().splitlines() == [
        f"hedgerow: cannot write {target} (Not a directory): name another"
    ]


def test_a_byte_order_mark_is_no_fault(tmp_path: Path) -> None:
    file = tmp_path / "ratings.ndjson"
    file.write_bytes(b'\xef\xbb\xbf{"user": "a", "item": "b", "rating": 3}\n')
    [part] = read_parts(file)
    assert (part.faults, part.numbers) == ([], [1])


def test_parts_have_keys_of_their_place_and_content(tmp_path: Path) -> None:
    file = tmp_path / "ratings.csv"
    file.write_text("user,item,rating\n" + "a,b,3\n" * 7)
    parts = list(read_parts(file, rows=3))
    keys = [sending.part_key(n, part) for n, part in enumerate(parts)]
    assert [len(part.numbers) for part in parts] == [3, 3, 1]
    assert parts[0].lines == parts[1].lines
    assert len(set(keys)) == 3
    assert keys == [sending.part_key(n, p) for n, p in enumerate(read_parts(file, rows=3))]


def test_columns_that_no_event_has_are_named(running: ServiceProcess, tmp_path: Path) -> None:
    table, lines = tmp_path / "a.csv", tmp_path / "a.ndjson"
    table.write_text("user,timestmp,item,rating,ip\nivy,7,n1,4,x\nivy,8,n2,5,y\n")
    rows = [
        {"user": "ivy", "item": "n3", "rating": 4},
        {"user": "ivy", "item": "n4", "rating": 4, "device": {"os": 1}, "kind": None},
        {"user": "ivy", "item": "n5", "rating": 4, "device": 2, "page": "home"},
    ]
    lines.write_text("\n".join(map(json.dumps, rows)))
    assert sent(running, table)["ignored"] == ["timestmp", "ip"]
    assert sorted(sent(running, lines)["ignored"]) == ["device", "page"]
    assert [item for item, _, _ in history(running, "ivy")] == ["n1", "n2", "n3", "n4", "n5"]
    told = hedgerow("import", str(table), "--url", running.url)
    assert b"no event has such a column: timestmp, ip" in told.stderr + told.stdout
    table.write_text("user,item,rating\nivy,n1,4\n")
    assert sent(running, table)["ignored"] == []


def test_a_context_is_sent_as_it_stands_in_the_file(tmp_path: Path) -> None:
    file, context = tmp_path / "clicks.ndjson", {"device": "phone", "page": "home"}
    rows = [{"user": "a", "item": "b", "kind": "click", "context": context}]
    file.write_text("\n".join(map(json.dumps, [*rows, {"user": "a", "item": "c", "rating": 3}])))
    [part] = read_parts(file)
    first, second = map(json.loads, part.lines.splitlines())
    assert first["context"] == context
    assert "context" not in second
    assert part.ignored == ()


def test_the_summary_counts_what_the_service_and_the_reader_rejected() -> None:
    part = FilePart(b"", [1, 4], 1.0, faults=[(2, "not JSON")])
    summary = sending.Summary()
    rejected = [{"index": 1, "code": "out_of_scale", "detail": "no"}]
    summary.add(part, Receipt(accepted=1, rejected_total=1, rejected=rejected, sequence="0:1"))
    assert [one["line"] for one in summary.rejected] == [2, 4]
    assert (summary.accepted, summary.rejected_total) == (1, 2)


@pytest.mark.parametrize("content", [b"", b"\n\n"])
def test_an_empty_file_is_said_to_have_no_ratings(tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "empty.csv"
    file.write_bytes(content)
    with pytest.raises(BadFile):
        list(read_parts(file))


def test_a_damaged_gzip_is_said_to_be_damaged(tmp_path: Path) -> None:
    file = tmp_path / "cut.ndjson.gz"
    file.write_bytes(gzip.compress(b'{"user": "a"}\n' * 10_000, mtime=0)[:-20])
    with pytest.raises(BadFile, match="damaged"):
        list(read_parts(file))
