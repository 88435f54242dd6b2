"""Labelled points in the XMLC text format, and the errors of bad lines."""

import gzip

import numpy as np
import pytest

from service.files.labelled_points import read_xmlc
from service.files.opening import BadFile

GOOD = "3 4 5\n0,3 1:0.5 2:1\n 0:2.25\n4\n"


def written(tmp_path, text, name="points.txt"):
    path = tmp_path / name
    path.write_bytes(
        gzip.compress(text.encode(), mtime=0) if name.endswith("gz") else text.encode()
    )
    return path


@pytest.mark.parametrize("name", ["points.txt", "points.txt.gz"])
def test_points_are_read_with_their_labels_and_features(tmp_path, name):
    points = read_xmlc(written(tmp_path, GOOD, name))
    np.testing.assert_array_equal(
        points.features.toarray(), [[0, 0.5, 1, 0], [2.25, 0, 0, 0], [0, 0, 0, 0]]
    )
    assert points.features.dtype == np.float32
    assert points.labels.n_items == 5
    assert points.labels.user_counts.tolist() == [2, 0, 1]
    assert points.labels.item_ix.tolist() == [0, 3, 4]


def test_line_ends_of_windows_and_blank_lines_at_the_end_are_no_points(tmp_path):
    points = read_xmlc(written(tmp_path, GOOD.replace("\n", "\r\n") + "\r\n\r\n"))
    assert points.labels.user_counts.tolist() == [2, 0, 1]


def test_a_label_that_is_given_twice_counts_once(tmp_path):
    assert read_xmlc(written(tmp_path, "1 1 3\n2,1,2 0:1\n")).labels.item_ix.tolist() == [1, 2]


@pytest.mark.parametrize(
    ("text", "line", "says"),
    [
        ("3 4\n", 1, "'points features labels'"),
        ("0 4 5\n", 1, "at least one"),
        (f"{'9' * 5_000} 4 5\n", 1, "'points features labels'"),
        (f"{1 << 31} 4 5\n", 1, "fewer than 2147483648 points"),
        (f"1 {1 << 27} 5\n0 0:1\n", 1, "at most 67108864 features"),
        (f"1 4 {1 << 27}\n0 0:1\n", 1, "at most 67108864 features or labels"),
        ("1 4 5\n7 0:1\n", 2, "label 7 is outside 0 .. 4"),
        ("1 4 5\n-1 0:1\n", 2, "label -1"),
        ("1 4 5\n0 4:1\n", 2, "feature 4 is outside 0 .. 3"),
        ("1 4 5\n0 1:x\n", 2, "not a point"),
        ("1 4 5\n0 1:2:3\n", 2, "not a point"),
        ("1 4 5\na 1:2\n", 2, "not a point"),
        ("1 40 50\n1_0 1:2\n", 2, "not a point"),
        ("1 40 50\n1 1:2_0\n", 2, "not a point"),
        ("1 4 5\n0, 1:2\n", 2, "not a point"),
        ("1 4 5\n1:2 2:3\n", 2, "begin with a space"),
        ("1 4 5\n0 1:nan\n", 2, "must be finite"),
        ("1 4 5\n0 1:1e39\n", 2, "must be finite"),
        ("1 4 5\n0 1:-1e16\n", 2, "must be finite, at most 1e+15"),
        ("1 4 5\n0 1:2 1:3\n", 2, "given twice"),
        ("2 4 5\n0 1:2\n", 2, "cut off"),
        ("1 4 5\n0 1:2\n0 1:2\n", 3, "more than the 1 points"),
    ],
)
def test_a_bad_line_is_named(tmp_path, text, line, says):
    path = written(tmp_path, text)
    with pytest.raises(BadFile) as raised:
        read_xmlc(path)
    assert str(raised.value).startswith(f"{path}, line {line}: ")
    assert says in str(raised.value)


def test_a_missing_file_and_damaged_gzip_say_what_to_do(tmp_path):
    with pytest.raises(BadFile, match="give a readable file"):
        read_xmlc(tmp_path / "nothing.txt")
    path = written(tmp_path, GOOD, "points.txt.gz")
    path.write_bytes(path.read_bytes()[:-12])
    with pytest.raises(BadFile, match="cut off or damaged"):
        read_xmlc(path)


def test_an_endless_line_is_refused(tmp_path):
    path = written(tmp_path, "1 4 5\n0 " + "1:2 " * 50 + "\n")
    with pytest.raises(BadFile, match="line 2: the line is longer than 20 bytes"):
        read_xmlc(path, longest_line=20)
