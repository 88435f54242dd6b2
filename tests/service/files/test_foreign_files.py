"""Gorse's dumps, folders of MovieLens, RecBole and Recombee: read, refused if damaged, imported."""

import json
import resource
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from service.client import Refused, ServiceClient
from service.files.foreign.by_time import parts_by_time
from service.files.foreign.gorse_dump import Row, read_gorse
from service.files.foreign.gorse_sending import feedback_key, send_gorse
from service.files.foreign.movielens import read_movielens
from service.files.foreign.recbole import read_recbole
from service.files.foreign.recombee import read_array, read_recombee
from service.files.foreign.tables import Foreign
from service.files.opening import BadFile
from service.files.sending import Summary
from service.processes.child import ServiceProcess
from tests.service.files.gorse_dumps import dump
from tests.service.running import hedgerow, service

USER = {"UserId": "ada", "Labels": {"age": 31, "deep": [1.5]}, "Comment": "c"}
ITEM = {
    "ItemId": "heat",
    "IsHidden": True,
    "Categories": ["crime", "film"],
    "Timestamp": "1960-12-15T01:02:03.004000Z",
    "Labels": None,
    "Comment": "Heat",
}
STAR = {
    "FeedbackType": "star",
    "UserId": "ada",
    "ItemId": "heat",
    "Value": 2.5,
    "Timestamp": "2026-11-01T00:00:00Z",
    "Comment": "",
}
NEVER = {"ItemId": "up", "Timestamp": "0001-01-01T00:00:00Z"}


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServiceProcess]:
    directory = tmp_path_factory.mktemp("foreign")
    with service(directory, wait_timeout_ms=60_000, trainer=False) as whole:
        with whole.client() as client:
            client.wait_until_ready()
        yield whole


def imported(running: ServiceProcess, *arguments: str) -> Any:
    done = hedgerow("import", *arguments, "--url", running.url, "--json")
    assert done.stdout, done.stderr
    return json.loads(done.stdout)


def test_a_dump_is_read_as_it_was_written(tmp_path: Path) -> None:
    file = tmp_path / "dump.bin"
    file.write_bytes(dump(feedback=[STAR], items=[ITEM, NEVER], users=[USER]))
    rows = [(row.section, row.number, row.members) for row in read_gorse(file, "feedback")]
    assert rows[0] == ("feedback", 1, STAR)
    assert rows[1] == ("items", 1, ITEM)
    assert rows[2][2]["Timestamp"] == "0001-01-01T00:00:00Z"
    assert rows[3] == ("users", 1, USER)


def test_every_cut_of_a_dump_is_refused_and_says_where(tmp_path: Path) -> None:
    whole = dump(users=[USER], items=[ITEM], feedback=[STAR]).removesuffix(b'{"Users": 1}')
    file = tmp_path / "cut.bin"
    for n in range(len(whole)):
        file.write_bytes(whole[:n])
        with pytest.raises(BadFile, match=r"cut off|empty"):
            list(read_gorse(file, "feedback"))
    for at in range(len(whole)):
        file.write_bytes(whole[:at] + b"\xff" + whole[at + 1 :])
        # damage that cannot be seen gives other rows; none is an error of another kind
        with suppress(BadFile):
            list(read_gorse(file, "feedback"))


def test_a_dump_is_imported_and_may_be_imported_again(
    running: ServiceProcess, tmp_path: Path
) -> None:
    file = tmp_path / "dump.bin"
    bad = STAR | {"FeedbackType": ""}
    again = STAR | {"ItemId": "up"}
    file.write_bytes(dump(users=[USER], items=[ITEM, NEVER], feedback=[STAR, bad, again]))
    for _ in range(2):
        said = imported(running, "--format", "gorse", str(file))
        assert (said["accepted"], said["rejected_total"]) == (2, 1)
        assert said["rejected"][0]["line"] == 2
        assert "FeedbackType" in said["rejected"][0]["detail"]
        assert (said["users"]["accepted"], said["items"]["accepted"]) == (1, 2)
        with running.client() as client:
            assert client.get("/api/user/ada") == USER
            read = ITEM | {"Timestamp": "1960-12-15T01:02:03.004Z"}
            assert client.get("/api/item/heat") == read
            rows = client.get("/api/user/ada/feedback")
        assert [(row["ItemId"], row["Value"]) for row in rows] == [("heat", 2.5), ("up", 2.5)]


def test_feedback_of_gorse_counts_once_however_often_it_is_imported(
    running: ServiceProcess, tmp_path: Path
) -> None:
    def repeats(client: ServiceClient) -> tuple[int, int]:
        [one] = client.get("/v1/stats")["partitions"]
        return one["appended"], one["duplicates"]

    rows = [STAR | {"UserId": "once", "ItemId": f"i{n}"} for n in range(5)]
    file = tmp_path / "feedback"
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    imported(running, "--format", "gorse", str(file))
    with running.client() as client:
        appended, duplicates = repeats(client)
        imported(running, "--format", "gorse", str(file))
        assert repeats(client) == (appended + 5, duplicates + 5)


def test_a_row_of_gorse_that_is_refused_is_told_and_the_rest_is_sent(
    running: ServiceProcess, tmp_path: Path
) -> None:
    file = tmp_path / "users"
    rows = [{"UserId": "eve"}, {"UserId": ["a"]}, {"UserId": "mallory"}]
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    said = imported(running, "--format", "gorse", "--users", str(file))["users"]
    assert (said["accepted"], said["rejected_total"]) == (2, 1)
    assert said["rejected"][0]["line"] == 2
    assert "UserId must be a text" in said["rejected"][0]["detail"]


def test_feedback_of_gorse_that_means_another_kind_by_now_replaces_what_is_there(
    running: ServiceProcess, tmp_path: Path
) -> None:
    row = STAR | {"UserId": "changed", "Value": 7.0}
    file = tmp_path / "feedback"
    file.write_text(json.dumps(row) + "\n")
    with running.client() as client:
        client.put("/api/feedback", [row | {"FeedbackType": "read"}], feedback_key(1, [row]))
        assert imported(running, "--format", "gorse", str(file))["accepted"] == 1
        [kept] = client.get("/api/user/changed/feedback/star")
    assert kept["Value"] == 7


def test_what_no_row_is_to_blame_for_ends_the_import(running: ServiceProcess) -> None:
    rows = [Row("users", number, {"UserId": f"u{number}"}) for number in range(1, 9)]
    found: dict[str, Summary] = {}
    with ServiceClient(f"{running.url}/elsewhere") as client, pytest.raises(Refused, match="404"):
        send_gorse(client, rows, found, lambda _: None)
    assert found["users"].rejected_total == 0


def test_lines_of_json_of_gorse_are_imported(running: ServiceProcess, tmp_path: Path) -> None:
    files = {
        "users": [{"UserId": "bob"}],
        "items": [{"ItemId": "x"}],
        "feedback": [{"FeedbackType": "read", "UserId": "bob", "ItemId": "x", "Value": 3}],
    }
    for name, rows in files.items():
        (tmp_path / name).write_text("".join(json.dumps(row) + "\n" for row in rows))
    documents = ("--users", str(tmp_path / "users"), "--items", str(tmp_path / "items"))
    said = imported(running, "--format", "gorse", str(tmp_path / "feedback"), *documents)
    assert [said["accepted"], said["users"]["accepted"], said["items"]["accepted"]] == [1, 1, 1]
    with running.client() as client:
        [row] = client.get("/api/user/bob/feedback/read")
    assert row["Value"] == 3


def movielens_100k(folder: Path) -> Path:
    (folder / "u.data").write_text("1\t2\t3\t881250949\n")
    (folder / "u.user").write_text("1|24|M|technician|85711\n")
    flags = ["0"] * 19
    flags[8] = "1"
    line = "|".join(["2", "Café (1995)", "01-Jan-1995", "", "http://x", *flags])
    (folder / "u.item").write_text(line + "\n", encoding="latin-1")
    return folder


def movielens_1m(folder: Path) -> Path:
    (folder / "ratings.dat").write_text("1::2::3::881250949\n")
    (folder / "users.dat").write_text("1::M::25::7::85711\n")
    (folder / "movies.dat").write_text("2::Café (1995)::Drama\n")
    return folder


def movielens_1m_as_published(folder: Path) -> Path:
    movielens_1m(folder)
    (folder / "movies.dat").write_text("2::Café (1995)::Drama\n", encoding="latin-1")
    return folder


def movielens_latest(folder: Path) -> Path:
    (folder / "ratings.csv").write_text("userId,movieId,rating,timestamp\n1,2,3.0,881250949\n")
    (folder / "movies.csv").write_text('movieId,title,genres\n2,"Café (1995)",Drama\n')
    return folder


@pytest.mark.parametrize(
    "made", [movielens_100k, movielens_1m, movielens_1m_as_published, movielens_latest]
)
def test_folders_of_movielens_are_read(made: Any, tmp_path: Path) -> None:
    found = read_movielens(made(tmp_path))
    [(_, item)] = found.items
    assert (item["item"], item["categories"]) == ("2", ["Drama"])
    assert item["features"] == {"title": "Café (1995)"}
    [(_, event)] = found.feedback["feedback"]
    assert event == {"user": "1", "item": "2", "rating": 3.0, "timestamp": 881250949.0}
    users = [user for _, user in found.users]
    assert [user["user"] for user in users] == (["1"] if made is not movielens_latest else [])


def test_files_of_recbole_are_read_and_imported(running: ServiceProcess, tmp_path: Path) -> None:
    (tmp_path / "x.inter").write_text(
        "user_id:token\titem_id:token\trating:float\ttimestamp:float\tprice:float\n"
        "u1\ti1\t4\t1700000000\t9.5\n"
    )
    (tmp_path / "x.item").write_text(
        "item_id:token\tgenre:token_seq\tyear:float\tmood:float_seq\n"
        "i1\ta b\t1995\t0.5 1\n"
        "i2\t\t\t\n"
    )
    (tmp_path / "x.user").write_text("user_id:token\tage:token\nu1\t31\n")
    found = read_recbole(tmp_path)
    assert [said for _, said in found.items] == [
        {"item": "i1", "categories": ["a", "b"], "features": {"year": 1995, "mood": ["0.5", "1"]}},
        {"item": "i2", "features": {}},
    ]
    said = imported(running, "--format", "recbole", str(tmp_path))
    assert [said["accepted"], said["users"]["accepted"], said["items"]["accepted"]] == [1, 1, 2]
    assert (said["rejected_total"], said["ignored"]) == (0, ["price"])
    (tmp_path / "x.inter").write_text("user_id:token\titem_id:token\nu1\ti1\n")
    [(_, event)] = read_recbole(tmp_path).feedback["feedback"]
    assert event == {"user": "u1", "item": "i1", "kind": "like"}
    (tmp_path / "x.item").write_text(
        "item_id:token\tgenre:token_seq\tcategories:token_seq\ni1\ta\tb\n"
    )
    [(_, item)] = read_recbole(tmp_path).items
    assert item == {"item": "i1", "categories": ["b"], "features": {"genre": ["a"]}}


def of_recombee(folder: Path) -> Path:
    """Write files as its API answers them, and as its integrations name the columns."""
    files = {
        "detail_views.csv": "user_id,item_id,timestamp,duration\n"
        "ann,heat,2026-11-01 00:00:00,30\nann,up,1700000000,\n",
        "purchases.json": json.dumps(
            [{"userId": "ann", "itemId": "heat", "timestamp": "2026-11-01T01:00:00+01:00"}]
        ),
        "cart_additions.ndjson": '{"userId": "bob", "itemId": "up", "amount": 2}\n\n',
        "bookmarks.csv": "user_id,item_id\nbob,heat\n",
        "viewPortions.json": '[{"userId": "bob", "itemId": "heat", "portion": 0.5}]',
        "ratings.json": '[{"userId": "ann", "itemId": "up", "rating": 0.5, "timestamp": null}]',
        "items.csv": 'item_id,title,year,genres,image\nheat,Heat,1995,"[""crime""]",\n',
        "items-more.csv": "not read",
        "users.json": '["ann", '
        '{"userId": "bob", "age": 31, "place": {"lat": 1}, "tags": ["a", null]}]',
    }
    for name, text in files.items():
        (folder / name).write_text(text)
    return folder


def test_files_of_recombee_are_read(tmp_path: Path) -> None:
    found = read_recombee(of_recombee(tmp_path), lambda: (1.0, 5.0))
    assert [said for _, said in found.items] == [
        {"item": "heat", "features": {"title": "Heat", "year": 1995}, "categories": ["crime"]}
    ]
    assert [said for _, said in found.users] == [
        {"user": "ann", "features": {}},
        {"user": "bob", "features": {"age": 31, "place": '{"lat":1}', "tags": ["a"]}},
    ]
    ann, bob = {"user": "ann", "item": "heat"}, {"user": "bob", "item": "heat"}
    assert {name: [*lines] for name, lines in found.feedback.items()} == {
        "detail_views": [
            (2, ann | {"kind": "view", "timestamp": "2026-11-01T00:00:00+00:00"}),
            (3, ann | {"item": "up", "kind": "view", "timestamp": 1700000000.0}),
        ],
        "purchases": [(1, ann | {"kind": "purchase", "timestamp": "2026-11-01T01:00:00+01:00"})],
        "cart_additions": [(1, bob | {"item": "up", "kind": "click"})],
        "bookmarks": [(2, bob | {"kind": "like"})],
        "viewPortions": [(1, bob | {"kind": "view"})],
        "ratings": [(1, ann | {"item": "up", "rating": 4.0})],
    }
    assert {name: [*columns] for name, columns in found.ignored.items() if columns} == {
        "detail_views": ["duration"],
        "cart_additions": ["amount"],
        "viewPortions": ["portion"],
    }


def test_files_of_recombee_are_imported_and_count_once(
    running: ServiceProcess, tmp_path: Path
) -> None:
    of_recombee(tmp_path)
    (tmp_path / "bookmarks.csv").write_text(
        "user_id,item_id,timestamp\nbob,heat,\nbob,up,2999-01-01\n"
    )
    for _ in range(2):
        said = imported(running, "--format", "recombee", str(tmp_path))
        assert said["accepted"] == 7
        assert said["ignored"] == ["duration", "portion", "amount"]
        assert [said[name]["accepted"] for name in ("items", "users")] == [1, 2]
        [refused] = said["rejected"]
        place = refused["file"], refused["line"], refused["code"]
        assert place == ("bookmarks", 3, "future_timestamp")
    with running.client() as client:
        client.wait_until_learned(said["sequence"])
        events = client.get("/v1/users/ann/ratings")["items"]
    rated = [(one["item"], one["rating"]) for one in events if one["kind"] == "rating"]
    assert rated == [("up", 4.0)]


def test_events_of_several_files_are_sent_in_the_order_of_their_times(tmp_path: Path) -> None:
    files = {
        "purchases.csv": "user_id,item_id,timestamp\nu,bought,50\n",
        "detail_views.csv": "user_id,item_id,timestamp\nu,third,30\nu,first,1970-01-01 00:00:10\n",
        "ratings.csv": "user_id,item_id,rating,timestamp\nu,rated,1,\nu,second,1,20\n",
        "bookmarks.csv": "user_id,item_id,timestamp\nu,fourth,50\nu,last,300000000000\n",
    }
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    found = [*parts_by_time(read_recombee(tmp_path, lambda: (1.0, 5.0)), 4)]
    events = [json.loads(line) for part in found for line in part.lines.splitlines()]
    items = [event["item"] for event in events]
    assert items == ["first", "second", "third", "fourth", "bought", "last", "rated"]
    assert [len(part.numbers) for part in found] == [4, 3]
    places = [tuple(part.place(at).values()) for part in found for at in range(len(part.numbers))]
    assert places[:3] == [("detail_views", 3), ("ratings", 3), ("detail_views", 2)]
    assert places[-1] == ("ratings", 2)


def test_no_room_for_the_temporary_file_says_what_to_do() -> None:
    rows = ((number, {"user": "u" * 500}) for number in range(20_000))
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, hard))
    try:
        with pytest.raises(BadFile, match="make room for it, or name another folder in TMPDIR"):
            list(parts_by_time(Foreign(feedback={"feedback": rows}), 100))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def test_an_array_of_recombee_may_be_of_many_lines_but_not_of_any_length(tmp_path: Path) -> None:
    rows = [{"userId": "u", "itemId": f"i{number}"} for number in range(9)]
    text = json.dumps(rows, indent=1)
    (tmp_path / "purchases.json").write_text("\n \n" + text)
    [lines] = read_recombee(tmp_path, lambda: (1.0, 5.0)).feedback.values()
    assert [(number, said["item"]) for number, said in lines] == [
        (number, f"i{number - 1}") for number in range(1, 10)
    ]
    pieces = text.encode().splitlines(keepends=True)
    assert read_array(tmp_path, pieces, len(text)) == rows
    with pytest.raises(BadFile, match="bytes: write an object on each line"):
        read_array(tmp_path, pieces, len(text) - 1)


@pytest.mark.parametrize(
    ("name", "text", "says"),
    [
        ("ratings.csv", "user_id,item_id,rating\na,b,5\n", "line 2: the rating '5' is not from"),
        ("ratings.json", '[{"userId": "a", "itemId": "b"}]', "line 1: the rating 'None'"),
        ("purchases.csv", "user_id,item_id\na,\n", "line 2: there is no item_id"),
        ("purchases.csv", "user,item\na,b\n", "must name user_id or userId"),
        ("purchases.json", '[{"userId": "a"', "give a JSON array"),
        ("purchases.ndjson", '{"userId": "a"\n', "line 1: .*must be a JSON object"),
        ("purchases.ndjson", "3\n", "line 1: this is no JSON object"),
        ("bookmarks.csv", "user_id,item_id,timestamp\na,b,soon\n", "'soon' is neither ISO 8601"),
    ],
)
def test_bad_files_of_recombee_are_named_with_the_row(
    tmp_path: Path, name: str, text: str, says: str
) -> None:
    (tmp_path / name).write_text(text)
    with pytest.raises(BadFile, match=says):
        [list(lines) for lines in read_recombee(tmp_path, lambda: (1.0, 5.0)).feedback.values()]


def test_two_files_of_the_same_are_refused(tmp_path: Path) -> None:
    for name in ("detail_views.csv", "detailViews.json"):
        (tmp_path / name).write_text("")
    with pytest.raises(BadFile, match=r"detailViews\.json holds the same"):
        read_recombee(tmp_path, lambda: (1.0, 5.0))


def test_bad_folders_and_lines_are_refused(tmp_path: Path) -> None:
    for read in (read_movielens, read_recbole, lambda folder: read_recombee(folder, tuple)):
        with pytest.raises(BadFile, match="give"):
            read(tmp_path)
    movielens_100k(tmp_path)
    for line, says in (
        ("1\t2\n", "line 1: the line has 2 columns"),
        ("1\t2\tx\t3\n", "'x' is not"),
    ):
        (tmp_path / "u.data").write_text(line)
        with pytest.raises(BadFile, match=says):
            list(read_movielens(tmp_path).feedback["feedback"])
    for line, says in (("u1\t\t4", "line 2: item_id is empty"), ("u1\ti1\t", "rating is empty")):
        (tmp_path / "x.inter").write_text(f"user_id:token\titem_id:token\trating:float\n{line}\n")
        with pytest.raises(BadFile, match=says):
            list(read_recbole(tmp_path).feedback["feedback"])
    (tmp_path / "x.inter").write_text("user\titem\n1\t2\n")
    with pytest.raises(BadFile, match="must name each column and its type"):
        list(read_recbole(tmp_path).feedback["feedback"])


def test_a_form_of_folders_takes_one_folder(tmp_path: Path) -> None:
    done = hedgerow("import", "--format", "recbole", "--items", "x.csv")
    assert (done.returncode, "reads one folder" in done.stderr) == (2, True)
