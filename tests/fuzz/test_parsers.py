"""No parser fails on damaged input: it returns, or says what is wrong by an error of its own.

`make fuzz` feeds ten times as many inputs.
"""

from collections.abc import Iterator, Mapping

import pytest

from tests.fuzz.__main__ import failures
from tests.fuzz.parsers import Parser, parsers

INPUTS = 10_000
with parsers() as known:
    NAMES = tuple(known)


@pytest.fixture(scope="module")
def all_parsers() -> Iterator[Mapping[str, Parser]]:
    with parsers() as found:
        yield found


@pytest.mark.parametrize("name", NAMES)
def test_a_parser_takes_or_refuses_whatever_comes(
    all_parsers: Mapping[str, Parser], name: str
) -> None:
    parser = all_parsers[name]
    assert all(map(parser.accepts, parser.samples))
    accepted, failed = failures(name, parser, INPUTS, seed=0)
    assert failed[:3] == []
    # some inputs must get through, or the inputs say nothing of what comes behind the first check
    assert accepted


def test_a_parser_that_fails_is_found() -> None:
    def parse(data: bytes) -> None:
        if data.endswith(b"}"):
            data.decode("ascii")

    accepted, failed = failures("broken", Parser(parse, [b'{"a": 1}']), 1_000, seed=0)
    assert accepted
    assert any("UnicodeDecodeError" in failure for failure in failed)
