"""Times in the many forms that Gorse reads."""

import pytest

from service.api.gorse.call import Refused
from service.api.gorse.showing import duration
from service.api.gorse.times import read_time, written


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("May 8, 2009 5:57:51 PM", "2009-05-08T17:57:51Z"),
        ("May 8, 2009 12:07:51 am", "2009-05-08T00:07:51Z"),
        ("05/08/2009 5:57 PM", "2009-05-08T17:57:00Z"),
        ("May 8, 2009 17:57:51", "2009-05-08T17:57:51Z"),
        ("Mon Jan 02 15:04:05 MST 2006", "2006-01-02T22:04:05Z"),
        ("Mon, 02 Jan 2006 15:04:05 -0700", "2006-01-02T22:04:05Z"),
        ("2022-02-24 12:00:00 +0000 UTC", "2022-02-24T12:00:00Z"),
        ("2022-02-24 12:00:00.5 +0300 MSK m=+0.1", "2022-02-24T09:00:00.5Z"),
        ("20220224120000", "2022-02-24T12:00:00Z"),
        ("0001-01-01T00:00:00+01:00", "0001-01-01T00:00:00Z"),
    ],
)
def test_common_forms_are_read(text: str, meant: str) -> None:
    assert written(read_time(text)) == meant


@pytest.mark.parametrize(
    "text",
    [
        "9999-12-31T23:59:59-01:00",
        "Mon, 01 Jan 99999999999999999999 00:00:00 GMT",
        "8 May 2009 5:57:51PM or so",
        "PM",
    ],
)
def test_what_is_no_time_is_refused(text: str) -> None:
    with pytest.raises(Refused, match="is no time"):
        read_time(text)


@pytest.mark.parametrize("text", ["99999999h", "9" * 400 + "h", "2562048h"])
def test_a_duration_has_the_bound_of_go(text: str) -> None:
    with pytest.raises(Refused, match="at most 2562047h"):
        duration(text)
