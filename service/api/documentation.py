"""What the OpenAPI document says beyond the routes, and the schemas that FastAPI does not see.

The document is generated, committed in openapi/openapi.json and compared by a test.
"""

import ast
import inspect
import json
import textwrap
from collections.abc import Iterator
from importlib.metadata import version
from itertools import pairwise
from pathlib import Path
from typing import Any

import msgspec
from pydantic.json_schema import models_json_schema

from service.api.catalogue.schemas import BulkWritten, ItemLine, UserLine
from service.api.feedback.schemas import Feedback, Learned, Rejected, Warned, Written
from service.api.feedback.upload import RejectedLine, Uploaded, WarnedLine
from service.api.roles import ROLES
from service.api.slates.answers import (
    Because,
    Blend,
    FailedSlate,
    Failure,
    InExperiment,
    SimilarUser,
    SimilarUsers,
    Slate,
    SlateItem,
    SlateWarning,
)
from service.api.slates.requests import BatchBody, PastEvent, RankBody, RecommendationBody
from service.http.document import About

Json = dict[str, Any]

EXAMPLES = Path(__file__).parent / "examples"
"""Answers of a running service; tests/openapi/recording.py records them."""

STRUCTS = (
    *(Feedback, Written, Rejected, Warned, Learned, Uploaded, RejectedLine, WarnedLine),
    *(Slate, SlateItem, InExperiment, Because, Blend, SimilarUsers, SimilarUser),
    *(FailedSlate, Failure, SlateWarning),
    *(RecommendationBody, BatchBody, RankBody, PastEvent),
)
"""The structures that msgspec parses and writes."""

TAGS = {
    "feedback": "What users did: send it, read it, delete it.",
    "recommendations": "Lists of items for somebody, or of users for an item.",
    "predictions": "The rating that somebody would give an item.",
    "items": "What you say about items; feedback alone also makes an item known.",
    "users": "What you say about users; feedback alone also makes a user known.",
    "experts": "The online models that predict ratings.",
    "topics": "Groups of items that the same people like, and which of them a user likes.",
    "training": "Train models now, or on a schedule.",
    "models": "Which models serve, and how they compare.",
    "experiments": "Compare ways to make lists, by what users take of them.",
    "operations": "Is it alive, is it ready, how is it doing?",
    "webhooks": "Be told of trainings, models, experiments and alarms.",
    "admin": "API keys, and what operators did.",
}
INFO = {
    "title": "Hedgerow",
    "version": version("hedgerow"),
    "summary": "Ratings in, learned within milliseconds, predictions out.",
    "description": "A recommendation service that tunes itself. Send feedback, ask for "
    "recommendations; all else is optional. Every error has a `code` for programs and a `detail` "
    "that tells a person what to do.",
    "contact": {"name": "The maintainers of Hedgerow"},
    "license_info": {"name": "Apache-2.0", "url": "https://www.apache.org/licenses/LICENSE-2.0"},
    "servers": [
        {"url": "/", "description": "The service that you read this document from."},
        {"url": "http://127.0.0.1:8000", "description": "`hedgerow serve` on this machine."},
    ],
    "tags": [{"name": name, "description": says} for name, says in TAGS.items()],
}
PARAMETER_CODES = {
    "user": ("invalid_id",),
    "item": ("invalid_id",),
    "exclude": ("invalid_id",),
    "Idempotency-Key": ("invalid_id",),
    "cursor": ("invalid_cursor",),
    "min_sequence": ("invalid_sequence", "sequence_not_reached"),
    "filter": ("invalid_filter", "not_ready"),
}


def raw_schemas() -> Json:
    """Return the schemas by name: what msgspec parses and writes, and the lines of bulk uploads."""
    _, schemas = msgspec.json.schema_components(STRUCTS, ref_template="#/components/schemas/{name}")
    for struct in STRUCTS:
        properties = schemas[struct.__name__]["properties"]
        for name, says in docstrings(struct):
            properties[name].setdefault("description", says)
        for one in properties.values():
            if "enum" in one:
                one["type"] = "string"
    _, lines = models_json_schema(
        [(ItemLine, "validation"), (UserLine, "validation"), (BulkWritten, "serialization")],
        ref_template="#/components/schemas/{model}",
    )
    return {**lines["$defs"], **schemas}


def docstrings(struct: type[msgspec.Struct]) -> Iterator[tuple[str, str]]:
    """Yield the attributes of a struct with the docstrings below them, as pydantic reads models."""
    for kind in struct.__mro__:
        if kind is not msgspec.Struct and issubclass(kind, msgspec.Struct):
            [definition] = ast.parse(textwrap.dedent(inspect.getsource(kind))).body
            yield from _docstrings(definition)


def _docstrings(definition: ast.stmt) -> Iterator[tuple[str, str]]:
    body = definition.body if isinstance(definition, ast.ClassDef) else []
    for attribute, below in pairwise(body):
        match attribute, below:
            case (
                ast.AnnAssign(target=ast.Name(id=name)),
                ast.Expr(value=ast.Constant(value=str(says))),
            ):
                yield name, inspect.cleandoc(says)


def examples() -> Json:
    """Return the recorded answers: by operation and status, and those of `problems` by code."""
    found: Json = {}
    for file in sorted(EXAMPLES.glob("*.json")):
        recorded = json.loads(file.read_text(encoding="utf-8"))
        found |= {"problems": recorded} if file.stem == "problems" else recorded
    return found


ABOUT = About(
    info=INFO,
    roles=ROLES,
    schemas=raw_schemas,
    examples=examples,
    parameter_codes=PARAMETER_CODES,
)
"""All of it, for the application."""
