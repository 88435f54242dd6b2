"""Labels and comments of Gorse as members of our documents, and back.

A member of ``Labels`` that can be a feature is one, a list of texts is the feature ``labels``, a
comment is the feature ``comment``: rankers, filters and the search read them. Whatever else there
is stays whole in the document's ``extra``, so that it is read as it was written.
"""

from typing import Any

from pydantic import TypeAdapter, ValidationError

from service.api.schemas import Feature, Name

COMMENT, LABELS = "comment", "labels"
"""The names of two features, and in ``extra`` of what does not fit into them."""
MOST_TEXT, MOST_FEATURES = 1_000, 62
"""Characters of a feature, and features of a document beside these two."""

Body = dict[str, Any]

_NAME: TypeAdapter[str] = TypeAdapter(Name)
_FEATURE: TypeAdapter[Any] = TypeAdapter(Feature)
_NOTHING = object()


def with_labels(body: Body, labels: Any) -> Body:
    """Return a document with other labels."""
    features = {COMMENT: said} if (said := body.get("features", {}).get(COMMENT)) else {}
    extra = {name: value for name, value in body.get("extra", {}).items() if name != LABELS}
    if isinstance(labels, dict) and labels:
        named = {name: value for name, value in labels.items() if _is_feature(name, value)}
        named = dict(list(named.items())[:MOST_FEATURES])
        rest = {name: value for name, value in labels.items() if name not in named}
        features |= named
        extra |= {LABELS: rest} if rest else {}
    elif isinstance(labels, list) and labels and _fits(labels):
        features[LABELS] = labels
    elif labels is not None:
        extra[LABELS] = labels
    return _with(body, features, extra)


def labels_of(body: Body) -> Any:
    """Return the labels of a document, None if it has none."""
    features = {k: v for k, v in body.get("features", {}).items() if k != COMMENT}
    rest = body.get("extra", {}).get(LABELS, _NOTHING)
    if rest is _NOTHING:
        return features[LABELS] if [*features] == [LABELS] else features or None
    return {**features, **rest} if isinstance(rest, dict) else rest


def with_comment(body: Body, comment: str) -> Body:
    """Return a document with another comment."""
    features = {k: v for k, v in body.get("features", {}).items() if k != COMMENT}
    extra = {name: value for name, value in body.get("extra", {}).items() if name != COMMENT}
    if comment:
        features[COMMENT] = comment[:MOST_TEXT]
    if len(comment) > MOST_TEXT:
        extra[COMMENT] = comment
    return _with(body, features, extra)


def comment_of(body: Body) -> str:
    """Return the comment of a document."""
    short = body.get("features", {}).get(COMMENT, "")
    comment = body.get("extra", {}).get(COMMENT, short)
    return comment if isinstance(comment, str) else str(comment)


def _with(body: Body, features: Body, extra: Body) -> Body:
    rest = {name: value for name, value in body.items() if name not in {"features", "extra"}}
    return rest | ({"features": features} if features else {}) | ({"extra": extra} if extra else {})


def _is_feature(name: str, value: Any) -> bool:
    if name in {COMMENT, LABELS} or value == []:  # an empty list is no value of a feature
        return False
    try:
        _NAME.validate_python(name)
    except ValidationError:
        return False
    return _fits(value)


def _fits(value: Any) -> bool:
    try:
        _FEATURE.validate_python(value)
    except ValidationError:
        return False
    return True
