"""A cursor is not signed: whatever one holds, the answer is a page or a refusal."""

from urllib.parse import quote

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from service.api.models.models import CHANGES
from service.http.cursors import seal
from tests.api import Api

OF = {
    "/v1/items": b"items",
    "/v1/users": b"users",
    "/v1/jobs": b"jobs",
    "/v1/models": b"models None",
    "/v1/models/changes": CHANGES.encode(),
    "/v1/categories": b"categories",
    "/v1/users/a/ratings": b"ratings of a",
}
"""The name of each list."""
TEXTS = st.text(max_size=30).map(lambda text: text.encode(errors="surrogatepass"))
NUMBERS = st.integers(-(2**70), 2**70).map(lambda n: str(n).encode())
PLACES = st.tuples(NUMBERS, TEXTS).map(b" ".join)
CHANGE_IDS = st.tuples(NUMBERS, NUMBERS).map(b"-".join)
CONTENTS = st.one_of(st.binary(max_size=40), TEXTS, NUMBERS, PLACES, CHANGE_IDS)


@pytest.mark.parametrize("path", OF)
@settings(max_examples=50, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(content=CONTENTS)
def test_lists_answer_whatever_a_cursor_holds(api: Api, path: str, content: bytes) -> None:
    answer = api("GET", f"{path}?cursor={quote(seal(OF[path], content))}")
    assert answer.status_code in {200, 404, 410, 422}, answer.text
