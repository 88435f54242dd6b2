import gzip
from contextlib import suppress

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.files.opening import LONGEST_LINE, BadFile
from service.files.ratings import read_chunks, read_ratings

HEADER = b"user,item,rating\n"


@pytest.fixture
def path(tmp_path):
    return tmp_path / "ratings.csv"


def test_a_csv_becomes_numbers_in_order_of_appearance(path):
    path.write_bytes(b"item,extra,rating,user\nx,?,4,b\ny,?,3.5,a\nx,?,1,a\n")
    ratings = read_ratings(path)
    assert ratings.user_ids == ["b", "a"]
    assert ratings.item_ids == ["x", "y"]
    np.testing.assert_array_equal(ratings.user_ix, [0, 1, 1])
    np.testing.assert_array_equal(ratings.item_ix, [0, 1, 0])
    np.testing.assert_array_equal(ratings.rating, [4.0, 3.5, 1.0])
    assert ratings.timestamp_ms is None


@pytest.mark.parametrize(
    "text",
    [
        "1700000000",
        "1700000000.0",
        "1700000000000",
        "2023-11-14T22:13:20Z",
        "2023-11-14T23:13:20+01:00",
    ],
)
def test_timestamps_are_seconds_milliseconds_or_rfc_3339(path, text):
    path.write_text(f"user,item,rating,timestamp\na,x,3,{text}\n")
    assert read_ratings(path).timestamp_ms == [1_700_000_000_000]


def test_ndjson_gzip_a_byte_order_mark_and_blank_lines_are_understood(path):
    lines = (
        b'{"user":"a","item":7,"rating":3,"timestamp":12}\n\n'
        b'{"user":"b","item":"7","rating":2.5,"timestamp":"1970-01-01T00:00:13Z",'
        b'"kind":"rating"}\n'
    )
    for data in (lines, gzip.compress(lines, mtime=0), b"\xef\xbb\xbf" + lines):
        path.write_bytes(data)
        ratings = read_ratings(path)
        assert (ratings.user_ids, ratings.item_ids) == (["a", "b"], ["7"])
        assert [*ratings.timestamp_ms] == [12_000, 13_000]
    path.write_bytes(b"\xef\xbb\xbf" + HEADER + b"a,x,3\n\n\r\nb,x,4\r\n")
    assert read_ratings(path).user_ids == ["a", "b"]


def test_blanks_after_commas_are_the_commas(path):
    path.write_bytes(b'user, item, rating\n196, 242, 3\n197, "a, b", 4\n')
    ratings = read_ratings(path)
    assert (ratings.user_ids, ratings.item_ids) == (["196", "197"], ["242", "a, b"])


def test_blanks_that_the_header_lacks_are_the_ids(path):
    path.write_bytes(b'user,item,rating\n1, "a,3\n2,b ,4\n')
    assert read_ratings(path).item_ids == [' "a', "b "]


def test_chunks_say_where_they_start_and_how_far_the_file_is_read(path):
    path.write_bytes(HEADER + b"a,x,1\n" * 5)
    chunks = list(read_chunks(path, size=2))
    assert [len(chunk.users) for chunk in chunks] == [2, 2, 1]
    assert [chunk.first_line for chunk in chunks] == [2, 4, 6]
    assert chunks[-1].read == 1.0


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (b"", "the file is empty"),
        (b"u" * 200_000 + b",item\n", "line 1: field larger than field limit"),
        (b"user;item;rating\n1;2;3\n", "line 1: the columns are separated by ';'"),
        (b"user\titem\trating\n1\t2\t3\n", "line 1: the columns are separated by tabs"),
        (HEADER + b'a,x,3\n"b,x,3\na,y,3\n', "line 3: 1 columns"),
        (HEADER + b'a,x,3\n"b,x,3\na,y,3\n', "goes on to line 4: is a quote not closed?"),
        (HEADER + b'"a\nb",x\n', "line 2: 2 columns where the header has 3"),
        (HEADER + b'a,x,3\n"' + b"b,x,3\n" * 30_000, "line 3: field larger than"),
        (HEADER + b'"a\nb",x,3\na,x,?\n', "line 4: the rating '?'"),
        (HEADER + b"a,x,3\na,x,abc\n,x,3\n", "line 3: the rating 'abc'"),
        (HEADER + b"a,x,3\n,x,3\na,x,abc\n", "line 3: the user is empty"),
        (HEADER + b"a,x,abc\na,x\n", "line 2: the rating 'abc'"),
        (b"user,item,rating,timestamp\na,x,3,?\n,x,3,1\n", "line 2: the timestamp '?'"),
        (b"user,item\n1,2\n", "line 1: no column 'rating' among user, item"),
        (HEADER, "no ratings"),
        (HEADER + b"a,x,3\na,x,good\n", "line 3: the rating 'good' is not a finite number"),
        (HEADER + b"a,x,nan\n", "line 2: the rating 'nan'"),
        (HEADER + b"a,x,1e999\n", "line 2: the rating '1e999'"),
        (HEADER + b"a,x,3,4\n", "line 2: 4 columns where the header has 3"),
        (HEADER + b",x,3\n", "line 2: the user is empty"),
        (HEADER + b"a,,3\n", "line 2: the item is empty"),
        (HEADER + b"\xff,x,3\n", "line 2: the text is not UTF-8"),
        (HEADER + b"a" * (LONGEST_LINE + 1), "line 2: the line is longer"),
        (b"user,item,rating,timestamp\na,x,3,\n", "line 2: the timestamp ''"),
        (b"user,item,rating,timestamp\na,x,3,2026-11-18T12:00:00\n", "line 2: the timestamp"),
        (b"user,item,rating,timestamp\na,x,3,1e300\n", "line 2: the timestamp"),
        (b'{"user":"a","item":"x"}\n', "line 1: Object missing required field `rating`"),
        (b'{"user":"a","item":"x","rating":3}\n{"user"\n', "line 2: "),
        (b'{"user":"a","item":"x","rating":"3"}\n', "line 1: "),
        (b'{"user":"\\ud800","item":"x","rating":3}\n', "line 1: "),
        (gzip.compress(HEADER + b"a,x,3\n" * 999, mtime=0)[:-9], "gzip data is cut off"),
        (b"\x1f\x8bnonsense", "gzip data is cut off"),
    ],
)
def test_unreadable_lines_are_named_with_file_and_line(path, data, says):
    path.write_bytes(data)
    with pytest.raises(BadFile) as caught:
        read_ratings(path)
    assert str(path) in caught.value.detail
    assert says in caught.value.detail


def test_a_file_that_is_not_there_is_named(tmp_path):
    for path in (tmp_path / "missing.csv", tmp_path):
        with pytest.raises(BadFile, match="give a readable"):
            read_ratings(path)


def test_an_overlong_line_is_not_read_into_memory(path, monkeypatch):
    """The gzip holds 64 MB in one line; the reader stops after one."""
    path.write_bytes(gzip.compress(HEADER + b"a" * (64 << 20), compresslevel=1, mtime=0))
    taken = []
    readline = gzip.GzipFile.readline

    def counted(self, size=-1):
        line = readline(self, size)
        taken.append(len(line))
        return line

    monkeypatch.setattr(gzip.GzipFile, "readline", counted)
    with pytest.raises(BadFile, match="longer"):
        read_ratings(path)
    assert sum(taken) < 2 * LONGEST_LINE


@given(data=st.binary(max_size=200))
def test_any_bytes_give_ratings_or_a_clear_error(data, tmp_path_factory):
    path = tmp_path_factory.getbasetemp() / "any"
    for start in (b"", HEADER, b'{"user":"a","item":"x","rating":3}\n'):
        path.write_bytes(start + data)
        with suppress(BadFile):
            assert read_ratings(path).rating.size > 0
