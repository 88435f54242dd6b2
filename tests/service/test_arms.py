"""Arms in ids and in the log: what is written is read again, and nothing else is."""

import pytest

from service.arms import BUCKETS, LONGEST, CountedArm, joined, parted
from service.rec_ids import LONGEST as LONGEST_ID
from service.rec_ids import MOST_CONTEXT, context_of_list, encode, with_context


def test_every_arm_is_read_again() -> None:
    for number in range(8):
        for bucket in range(BUCKETS):
            arm = CountedArm("9f2c01", number, bucket)
            assert CountedArm.of(str(arm)) == arm
            assert len(str(arm)) <= LONGEST
            for context in (b"", b"device=phone\npage=home"):
                assert parted(joined(context, arm)) == (context, arm)


@pytest.mark.parametrize(
    "line",
    ["~9f2c01=8.1", "~9f2c01=1.64", "~9f2c01=1.01", "~9f2c0=1.1", "~9F2C01=1.1", "~9f2c01=1.1\n"],
)
def test_what_names_no_arm_is_none(line: str) -> None:
    assert CountedArm.of(line) is None
    assert parted(line.encode()) == (line.encode(), None)


def test_an_id_has_room_for_the_longest_context_and_an_arm() -> None:
    context = joined(b"a=" + b"x" * (MOST_CONTEXT - 2), CountedArm("9f2c01", 7, 63))
    text = with_context(encode("fbgd", "a" * 64, 1_763_000_000_000, "ada"), context)
    assert len(text) <= LONGEST_ID
    assert context_of_list(text, "ada") == context
