"""The schemas of the OpenAPI document that FastAPI does not see: those of the raw routes.

The document is generated, committed in openapi/openapi.json and compared by a test.
"""

from typing import Any

import msgspec
from pydantic.json_schema import models_json_schema

from service.api.catalogue.schemas import BulkWritten, ItemLine, UserLine
from service.api.feedback.schemas import Feedback, Written
from service.api.feedback.upload import Uploaded
from service.api.slates.answers import SimilarUsers, Slate
from service.api.slates.requests import RankBody, RecommendationBody


def raw_schemas() -> dict[str, Any]:
    """Return the schemas by name: what msgspec parses and writes, and the lines of bulk uploads."""
    _, schemas = msgspec.json.schema_components(
        [Feedback, Written, Uploaded, Slate, SimilarUsers, RecommendationBody, RankBody],
        ref_template="#/components/schemas/{name}",
    )
    _, lines = models_json_schema(
        [(ItemLine, "validation"), (UserLine, "validation"), (BulkWritten, "serialization")],
        ref_template="#/components/schemas/{model}",
    )
    return {**lines["$defs"], **schemas}
