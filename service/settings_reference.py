"""The page docs/reference/settings.md, generated from the settings."""

import json

from service.limits import Limits
from service.settings import API_KEY_NAME, CONFIG_NAME, KINDS, PREFIX, Kind, Settings

INTRODUCTION = f"""# Settings

Made by `make docs` from `service/settings.py`; a test keeps it fresh.

The service looks for the value of a setting in these places, and takes the first that it finds:

1. a flag of the command line;
2. a variable of the environment (`{PREFIX}PORT=8001`);
3. the file `hedgerow.toml` in the working directory (`port = 8001`); `{CONFIG_NAME}` names another
   file;
4. the default.

The service does not start if there is an unknown variable that begins with `{PREFIX}`.
`hedgerow doctor` prints the settings in effect. `{API_KEY_NAME}` is not a setting of the service:
it is the key that commands send to a running service.

Secrets may be in files: `{PREFIX}REDIS_URL_FILE`, `{PREFIX}JOBS_REDIS_URL_FILE`,
`{PREFIX}REDIS_PASSWORD_FILE` and `{API_KEY_NAME}_FILE` name files that contain the URL, the
password or the key. Files are safer, because other processes can often read the environment. If a
variable and its file are both given, the service does not start. The processes that the service
starts read the same files, so leave the files in place while it runs. Secrets from elsewhere
(`hedgerow.toml`, or a `_FILE` that is a pipe and can be read only once) are passed to these
processes in their environment.
"""

KINDS_TEXT = f"""
## Kinds of feedback

Events with a `rating` teach the online experts; events with a `kind` do not. A kind has a weight
and a sign, which the rankers use, and says whether it hides the item. Kinds in your settings are
added to the kinds below, or change them:

```toml
[kinds.wish]
code = 20       # stored in histories, 1..199; never reuse the code of another kind
weight = 1.5
sign = 1
hides = false
```

In the environment, a variable such as `{PREFIX}KINDS__VIEW__WEIGHT=0.3` does the same.
"""
LIMITS_TEXT = """
## Limits

These settings limit what clients may take of an api process, with or without a key. In the file
they are a table:

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
