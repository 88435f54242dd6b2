"""Bounds on what clients may take before anybody knows who they are; the table ``[limits]``."""

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field


class Limits(BaseModel):
    """Bounds on the connections of each api process."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)

    header_bytes: Annotated[int, Field(ge=1024, le=1 << 20)] = 64 << 10
    """Maximum bytes of a request line and its headers; more is refused with 414 or 431."""
