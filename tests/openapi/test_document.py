"""The OpenAPI document is complete, and says of each route what a reader or a generator needs."""

import json
import re
from collections import Counter
from collections.abc import Iterator

import pytest
from msgspec import Struct
from pydantic import BaseModel

from service.app import create_app
from service.http.codes import CODES
from service.http.problems import MEDIA_TYPE
from service.runtime.api import no_runtime
from service.settings import Settings
from tests.openapi.document import (
    COMMITTED,
    DOCUMENT,
    OPERATIONS,
    SCHEMAS,
    Operation,
    properties,
)

of_each_operation = pytest.mark.parametrize("operation", OPERATIONS, ids=lambda one: one.id)
TIMES = re.compile(
    r"created|started|ended|revoked|changed|last_began|not_before|timestamp|at|available_\w+"
)
"""Names of what is a time."""


def test_the_committed_document_is_the_generated_one() -> None:
    generated = create_app(no_runtime, Settings()).openapi()
    assert json.loads(json.dumps(generated)) == DOCUMENT, "run: make openapi"


def test_the_document_says_whose_it_is_and_where() -> None:
    assert DOCUMENT["info"]["license"]["name"] == "Apache-2.0"
    assert DOCUMENT["info"]["contact"]["name"]
    assert DOCUMENT["servers"][0]["url"] == "/"
    assert all(server["description"] for server in DOCUMENT["servers"])


def test_every_tag_is_described_and_used() -> None:
    described = {tag["name"]: tag["description"] for tag in DOCUMENT["tags"]}
    assert all(described.values())
    assert {tag for operation in OPERATIONS for tag in operation.says["tags"]} == set(described)
    assert all(len(operation.says["tags"]) == 1 for operation in OPERATIONS)


def test_operations_have_names_that_a_person_would_choose() -> None:
    names = [operation.id for operation in OPERATIONS]
    assert {"recommend", "sendFeedback", "listItems", "predictRating"} <= set(names)
    assert len(set(names)) == len(names)
    assert [name for name in names if not re.fullmatch(r"[a-z]+([A-Z][a-z]+){0,3}", name)] == []
    # a name says what is done, never how
    assert [name for name in names if re.match(r"(put|post|patch)[A-Z]", name)] == []


@of_each_operation
def test_an_operation_is_described(operation: Operation) -> None:
    says = operation.says
    assert says["summary"]
    assert says["description"]
    assert ("security" in says) == (says["x-role"] != "open")
    for parameter in says.get("parameters", []):
        assert parameter.get("description"), parameter["name"]
    for content in says.get("requestBody", {}).get("content", {}).values():
        assert content.get("example") or content.get("examples")


@of_each_operation
def test_an_answer_is_described_and_has_a_schema(operation: Operation) -> None:
    for status, response in operation.responses("2"):
        assert response["description"] != "Successful Response", status
        for content in response["content"].values():
            assert content["schema"], status


@of_each_operation
def test_each_status_lists_its_own_codes_only(operation: Operation) -> None:
    problems = dict(operation.responses("4")) | dict(operation.responses("5"))
    for status, response in problems.items():
        assert list(response["content"]) == [MEDIA_TYPE]
        codes = response["x-codes"]
        assert codes
        assert {CODES[code].status for code in codes} == {int(status)}
        assert re.findall(r"^- `(\w+)`: ", response["description"], re.MULTILINE) == codes
    assert {code for one in problems.values() for code in one["x-codes"]} >= {
        "invalid_request",
        "internal",
    }


BEFORE_ANY_ROUTE = {
    "malformed_request",
    "headers_too_large",
    "too_slow",
    "too_many_connections",
    "overloaded",
    "rate_limited",
    "untrusted_host",
    "foreign_origin",
}
"""The codes of refusals that every route may answer, whatever it does: docs/reference/errors.md."""


def test_every_code_is_of_some_operation() -> None:
    listed = {
        code
        for operation in OPERATIONS
        for response in operation.says["responses"].values()
        for code in response.get("x-codes", ())
    }
    # the method is not that of any operation; a row alone is too long; a WebSocket is no operation
    others = {"method_not_allowed", "line_too_long", "upgrade_required"}
    assert set(CODES) - listed == others | BEFORE_ANY_ROUTE


def test_every_property_is_described() -> None:
    all_of_them = dict(
        each for name, schema in SCHEMAS.items() for each in properties(schema, name)
    )
    assert len(all_of_them) > 400
    assert [where for where, one in all_of_them.items() if not one.get("description")] == []
    assert [name for name, schema in SCHEMAS.items() if not schema.get("description")] == []


def test_every_time_is_a_date_time() -> None:
    times = [
        (where, one)
        for name, schema in SCHEMAS.items()
        for where, one in properties(schema, name)
        if TIMES.fullmatch(where.rpartition(".")[2])
    ]
    assert len(times) > 15
    assert [where for where, one in times if '"date-time"' not in json.dumps(one)] == []


def test_every_reference_leads_somewhere() -> None:
    named = set(re.findall(r'"#/components/schemas/(\w+)"', COMMITTED.read_text()))
    assert named == set(SCHEMAS)


def test_no_two_shapes_share_a_name() -> None:
    """Models with one name would share a schema of the document."""
    shapes = [one for kind in (BaseModel, Struct) for one in _below(kind)]
    names = Counter(one.__name__ for one in shapes if one.__module__.startswith("service.api."))
    assert names["Slate"] == 1
    assert [name for name, times in names.items() if times > 1] == []


def test_promotions_and_pins_need_a_reason() -> None:
    for path, method in (("promote", "post"), ("pin", "put")):
        operation = DOCUMENT["paths"][f"/v1/models/{{version}}/{path}"][method]
        [content] = operation["requestBody"]["content"].values()
        [name] = re.findall(r"#/components/schemas/(\w+)", json.dumps(content["schema"]))
        body = SCHEMAS[name]
        assert (list(body["properties"]), body["additionalProperties"]) == (["why"], False)


def _below(kind: type) -> Iterator[type]:
    for one in kind.__subclasses__():
        yield one
        yield from _below(one)
