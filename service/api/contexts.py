"""Where something happened, as clients say it: up to eight names of their own with short texts."""

import re
from collections.abc import Mapping
from typing import Annotated

from msgspec import Meta

from service.http.faults import NAME
from service.ids import is_id
from service.rec_ids import MOST_CONTEXT
from service.store.log.codec import packed_context

MAX_CONTEXT, MAX_CONTEXT_TEXT = 8, 64
"""Most entries of a context, and the characters of the longest name or text."""

Context = Annotated[dict[str, str], Meta(max_length=MAX_CONTEXT)]

_is_name = re.compile(NAME).fullmatch


def context_fault(context: Mapping[str, str]) -> str | None:
    """Return what is wrong with a context; None if nothing is."""
    for name, text in context.items():
        if not _is_name(name) or len(name) > MAX_CONTEXT_TEXT:
            return (
                f"{name[:MAX_CONTEXT_TEXT]!r} in `context` is not a name: use a letter or _ first, "
                f"then letters, digits and _, at most {MAX_CONTEXT_TEXT} in all"
            )
        if not is_id(text) or len(text) > MAX_CONTEXT_TEXT:
            return (
                f"`context.{name}` must have 1 to {MAX_CONTEXT_TEXT} characters, "
                "none of them a control character"
            )
    return None


def fault_of_request(context: Mapping[str, str]) -> str | None:
    """Return what is wrong with the context of a request for a list; None if nothing is.

    Its `rec_id` carries it, so that it must be short.
    """
    if len(context) > MAX_CONTEXT:
        return f"`context` must have at most {MAX_CONTEXT} entries"
    fault = context_fault(context)
    if fault is None and len(packed_context(context)) > MOST_CONTEXT:
        return (
            "`context` is too long: the `rec_id` of the list carries it. Give "
            f"{MOST_CONTEXT} bytes at most, and anything else in the `context` of events"
        )
    return fault
