"""One function opens all files: the formats that it reads, and the errors of each reader."""

import gzip
from collections.abc import Callable
from pathlib import Path

import pytest

from service.files.documents import read_documents
from service.files.features import read_features, read_links, table_rows
from service.files.feedback import read_parts
from service.files.labelled_points import read_xmlc
from service.files.opening import BOM, BadFile, filled_lines, is_ndjson, opened
from service.files.ratings import read_ratings
from service.files.tables import read_table

READERS: dict[str, Callable[[Path], object]] = {
    "ratings": read_ratings,
    "feedback": lambda path: list(read_parts(path)),
    "documents": lambda path: list(read_documents(path, "item")),
    "features": lambda path: read_features(path, "user", {"a": 0}),
    "links": lambda path: read_links(path, {"a": 0, "b": 1}),
    "tables": lambda path: read_table(path, "rating"),
    "labelled points": read_xmlc,
}


@pytest.fixture(params=READERS)
def read(request: pytest.FixtureRequest) -> Callable[[Path], object]:
    return READERS[request.param]


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (None, "No such file"),
        (b"", "the file is empty"),
        (gzip.compress(b"", mtime=0), "the file is empty"),
        (BOM[:2] + b"\x00\xff\n", "line 1"),
        (gzip.compress(b"user,item\na,b\n" * 999, mtime=0)[:20], "cut off or damaged"),
        (b"\x1f\x8bnonsense", "cut off or damaged"),
    ],
)
def test_every_reader_reports_an_unreadable_file_alike(
    read: Callable[[Path], object], tmp_path: Path, content: bytes | None, says: str
) -> None:
    path = tmp_path / "given"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(BadFile) as caught:
        read(path)
    assert caught.value.detail.startswith(str(path))
    assert says in caught.value.detail


def test_a_directory_is_no_file(read: Callable[[Path], object], tmp_path: Path) -> None:
    with pytest.raises(BadFile, match="directory: give a readable"):
        read(tmp_path)


@pytest.mark.parametrize("packed", [False, True])
def test_lines_are_unpacked_numbered_and_without_a_byte_order_mark(
    tmp_path: Path, packed: bool
) -> None:
    path = tmp_path / "given"
    content = BOM + b'\n{"a": 1}\r\n' + BOM
    path.write_bytes(gzip.compress(content, mtime=0) if packed else content)
    with opened(path) as lines:
        assert [(lines.number, line) for line in lines] == [
            (1, b"\n"),
            (2, b'{"a": 1}\r\n'),
            (3, BOM),
        ]
        assert lines.read == 1.0
    assert is_ndjson(path)
    assert filled_lines(path) == 2


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("end", ["\r", "\r\n"])
def test_a_csv_may_have_the_line_ends_of_any_system(
    tmp_path: Path, end: str, *, packed: bool
) -> None:
    def written(*lines: str) -> Path:
        content = "".join(line + end for line in lines).encode()
        path.write_bytes(gzip.compress(content, mtime=0) if packed else content)
        return path

    path = tmp_path / "given"
    written("user,city", "a,Kiel", f'b,"Bad{end}Ems"')
    assert [row["city"] for row in table_rows(path, "user")] == ["Kiel", f"Bad{end}Ems"]
    assert not is_ndjson(path)
    assert filled_lines(path) == 4
    written("user,friend", "a,b", "b,a")
    assert read_links(path, {"a": 0, "b": 1}).tolist() == [[0, 1], [1, 0]]
    assert read_table(written("x,rating", "1,5", "2,4"), "rating").target.tolist() == [5, 4]
    assert read_ratings(written("user,item,rating", "a,b,3", "b,b,4")).rating.tolist() == [3, 4]
    assert len(b"".join(part.lines for part in read_parts(path)).splitlines()) == 2
    [part] = read_documents(written("item,age", "a,3", "b,4"), "item")
    assert part.numbers == [2, 3]


def test_a_line_number_counts_lines_that_end_in_cr(tmp_path: Path) -> None:
    path = tmp_path / "given"
    path.write_bytes(b"user,item,rating\ra,b,3\ra,b,x\r")
    with pytest.raises(BadFile, match="line 3: the rating 'x'"):
        read_ratings(path)


def test_many_lines_that_end_in_cr_are_not_one_long_line(tmp_path: Path) -> None:
    path = tmp_path / "given"
    path.write_bytes(b"ab\r" * 5_000)
    with opened(path, longest_line=4) as lines:
        assert sum(1 for _ in lines) == 5_000


def test_cr_within_json_is_a_blank(tmp_path: Path) -> None:
    path = tmp_path / "given"
    path.write_bytes(b'{"item":\r"a"}\n')
    [part] = read_documents(path, "item")
    assert part.numbers == [1]
    path.write_bytes(b'{"item":\r"a", "user": "b", "kind": "like"}\n')
    [part] = read_parts(path)
    assert (part.numbers, part.faults) == ([1], [])


def test_a_line_beyond_the_bound_is_named(tmp_path: Path) -> None:
    path = tmp_path / "given"
    path.write_bytes(b"ab\nabcd\n")
    with opened(path, longest_line=4) as lines, pytest.raises(BadFile, match="line 2: the line is"):
        list(lines)


def test_an_error_keeps_its_place_under_another_name() -> None:
    error = BadFile("copy", "no number", line=3, column="age")
    said = error.again(file="standard input", more=". Nothing was sent")
    assert said.detail == "standard input, line 3, column age: no number. Nothing was sent"
