"""The example of the client works beside a running service."""

import doctest
from pathlib import Path

import pytest

from hedgerow import ServiceClient, ndjson
from tests.service.running import service


@pytest.mark.flow
def test_the_example_of_the_client_recommends_what_others_have(tmp_path: Path) -> None:
    (example,) = doctest.DocTestParser().get_examples(ServiceClient.__doc__ or "")
    names = {"ServiceClient": ServiceClient}
    exec(example.source, names)  # noqa: S102 - our own docstring
    with service(tmp_path, trainer=False) as running, running.client() as client:
        likes = [{"user": "bob", "item": item, "kind": "like"} for item in ("book", "song")]
        receipt = client.upload("/v1/ratings/stream", ndjson(likes))
        client.wait_until_learned(receipt.sequence)
        assert set(names["recommended"](running.url, "ada")) == {"book", "song"}  # type: ignore[operator]
