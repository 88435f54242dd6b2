"""Users and items of Gorse, made of our documents and made into them."""

from typing import Any

from pydantic import BaseModel, ValidationError

from service.api.catalogue.schemas import ItemBody, UserBody, stored
from service.api.gorse.call import Refused, text_of
from service.api.gorse.labels import Body, comment_of, labels_of, with_comment, with_labels
from service.api.gorse.times import read_time, written
from service.api.times import read_ms, rfc3339

Given = dict[str, Any]
"""A JSON object of a request, its names in lower case."""


def user_of(user: str, body: Body | None) -> dict[str, Any]:
    """Return a user as Gorse writes it."""
    said = body or {}
    return {"UserId": user, "Labels": labels_of(said), "Comment": comment_of(said)}


def user_body(given: Given, old: Body | None = None) -> Body:
    """Return the document of a user; with ``old``, what is missing or null stays as it is."""
    return _valid(UserBody, _described(old or {}, given, is_patch=old is not None))


def item_of(item: str, body: Body | None) -> dict[str, Any]:
    """Return an item as Gorse writes it."""
    said = body or {}
    since = said.get("available_from")
    return {
        "ItemId": item,
        "IsHidden": said.get("hidden", False),
        "Categories": said.get("categories"),
        "Timestamp": written(None if since is None else read_ms(since)),
        "Labels": labels_of(said),
        "Comment": comment_of(said),
    }


def item_body(given: Given, old: Body | None = None) -> Body:
    """Return the document of an item; with ``old``, what is missing or null stays as it is."""
    is_patch = old is not None
    body = _described(old or {}, given, is_patch=is_patch)
    if not is_patch or given.get("ishidden") is not None:
        body["hidden"] = given.get("ishidden") or False
    if not is_patch or given.get("categories") is not None:
        body["categories"] = given.get("categories") or []
    if not is_patch or given.get("timestamp") is not None:
        since = read_time(text_of(given, "Timestamp"))
        body["available_from"] = None if since is None else rfc3339(since)
    return _valid(ItemBody, body)


def _described(old: Body, given: Given, *, is_patch: bool) -> Body:
    body = dict(old)
    if not is_patch or given.get("labels") is not None:
        body = with_labels(body, given.get("labels"))
    if not is_patch or given.get("comment") is not None:
        body = with_comment(body, text_of(given, "Comment"))
    return body


def _valid(model: type[BaseModel], body: Body) -> Body:
    try:
        return stored(model.model_validate(body))
    except ValidationError as error:
        fault = error.errors(include_url=False, include_input=False)[0]
        where = ".".join(str(part) for part in fault["loc"])
        raise Refused(f"{where}: {fault['msg']}") from None
