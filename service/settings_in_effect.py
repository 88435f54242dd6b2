"""The settings that a process runs with, as people may see them: without passwords."""

import json
from collections.abc import Iterator
from typing import Any, NamedTuple

from pydantic import BaseModel

from service.settings import Settings, without_secrets
from service.store.connection import without_password

URLS = ("redis_url", "jobs_redis_url")
PASSWORD, MASK = "redis_password", "***"


class InEffect(NamedTuple):
    """One setting as it is, as it would be by default, and what it means."""

    name: str
    value: str | None
    default: str | None
    about: str


def redacted(settings: Settings) -> dict[str, Any]:
    """Return the settings as JSON values, without what lets somebody in."""
    tree = settings.model_dump(mode="json")
    if tree[PASSWORD] is not None:
        tree[PASSWORD] = MASK
    for name in URLS:
        if tree[name] is not None:
            tree[name] = without_password(tree[name])
    if tree["traces_url"] is not None:
        tree["traces_url"] = without_secrets(tree["traces_url"])
    return tree


def in_effect(settings: Settings) -> Iterator[InEffect]:
    """Yield every setting; those of a table (``limits``) have its name before theirs."""
    defaults = Settings.model_construct().model_dump(mode="json")
    yield from _of(Settings, redacted(settings), defaults, "")


def _of(
    kind: type[BaseModel], values: dict[str, Any], defaults: dict[str, Any], before: str
) -> Iterator[InEffect]:
    for name, field in kind.model_fields.items():
        table = field.annotation
        if isinstance(table, type) and issubclass(table, BaseModel):
            yield from _of(table, values[name], defaults[name], f"{before}{name}.")
        else:
            about = " ".join(str(field.description).replace("``", "`").split())
            yield InEffect(before + name, _text(values[name]), _text(defaults[name]), about)


def _text(value: Any) -> str | None:
    """Return a value as a variable would hold it; null for none."""
    return value if value is None or isinstance(value, str) else json.dumps(value)
