"""The generated parts of the Python client: its types and the methods of both its classes."""

import re
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from typing import Any

from clients.generator.document import Document, Operation, Parameter, choices, named, refers, snake

HEAD = "# Written by `make clients` from openapi/openapi.json: do not change it here.\n"
PLAIN = {"string": "str", "integer": "int", "number": "float", "boolean": "bool", "null": "None"}

TYPES_HEAD = '''"""The types of what is sent and answered, as the OpenAPI document has them.

A value is a plain dictionary. An answer may have more fields than are listed here: a later version
of the service may add some. Times in answers are RFC 3339.
"""
'''
METHODS_HEAD = '''"""A method for each operation of the service{how}."""

# ruff: noqa: A002 - parameters have the names that they have in the OpenAPI document

from abc import ABC, abstractmethod
from collections.abc import {iterator}, Sequence
from typing import Any, Literal

from hedgerow_client import types
from hedgerow_client.requests import Request, path
'''


def files(document: Document) -> dict[str, str]:
    """Return the text of each generated module, by its name in the package."""
    return {
        "types.py": _formatted(_types(document)),
        "operations.py": _formatted(_operations(document, asynchronous=False)),
        "async_operations.py": _formatted(_operations(document, asynchronous=True)),
    }


def _types(document: Document) -> str:
    parts = [
        HEAD,
        TYPES_HEAD,
        "from typing import Any, Literal, NotRequired, TypedDict\n",
        *(_typed_dict(name, schema) for name, schema in document.schemas.items()),
    ]
    return "\n".join(parts)


def _typed_dict(name: str, schema: dict[str, Any]) -> str:
    required = set(schema.get("required", ()))
    lines = [f"class {name}(TypedDict):", _docstring(schema.get("description", name))]
    for field, said in schema.get("properties", {}).items():
        kind = _kind(said, package="")
        # the type of a field may be defined further down
        kind = f'"{kind}"' if refers(said) else kind
        kind = kind if field in required else f"NotRequired[{kind}]"
        lines.append(f"    {field}: {kind}")
        if said.get("description"):
            lines.append(_docstring(said["description"]))
    return "\n".join(lines) + "\n\n"


def _kind(schema: dict[str, Any], *, package: str = "types.") -> str:
    """Return a schema as a type."""
    if name := named(schema):
        return f"{package}{name}"
    if several := choices(schema):
        kinds = dict.fromkeys(_kind(one, package=package) for one in several)
        return " | ".join(sorted(kinds, key=lambda kind: kind == "None"))
    if "const" in schema:
        return f"Literal[{schema['const']!r}]"
    if "enum" in schema:
        return f"Literal[{', '.join(map(repr, schema['enum']))}]"
    if schema.get("type") == "array":
        return f"list[{_kind(schema['items'], package=package)}]"
    if schema.get("type") == "object":
        of = schema.get("additionalProperties")
        inner = _kind(of, package=package) if isinstance(of, dict) else "Any"
        return f"dict[str, {inner}]"
    return PLAIN.get(str(schema.get("type")), "Any")


def _operations(document: Document, *, asynchronous: bool) -> str:
    how = ", to be awaited" if asynchronous else ""
    iterator = "AsyncIterator" if asynchronous else "Iterator"
    word, name = ("async ", "AsyncOperations") if asynchronous else ("", "Operations")
    methods = [
        method
        for operation in document.operations
        for method in _methods(operation, asynchronous=asynchronous)
    ]
    base = f'''
class {name}(ABC):
    """The operations of the service, each as a method."""

    @abstractmethod
    {word}def call(self, request: Request) -> Any:
        """Send a request and return the JSON of its answer."""

    @abstractmethod
    def iterate(self, request: Request) -> {iterator}[Any]:
        """Go over the rows of all pages, beginning with this request's."""
'''
    return "\n".join([HEAD, METHODS_HEAD.format(how=how, iterator=iterator), base, *methods])


def _methods(operation: Operation, *, asynchronous: bool) -> Iterator[str]:
    word, wait = ("async ", "await ") if asynchronous else ("", "")
    answer = _kind(operation.answer)
    yield f"""
    {word}def {operation.snake}({_signature(operation)}) -> {answer}:
{_docstring(_description(operation), 8)}
        answer: {answer} = {wait}self.call({_request(operation)})
        return answer
"""
    if operation.row:
        rows = f"{'AsyncIterator' if asynchronous else 'Iterator'}[{_kind(operation.row)}]"
        yield f"""
    def {snake(operation.iterator)}({_signature(operation, paged=False)}) -> {rows}:
        \"\"\"Go over all pages of ``{operation.snake}``, row by row.\"\"\"
        return self.iterate({_request(operation, paged=False)})
"""


def _signature(operation: Operation, *, paged: bool = True) -> str:
    words = ["self", *(f"{one.name}: str" for one in operation.of("path"))]
    if operation.body:
        kind = _body_kind(operation.body)
        words.append(f"body: {kind}" if operation.body_is_required else f"body: {kind} = None")
    named_ones = [
        f"{_variable(one)}: {_kind(one.schema)} | None = None" for one in _named(operation, paged)
    ]
    return ", ".join([*words, *(["*", *named_ones] if named_ones else [])])


def _body_kind(schema: dict[str, Any]) -> str:
    """Return the type of a body, which may be any mapping or sequence."""
    kinds = [
        f"Sequence[{_kind(one['items'])}]" if one.get("type") == "array" else _kind(one)
        for one in choices(schema) or [schema]
    ]
    return " | ".join(sorted(kinds, key=lambda kind: kind == "None"))


def _named(operation: Operation, paged: bool) -> list[Parameter]:
    """Return the parameters that are given by name."""
    given = [*operation.of("query"), *operation.of("header")]
    return [one for one in given if paged or one.name not in {"cursor", "offset"}]


def _variable(parameter: Parameter) -> str:
    return parameter.name.replace("-", "_").lower()


def _request(operation: Operation, *, paged: bool = True) -> str:
    parts = [repr(operation.method), _path(operation)]
    for place, argument in (("query", "query"), ("header", "headers")):
        pairs = [
            f"{one.name!r}: {_variable(one)}"
            for one in _named(operation, paged)
            if one.place == place
        ]
        if pairs:
            parts.append(f"{argument}={{{', '.join(pairs)}}}")
    if operation.body:
        parts.append("body=body")
    if operation.condition:
        parts.append(f"repeatable={_variable(operation.condition)} is None")
    elif not operation.is_repeatable:
        parts.append("repeatable=False")
    return f"Request({', '.join(parts)})"


def _path(operation: Operation) -> str:
    given = [one.name for one in operation.of("path")]
    if not given:
        return repr(operation.path)
    return f"path({operation.path!r}, {', '.join(f'{name}={name}' for name in given)})"


def _description(operation: Operation) -> str:
    said = [f"{_variable(one)}: {one.description}" for one in _named(operation, paged=True)]
    return "\n".join([operation.description, "", *(f"- {line}" for line in said)]).strip()


def _docstring(text: str, indent: int = 4) -> str:
    """Return a docstring whose lines are short enough."""
    pad = " " * indent
    paragraphs = re.split(r"\n(?:\n+|(?=- ))", text.replace("\\", "\\\\"))
    lines: list[str] = []
    for paragraph in paragraphs:
        is_item = paragraph.startswith("- ")
        if lines and not (is_item and lines[-1][:2] in {"- ", "  "}):
            lines.append("")
        lines += textwrap.wrap(paragraph, 93 - indent, subsequent_indent="  " if is_item else "")
    if lines[-1].endswith('"'):
        lines[-1] += " "
    body = "\n".join(f"{pad}{line}".rstrip() for line in lines).lstrip()
    end = f'\n{pad}"""' if len(lines) > 1 else '"""'
    return f'{pad}"""{body}{end}'


def _formatted(source: str) -> str:
    """Return the source as the formatter of this repository would have it."""
    done = subprocess.run(
        [sys.executable, "-m", "ruff", "format", "--stdin-filename", "clients/generated.py", "-"],
        input=source,
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout
