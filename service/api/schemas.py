"""Base classes and types shared by all requests and answers."""

from math import isfinite
from typing import Annotated, Any, Generic, Self, TypeVar

from fastapi import Query
from pydantic import (
    AfterValidator,
    AllowInfNan,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ModelWrapValidatorHandler,
    StrictBool,
    StrictFloat,
    StrictInt,
    StrictStr,
    StringConstraints,
    ValidationError,
    ValidatorFunctionWrapHandler,
    WithJsonSchema,
    WrapValidator,
    computed_field,
    model_validator,
)
from pydantic.config import JsonDict
from pydantic_core import InitErrorDetails, PydanticCustomError

from service.api.times import read_ms, rfc3339
from service.http.cursors import CURSOR
from service.http.faults import NAME, unknown
from service.ids import MAX_ID_LENGTH, id_fault, is_id
from service.rec_ids import model_prefix

T = TypeVar("T")


class Answer(BaseModel):
    """Base of all answers."""

    model_config = ConfigDict(extra="forbid", use_attribute_docstrings=True)


class OfModel(Answer):
    """An answer of a model: its version, and the short form of it."""

    model_version: str | None
    """The version of the model; null without one."""

    @computed_field  # type: ignore[prop-decorator]
    @property
    def short_version(self) -> str | None:
        """The first 12 characters of `model_version`. Click-through shows them, and every request
        accepts them instead of the version. Null without a trained or online model.
        """
        return model_prefix(self.model_version or "") or None


class Request(BaseModel):
    """Base of all requests: strict types, no unknown fields."""

    model_config = ConfigDict(extra="forbid", strict=True, use_attribute_docstrings=True)

    @model_validator(mode="wrap")
    @classmethod
    def _name_what_is_known(cls, given: Any, read: ModelWrapValidatorHandler[Self]) -> Self:
        try:
            return read(given)
        except ValidationError as error:
            faults = [
                InitErrorDetails(type=_unknown_field(cls), loc=fault["loc"], input=None)
                for fault in error.errors(include_url=False, include_input=False)
                if fault["type"] == "extra_forbidden" and len(fault["loc"]) == 1
            ]
            if not faults:
                raise
            raise ValidationError.from_exception_data(cls.__name__, faults) from None


def _unknown_field(of: type[BaseModel]) -> PydanticCustomError:
    return PydanticCustomError("unknown_field", "{words}", {"words": unknown([*of.model_fields])})


def _id(text: str) -> str:
    if not is_id(text):
        raise ValueError(id_fault("id", text))
    return text


def _moment(given: Any) -> str:
    """Return a time in the one format."""
    return rfc3339(read_ms(given))


def _feature(given: Any, read: ValidatorFunctionWrapHandler) -> Any:
    try:
        return read(given)
    except ValidationError:
        # one sentence instead of one fault for each type that it is not
        raise PydanticCustomError(
            "feature",
            "must be a number (whole ones up to 2^53), true, false, a string of at most "
            "1000 characters or a list of at most 100 such strings",
        ) from None


def _extra(given: dict[str, Any]) -> dict[str, Any]:
    if not _is_plain(given, EXTRA_LEVELS):
        raise ValueError(
            f"must hold JSON of at most {EXTRA_LEVELS} levels, "
            "with whole numbers of 64 bits and no lone surrogates"
        )
    return given


def _is_plain(value: Any, levels: int) -> bool:
    """Return whether a value can be stored as JSON, and is read again as the same."""
    if isinstance(value, dict):
        pairs = (part for pair in value.items() for part in pair)
        return levels > 0 and all(_is_plain(part, levels - 1) for part in pairs)
    if isinstance(value, list):
        return levels > 0 and all(_is_plain(part, levels - 1) for part in value)
    if isinstance(value, str):
        return not any("\ud800" <= character <= "\udfff" for character in value)
    if isinstance(value, int):
        return -(2**63) <= value < 2**63
    return value is None or (isinstance(value, float) and isfinite(value))


EXTRA_LEVELS = 16
"""Most levels of objects and lists in what is kept with a document."""

Id = Annotated[str, Field(min_length=1, max_length=MAX_ID_LENGTH), AfterValidator(_id)]
_TIMES = ("date-time", "date")
Moment = Annotated[
    str,
    BeforeValidator(_moment),
    WithJsonSchema(
        {
            "anyOf": [
                *[{"type": "string", "format": one} for one in _TIMES],
                {"type": "number", "description": "Unix seconds, or milliseconds from 1e11 on."},
            ]
        }
    ),
]
"""A time as clients may send it."""
Name = Annotated[str, StringConstraints(pattern=NAME)]
Text = Annotated[StrictStr, StringConstraints(max_length=1_000)]
Whole = Annotated[StrictInt, Field(ge=-(2**53), le=2**53)]
Finite = Annotated[StrictFloat, AllowInfNan(False)]
Feature = Annotated[
    StrictBool | Whole | Finite | Text | Annotated[list[Text], Field(max_length=100)],
    WrapValidator(_feature),
]


def _name_members(schema: JsonDict) -> None:
    """Say of a map what its names look like, in the way that generators of clients understand."""
    patterns: Any = schema.pop("patternProperties")
    [(pattern, values)] = patterns.items()
    schema |= {"propertyNames": {"pattern": pattern}, "additionalProperties": values or True}


Features = Annotated[dict[Name, Feature], Field(max_length=64, json_schema_extra=_name_members)]
Parameters = Annotated[dict[Name, Any], Field(max_length=64, json_schema_extra=_name_members)]
Extra = Annotated[dict[str, Any], AfterValidator(_extra)]

Limit = Annotated[int, Query(ge=1, le=1_000, description="Maximum number of entries on the page.")]
Cursor = Annotated[
    str | None,
    Query(
        max_length=4_096,
        description="`next_cursor` of the page before.",
        json_schema_extra={"pattern": CURSOR},
    ),
]


class Page(Answer, Generic[T]):
    """A page of a list."""

    # for each Page[...] pydantic would search all that is imported for docstrings of these fields,
    # 0.2 s of an api process's start
    model_config = ConfigDict(use_attribute_docstrings=False)

    items: list[T] = Field(description="The entries of this page.")
    next_cursor: str | None = Field(
        description="Send it back as `cursor` for the next page; null at the end."
    )
