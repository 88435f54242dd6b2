"""Validation errors in plain words: what must be sent instead, and no jargon of a parser."""

import re
from collections.abc import Iterator
from typing import Any

import pytest

from service.http.cursors import CURSOR
from service.http.faults import PATTERNS
from service.ids import SEQUENCE
from tests.api import NDJSON, Api, check_problem
from tests.service.route_requests import BODIES, IDS

JARGON = re.compile(
    r"Input|Extra inputs|String should|List should|Expected `|Object (missing|contains)|"
    r"Value error|constrained|validation|\[key\]|\$|\^\[|\\d|dictionary|Enum|JSON decode|Decoder"
)
"""Except where it is the client's own."""
WRONG: list[Any] = [None, True, -1, 0, 0.5, 10**30, "", "x" * 10_000, [], [None], {}, {"a b": [1]}]

ITEM, USER = "/v1/items/tt1", "/v1/users/ada"
LINK = {"user": "a"}


def paths(text: str) -> str:
    return re.sub(r"{(\w+)}", lambda m: IDS.get(m[1], f"some-{m[1]}"), text)


def schema_of(api: Api, operation: Any) -> Any:
    """Return the schema of a JSON body, if there is one."""
    content = operation.get("requestBody", {}).get("content", {}).get("application/json", {})
    schema = content.get("schema", {})
    for one in (schema, *schema.get("anyOf", ())):
        if "$ref" in one:
            return api.app.openapi()["components"]["schemas"][one["$ref"].split("/")[-1]]
    return schema


def operations(api: Api) -> Iterator[tuple[str, str, Any]]:
    for path, methods in api.app.openapi()["paths"].items():
        for method, operation in methods.items():
            if not path.endswith("/events"):
                yield method.upper(), path, operation


def refusals(api: Api) -> Iterator[tuple[Any, Any]]:
    """Yield a fault and its problem for every parameter and every field of every route."""
    for method, path, operation in operations(api):
        for parameter in operation.get("parameters", ()):
            if parameter["in"] == "query":
                for value in ("", "x" * 9_000, "-1", "0.5", "null", "9" * 30):
                    query = {parameter["name"]: value}
                    body = {"json": BODIES[path]} if path in BODIES and method != "GET" else {}
                    yield (path, query), api(method, paths(path), params=query, **body)
        for field in schema_of(api, operation).get("properties", {}):
            for value in WRONG:
                body = BODIES.get(path, {}) | {field: value}
                yield (path, field, value), api(method, paths(path), json=body)


def test_no_route_speaks_as_its_parser_does(api: Api) -> None:
    n = 0
    for wrong, answer in refusals(api):
        assert answer.status_code < 500, (wrong, answer.text)
        if answer.status_code == 422:
            problem = answer.json()
            told = [problem["detail"], *(one["detail"] for one in problem.get("errors", ()))]
            assert not any(map(JARGON.search, told)), (wrong, told)
            n += 1
    assert n > 200


def test_every_pattern_has_its_words(api: Api) -> None:
    document = str(api.app.openapi())
    used = {pattern for pattern in PATTERNS if repr(pattern)[1:-1] in document}
    assert used == set(PATTERNS)
    # cursors and sequences have codes of their own
    assert set(re.findall(r"'pattern': '(.+?)'[,}]", document)) <= {
        repr(pattern)[1:-1] for pattern in (*PATTERNS, CURSOR, SEQUENCE)
    }


@pytest.mark.parametrize(
    ("method", "path", "body", "field", "says"),
    [
        ("PUT", ITEM, {"flavour": 1}, "body.flavour", "is unknown; allowed are: available_from"),
        ("PUT", ITEM, {"features": {"a": [1, 2]}}, "body.features.a", "must be a number (whole"),
        ("PUT", ITEM, {"features": {"a": None}}, "body.features.a", "must be a number (whole"),
        ("PUT", ITEM, {"features": {"a b": 1}}, "body.features.a b", "a letter or _ first"),
        ("PUT", ITEM, {"features": [1]}, "body.features", "must be an object"),
        ("PUT", ITEM, {"hidden": 1}, "body.hidden", "must be true or false"),
        ("PUT", ITEM, {"categories": [""]}, "body.categories.0", "must not be empty"),
        ("PUT", ITEM, {"available_from": "now"}, "body.available_from", "must be a time: RFC 3339"),
        ("PUT", USER, {"links": [LINK | {"w": 1}]}, "body.links.0.w", "allowed are: user, weight"),
        ("PUT", USER, {"links": [LINK | {"weight": 0}]}, "body.links.0.weight", "more than 0"),
        ("POST", "/v1/predictions", {"pairs": []}, "body.pairs", "must not be empty"),
        ("POST", "/v1/predictions", {}, "body.pairs", "is missing"),
        ("POST", "/v1/rank", {"user": "a"}, "body.candidates", "is missing"),
        ("POST", "/v1/rank", {"candidates": []}, "body.candidates", "must not be empty"),
        ("POST", "/v1/rank", {"candidates": [1]}, "body.candidates.0", "must be a string, not a"),
        ("POST", "/v1/recommendations", {"k": 0}, "body.k", "must be from 1 to 1000"),
        ("POST", "/v1/recommendations", {"blend": 2}, "body.blend", "must be from 0 to 1"),
        ("POST", "/v1/recommendations", {"flavour": 1}, "body.flavour", "allowed are: blend, "),
        (
            "POST",
            "/v1/recommendations",
            {"history": [{"item": "a", "stars": 1}]},
            "body.history.0.stars",
            "allowed are: item, kind, rating",
        ),
        ("POST", "/v1/recommendations", [], "body", "must be an object, not a list"),
        ("POST", "/v1/admin/keys", {"role": "king", "name": "n"}, "body.role", "one of 'read'"),
        ("GET", "/v1/jobs?limit=0", None, "query.limit", "must be at least 1"),
        ("GET", "/v1/jobs?limit=ten", None, "query.limit", "must be a whole number"),
        ("GET", "/v1/jobs/nope", None, "path.job", "must be the `id` of a job, 16 digits"),
        ("GET", "/v1/jobs/nope/events", None, "path.job", "must be the `id` of a job, 16 digits"),
        ("DELETE", "/v1/admin/keys/nope", None, "path.key", "must be the `id` of a key"),
        ("GET", "/v1/models?strategy=magic", None, "query.strategy", "one of 'fbgd', 'ocmf'"),
    ],
)  # fmt: skip
def test_a_fault_names_its_field_once_and_the_expected_value(
    api: Api, method: str, path: str, body: Any, field: str, says: str
) -> None:
    more = {} if body is None else {"json": body}
    problem = check_problem(api(method, path, **more), 422, "invalid_request")
    [fault] = problem["errors"]
    assert fault["field"] == field
    assert says in fault["detail"]
    assert problem["detail"] == f"{field}: {fault['detail']}"


@pytest.mark.parametrize(
    ("row", "says"),
    [
        ('{"user": "a", "item": "b"}', "give a `rating`"),
        ('{"user": "a", "rating": 3}', "`item` is missing"),
        ('{"user": "a", "item": "b", "rating": "3"}', "`rating` must be a number, not a string"),
        (
            '{"user": "a", "item": "b", "stars": 3}',
            "`stars` is unknown; allowed are: context, event_id, ",
        ),
        ('{"user": 7, "item": "b", "rating": 3}', "`user` must be a string, not a whole number"),
        ('{"user": "a", "item": "b", "rating": 3, "timestamp": true}', "RFC 3339"),
        ('{"user": "a", "item": "b", "rating": 3, "timestamp": "now"}', "RFC 3339"),
        ("[7]", "a row of feedback must be an object, not a whole number"),
    ],
)
def test_each_route_reports_a_row_of_feedback_alike(api: Api, row: str, says: str) -> None:
    many = row if row.startswith("[") else f"[{row}]"
    array = api("POST", "/v1/ratings", content=many, headers={"content-type": "application/json"})
    assert says in array.json()["rejected"][0]["detail"]
    if row.startswith("{"):
        stream = api("POST", "/v1/ratings/stream", content=row, headers=NDJSON)
        assert says in stream.json()["rejected"][0]["detail"]


def test_a_faulty_line_of_a_document_is_reported(api: Api) -> None:
    lines = '{"item": "a", "colour": 1}\n{"item": "a", "features": {"a": {}}}\n{"item"\n[]\n{}\n'
    rejected = api("POST", "/v1/items", content=lines, headers=NDJSON).json()["rejected"]
    says = ("colour: is unknown", "features.a: must be", "the row is not JSON", "", "item: is")
    for one, words in zip(rejected, says, strict=True):
        assert words in one["detail"]
        assert not JARGON.search(one["detail"])
