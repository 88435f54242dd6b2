"""`/docs`: the OpenAPI document as one plain page that works offline, without scripts."""

import json
from collections.abc import Iterable, Iterator, Mapping
from html import escape
from typing import Any

from starlette.responses import HTMLResponse, Response

from service.http.documentation import ITEM_SCHEMA
from service.http.sites import page_policy

Json = Mapping[str, Any]
Row = tuple[str, str, str]
"""A name, what it is, and what it says."""

STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; }
h2 { margin-top: 2.5rem; border-bottom: 1px solid; }
summary { cursor: pointer; } summary code { font-weight: bold; }
details { margin: .4rem 0; } details > * + * { margin-left: 1.2rem; }
td, th { text-align: left; vertical-align: top; padding: .1rem 1rem .1rem 0; }
pre { overflow-x: auto; max-height: 30rem; }
"""
INTERACTIVE = "/docs/interactive"
MOST_CHARACTERS = 4_000
"""Longer examples are cut: /openapi.json has them whole."""


def route_page(document: Json) -> Response:
    """Return the answer with the page."""
    return HTMLResponse(page(document), headers=page_policy())


def page(document: Json) -> str:
    """Return a page with every route, its parameters and its answers, by tag."""
    info, schemas = document["info"], document["components"]["schemas"]
    routes: dict[str, list[str]] = {tag["name"]: [] for tag in document["tags"]}
    for path, operations in document["paths"].items():
        for method, operation in operations.items():
            routes[operation["tags"][0]].append(_route(method.upper(), path, operation, schemas))
    parts = [
        f"<h2>{escape(tag['name'])}</h2>\n<p>{escape(tag['description'])}</p>\n"
        f"{''.join(routes[tag['name']])}"
        for tag in document["tags"]
    ]
    title = f"{escape(info['title'])} {escape(info['version'])}"
    return (
        f'<!doctype html>\n<html lang="en"><meta charset="utf-8"><title>{title}</title>'
        f"<style>{STYLE}</style>\n<h1>{title}</h1>\n<p>{escape(info['summary'])} "
        'All of it for machines: <a href="/openapi.json">/openapi.json</a>. '
        f'To try it in the browser: <a href="{INTERACTIVE}">{INTERACTIVE}</a>.</p>\n'
        f"{''.join(parts)}</html>\n"
    )


def _route(method: str, path: str, operation: Json, schemas: Json) -> str:
    body = operation.get("requestBody", {}).get("content", {})
    parameters = [
        (one["name"], one["in"], one.get("description", ""))
        for one in operation.get("parameters", ())
    ]
    return (
        f"<details><summary><code>{method} {escape(path)}</code> "
        f"{escape(operation['summary'])}</summary>\n"
        f"<p>{escape(operation.get('description', ''))} Role: {escape(operation['x-role'])}. "
        f"In clients: <code>{escape(operation['operationId'])}</code>.</p>\n"
        f"{_table(parameters)}"
        f"{''.join(_content('Body', kind, content, schemas) for kind, content in body.items())}"
        f"{_answers(operation['responses'], schemas)}</details>\n"
    )


def _answers(responses: Json, schemas: Json) -> str:
    good = [
        _content(f"{status}: {response['description']}", kind, content, schemas)
        for status, response in responses.items()
        if status.startswith("2")
        for kind, content in response["content"].items()
    ]
    errors = [
        f"{status} {', '.join(response['x-codes'])}"
        for status, response in responses.items()
        if not status.startswith("2")
    ]
    return f"{''.join(good)}<p>Errors: {escape('; '.join(errors))}.</p>\n"


def _content(says: str, kind: str, content: Json, schemas: Json) -> str:
    schema = content.get(ITEM_SCHEMA) or content.get("schema", {})
    example = content.get("example")
    return (
        f"<p>{escape(says)} <code>{escape(kind)}</code></p>\n"
        f"{_table(_fields(schema, schemas, ''))}"
        f"{'' if example is None else _example(example)}"
    )


def _example(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value, indent=1, ensure_ascii=False)
    cut = text if len(text) <= MOST_CHARACTERS else f"{text[:MOST_CHARACTERS]}\n..."
    return f"<pre>{escape(cut)}</pre>\n"


def _fields(schema: Json, schemas: Json, above: str) -> Iterator[Row]:
    """Yield the fields of a schema, and those of the schemas inside it: ``items[].score``."""
    schema = _resolved(schema, schemas)
    for one in (*schema.get("anyOf", ()), *schema.get("oneOf", ())):
        yield from _fields(one, schemas, above)
    if "items" in schema:
        yield from _fields(schema["items"], schemas, f"{above}[]")
    needed = schema.get("required", ())
    for name, one in schema.get("properties", {}).items():
        path = f"{above}.{name}" if above else name
        kind = _kind(one, schemas)
        yield path, f"{kind}, needed" if name in needed else kind, one.get("description", "")
        yield from _fields(one, schemas, path)


def _resolved(schema: Json, schemas: Json) -> Json:
    name = schema.get("$ref", "").rpartition("/")[2]
    return schemas[name] if name else schema


def _kind(schema: Json, schemas: Json) -> str:
    """Return the types that a value may have: `string or null`."""
    schema = _resolved(schema, schemas)
    kinds = [_kind(one, schemas) for one in (*schema.get("anyOf", ()), *schema.get("oneOf", ()))]
    own = schema.get("format") or schema.get("type", "")
    return " or ".join(dict.fromkeys(kinds or ([own] if own else ["any"])))


def _table(rows: Iterable[Row]) -> str:
    # alternatives share fields
    lines = [
        f"<tr><td><code>{escape(name)}</code><td>{escape(kind)}<td>{escape(says)}\n"
        for name, kind, says in dict.fromkeys(rows)
    ]
    return f"<table>\n{''.join(lines)}</table>\n" if lines else ""
