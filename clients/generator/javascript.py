"""The generated parts of the JavaScript client: its types and the methods of its class."""

import json
from collections.abc import Iterator
from typing import Any

from clients.generator.document import Document, Operation, Parameter, choices, named

HEAD = "// Written by `make clients` from openapi/openapi.json: do not change it here.\n"
PLAIN = {"string": "string", "integer": "number", "number": "number", "boolean": "boolean"}
TYPES_HEAD = """
/**
 * The types of what is sent and answered, as the OpenAPI document has them. An answer may have more
 * fields than are listed here: a later version of the service may add some. Times in answers are
 * RFC 3339.
 */
"""
CLASS_HEAD = """
import { path } from "./requests.js";

/** @import * as types from "./types.js" */

/** The operations of the service, each as a method. */
export class Operations {
  /**
   * Send a request and return the JSON of its answer.
   * @param {import("./requests.js").Request} _request
   * @returns {Promise<any>}
   */
  call(_request) {
    throw new Error("a client defines how requests are sent");
  }

  /**
   * Go over the rows of all pages, beginning with this request's.
   * @param {import("./requests.js").Request} _request
   * @returns {AsyncGenerator<any, void, void>}
   */
  iterate(_request) {
    throw new Error("a client defines how requests are sent");
  }
"""


def files(document: Document) -> dict[str, str]:
    """Return the text of each generated module, by its name in the package."""
    interfaces = [_interface(name, schema) for name, schema in document.schemas.items()]
    methods = [method for one in document.operations for method in _methods(one)]
    return {
        "types.d.ts": "\n".join([HEAD + TYPES_HEAD.rstrip("\n"), "", *interfaces]),
        "operations.js": HEAD + CLASS_HEAD + "".join(methods) + "}\n",
    }


def _interface(name: str, schema: dict[str, Any]) -> str:
    required = set(schema.get("required", ()))
    lines = [*_comment(schema.get("description", name), ""), f"export interface {name} {{"]
    for field, said in schema.get("properties", {}).items():
        lines += _comment(said["description"], "  ") if said.get("description") else []
        lines.append(f"  {field}{'' if field in required else '?'}: {_kind(said)};")
    return "\n".join([*lines, "}", ""])


def _kind(schema: dict[str, Any], prefix: str = "") -> str:
    """Return a schema as a type."""
    if name := named(schema):
        return prefix + name
    if several := choices(schema):
        kinds = dict.fromkeys(_kind(one, prefix) for one in several)
        return " | ".join(sorted(kinds, key=lambda kind: kind == "null"))
    if "const" in schema:
        return json.dumps(schema["const"])
    if "enum" in schema:
        return " | ".join(map(json.dumps, schema["enum"]))
    if schema.get("type") == "null":
        return "null"
    if schema.get("type") == "array":
        return f"Array<{_kind(schema['items'], prefix)}>"
    if schema.get("type") == "object":
        of = schema.get("additionalProperties")
        return f"Record<string, {_kind(of, prefix) if isinstance(of, dict) else 'any'}>"
    return PLAIN.get(str(schema.get("type")), "any")


def _methods(operation: Operation) -> Iterator[str]:
    answer = f"Promise<{_kind(operation.answer, 'types.')}>"
    yield _method(
        operation, operation.name, operation.description, answer, "call", _given(operation)
    )
    if operation.row:
        rows = f"AsyncGenerator<{_kind(operation.row, 'types.')}, void, void>"
        said = f"Go over all pages of `{operation.name}`, row by row."
        given = [one for one in _given(operation) if one.name not in {"cursor", "offset"}]
        yield _method(operation, operation.iterator, said, rows, "iterate", given)


def _method(
    operation: Operation, name: str, said: str, returns: str, via: str, given: list[Parameter]
) -> str:
    ids = [one.name for one in operation.of("path")]
    comment = [said, "", *(f"@param {{string}} {one}" for one in ids)]
    arguments = list(ids)
    if operation.body:
        optional = not operation.body_is_required
        kind = _kind(operation.body, "types.")
        comment.append(f"@param {{{kind}}} {'[body]' if optional else 'body'}")
        arguments.append("body = null" if optional else "body")
    if given:
        comment.append("@param {object} [options]")
        comment += [
            f"@param {{{_kind(one.schema, 'types.')}}} [options.{_variable(one)}]"
            f" {' '.join(one.description.split())}"
            for one in given
        ]
        arguments.append("options = {}")
    comment.append(f"@returns {{{returns}}}")
    lines = [
        *_comment("\n".join(comment), "  "),
        f"  {name}({', '.join(arguments)}) {{",
        f"    return this.{via}({_request(operation, given)});",
        "  }",
    ]
    return "\n" + "\n".join(lines) + "\n"


def _given(operation: Operation) -> list[Parameter]:
    """Return the parameters that are given by name."""
    return [*operation.of("query"), *operation.of("header")]


def _variable(parameter: Parameter) -> str:
    return parameter.name.replace("-", "_").lower()


def _request(operation: Operation, given: list[Parameter]) -> str:
    where = json.dumps(operation.path)
    if ids := [one.name for one in operation.of("path")]:
        where = f"path({where}, {{ {', '.join(ids)} }})"
    parts = [f'method: "{operation.method}"', f"path: {where}"]
    if any(one.place == "query" for one in given):
        parts.append("query: options")
    if headers := [one for one in given if one.place == "header"]:
        pairs = [f'"{one.name}": options.{_variable(one)}' for one in headers]
        parts.append(f"headers: {{ {', '.join(pairs)} }}")
    if operation.body:
        parts.append("body")
    if operation.condition:
        parts.append(f"repeatable: options.{_variable(operation.condition)} === undefined")
    elif not operation.is_repeatable:
        parts.append("repeatable: false")
    return f"{{ {', '.join(parts)} }}"


def _comment(text: str, indent: str) -> list[str]:
    lines = text.replace("*/", "* /").splitlines()
    if len(lines) == 1:
        return [f"{indent}/** {lines[0]} */"]
    return [f"{indent}/**", *(f"{indent} * {line}".rstrip() for line in lines), f"{indent} */"]
