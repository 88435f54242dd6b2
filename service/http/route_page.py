"""`/docs`: the OpenAPI document as one plain page that works offline, without scripts."""

from collections.abc import Iterable, Mapping
from html import escape
from typing import Any

from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

Json = Mapping[str, Any]

STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; }
h2 { margin-top: 2.5rem; border-bottom: 1px solid; }
summary { cursor: pointer; } summary code { font-weight: bold; }
details { margin: .4rem 0; } details > * + * { margin-left: 1.2rem; }
td, th { text-align: left; vertical-align: top; padding: .1rem 1rem .1rem 0; }
pre { overflow-x: auto; }
"""
INTERACTIVE = "/docs/interactive"


async def get_page(request: Request) -> Response:
    """Answer with the page."""
    return HTMLResponse(page(request.app.openapi()))


def page(document: Json) -> str:
    """Return a page with every route and its parameters, by tag."""
    info, schemas = document["info"], document["components"]["schemas"]
    tags: dict[str, list[str]] = {}
    for path, operations in document["paths"].items():
        for method, operation in operations.items():
            tags.setdefault(operation["tags"][0], []).append(
                _route(method.upper(), path, operation, schemas)
            )
    parts = [f"<h2>{escape(tag)}</h2>\n{''.join(routes)}" for tag, routes in tags.items()]
    title = f"{escape(info['title'])} {escape(info['version'])}"
    return (
        f'<!doctype html>\n<html lang="en"><meta charset="utf-8"><title>{title}</title>'
        f"<style>{STYLE}</style>\n<h1>{title}</h1>\n<p>{escape(info['summary'])} "
        'All of it for machines: <a href="/openapi.json">/openapi.json</a>. '
        f'To try it in the browser: <a href="{INTERACTIVE}">{INTERACTIVE}</a>, '
        f"which loads its scripts from the internet.</p>\n{''.join(parts)}</html>\n"
    )


def _route(method: str, path: str, operation: Json, schemas: Json) -> str:
    body = operation.get("requestBody", {}).get("content", {})
    codes = ", ".join(f"{status}" for status in operation["responses"])
    return (
        f"<details><summary><code>{method} {escape(path)}</code> "
        f"{escape(operation['summary'])}</summary>\n"
        f"<p>{escape(operation.get('description', ''))}</p>\n"
        f"{_table(_parameters(operation.get('parameters', ())))}"
        f"{''.join(_body(kind, content, schemas) for kind, content in body.items())}"
        f"<p>Answers: {codes}. Role: {escape(operation['x-role'])}.</p></details>\n"
    )


def _parameters(parameters: Iterable[Json]) -> Iterable[tuple[str, str, str]]:
    for one in parameters:
        yield one["name"], one["in"], one.get("description", "")


def _body(kind: str, content: Json, schemas: Json) -> str:
    schema = content.get("itemSchema") or content.get("schema", {})
    for one in (schema, *schema.get("anyOf", ())):
        schema = schemas.get(one.get("$ref", "").rpartition("/")[2], schema)
    needed = schema.get("required", ())
    fields = [
        (name, "needed" if name in needed else "", one.get("description", ""))
        for name, one in schema.get("properties", {}).items()
    ]
    return f"<p>Body: <code>{escape(kind)}</code></p>\n{_table(fields)}"


def _table(rows: Iterable[tuple[str, str, str]]) -> str:
    lines = [
        f"<tr><td><code>{escape(name)}</code><td>{escape(kind)}<td>{escape(says)}\n"
        for name, kind, says in rows
    ]
    return f"<table>\n{''.join(lines)}</table>\n" if lines else ""
