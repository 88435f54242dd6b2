"""The page docs/reference/settings.md, generated from the settings."""

import json

from service.limits import Limits
from service.settings import API_KEY_NAME, CONFIG_NAME, KINDS, PREFIX, Kind, Settings

INTRODUCTION = f"""# Settings

Made by `make docs` from `service/settings.py`; a test keeps it fresh.

A setting comes from the first of these that has it: a flag of the command line, the environment
(`{PREFIX}PORT=8001`), the file `hedgerow.toml` in the working directory (`port = 8001`), its
default. `{CONFIG_NAME}` names another file. The service does not start if a variable that begins
with `{PREFIX}` is unknown. `hedgerow doctor` prints the settings in effect. `{API_KEY_NAME}` is
not a setting of the service: it is the key that verbs which talk to the service send.

Secrets may stand in files: `{PREFIX}REDIS_URL_FILE`, `{PREFIX}JOBS_REDIS_URL_FILE`,
`{PREFIX}REDIS_PASSWORD_FILE` and `{API_KEY_NAME}_FILE` name files whose text is the URL, the
password or the key. Other processes can often read an environment; a file has an owner. Setting
both is refused. The processes that the service starts read the same files, so leave them there
while it runs. In their environment these processes get all other secrets, such as those in
`hedgerow.toml` or read from a pipe.
"""

KINDS_TEXT = f"""
## Kinds of feedback

A `rating` teaches the online experts. A `kind` never does: it has a weight and a sign for ranking,
and says whether it hides the item. Kinds in your settings are added to these, or change them:

```toml
[kinds.wish]
code = 20       # stored in histories, 1..199; never reuse the code of another kind
weight = 1.5
sign = 1
hides = false
```

or in the environment `{PREFIX}KINDS__VIEW__WEIGHT=0.3`.
"""
LIMITS_TEXT = """
## Limits

They bound what anybody may take of an api process, with or without a key. In the file they are a
table:

```toml
[limits]
header_bytes = 16384
```
"""


def settings_reference() -> str:
    """Return the whole page."""
    rows = [
        _row(f"`{name}`", f"`{PREFIX}{name.upper()}`", _default(name), field.description)
        for name, field in Settings.model_fields.items()
    ]
    limits = [
        _row(f"`{name}`", f"`{PREFIX}LIMITS__{name.upper()}`", f"`{one.default}`", one.description)
        for name, one in Limits.model_fields.items()
    ]
    kinds = [
        _row(f"`{name}`", *(str(getattr(kind, field)) for field in Kind.model_fields))
        for name, kind in KINDS.items()
    ]
    meanings = [
        f"- `{name}`: {str(field.description).replace('``', '`')}"
        for name, field in Kind.model_fields.items()
    ]
    return "\n".join(
        [
            INTRODUCTION,
            *_table("name", "environment", "default", "meaning"),
            *rows,
            KINDS_TEXT,
            *meanings,
            "",
            *_table("kind", *Kind.model_fields),
            *kinds,
            LIMITS_TEXT,
            *_table("name", "environment", "default", "meaning"),
            *limits,
        ]
    )


def _table(*names: str) -> list[str]:
    return [_row(*names), "|" + " --- |" * len(names)]


def _row(*cells: str | None) -> str:
    texts = (" ".join(str(cell).replace("``", "`").split()) for cell in cells)
    return "| " + " | ".join(texts) + " |"


def _default(name: str) -> str:
    if name in {"kinds", "limits"}:
        return "see below"
    return default_text(Settings.model_fields[name].default)


def default_text(default: object) -> str:
    """Return how the pages write a default."""
    if isinstance(default, dict):
        return f"`{json.dumps(default)}`"
    return "none" if default in {None, ()} else f"`{default}`"
