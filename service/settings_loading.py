"""Loading the settings from flags, HEDGEROW_* variables and the file; what is wrong, in words."""

import difflib
import json
import os
import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from pydantic import ValidationError
from pydantic_core import ErrorDetails
from pydantic_settings import SettingsError

from service.errors import Misconfigured
from service.limits import Limits
from service.settings import API_KEY_NAME, CONFIG_NAME, PREFIX, Kind, Settings, settings_file
from service.store_urls import URLS, with_whole_urls, without_given_password

SECRETS = (*URLS, "redis_password")
"""Settings that may stand in a file of their own."""
IN_FILE = "_FILE"
"""End of a variable that names the file with a secret."""
KNOWN_NAMES = frozenset(
    {PREFIX + name.upper() for name in Settings.model_fields}
    | {PREFIX + name.upper() + IN_FILE for name in SECRETS}
    | {CONFIG_NAME, API_KEY_NAME, API_KEY_NAME + IN_FILE}
)


def load_settings(**flags: Any) -> Settings:
    """Return the settings of flags that are not None, HEDGEROW_* and the file.

    Raise Misconfigured, which names every invalid setting.
    """
    _refuse_unknown_names(os.environ)
    in_files = {name: secret_in_file(PREFIX + name.upper()) for name in SECRETS}
    given = {name: value for name, value in (in_files | flags).items() if value is not None}
    try:
        return with_whole_urls(Settings(**given))
    except ValidationError as error:
        raise Misconfigured(_explain(error)) from error
    except tomllib.TOMLDecodeError as error:
        raise Misconfigured(f"{settings_file(os.environ)} is not valid TOML: {error}") from error
    except SettingsError as error:
        raise Misconfigured(
            f"a nested setting such as {PREFIX}KINDS must be valid JSON: {error.__cause__ or error}"
        ) from error


def secret_in_file(name: str) -> str | None:
    """Return the secret in the file that the variable ``<name>_FILE`` names, None without one.

    So it stands in no environment, which other processes may read. Misconfigured if ``name`` itself
    is set too, or the file cannot be read.
    """
    path = os.environ.get(name + IN_FILE)
    if not path:
        return None
    if os.environ.get(name):
        raise Misconfigured(f"{name} and {name}{IN_FILE} are both set: set one of them")
    try:
        secret = Path(path).read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise Misconfigured(
            f"{name}{IN_FILE} names {path}, which cannot be read: {error}"
        ) from error
    if not secret:
        raise Misconfigured(f"{name}{IN_FILE} names {path}, which is empty")
    return secret


def environment(settings: Settings) -> dict[str, str]:
    """Return the HEDGEROW_* names and values that give a child process the same settings.

    A secret that stands in a file stays there: the child gets the name of the file.
    """
    values = settings.model_dump(mode="json", exclude_none=True)
    files = {name: path for name in SECRETS if name in values and (path := _file_of(name))}
    if "redis_password" in files:
        values["redis_url"] = without_given_password(values["redis_url"])
    return {
        PREFIX + name.upper(): value if isinstance(value, str) else json.dumps(value)
        for name, value in values.items()
        if name not in files
    } | {PREFIX + name.upper() + IN_FILE: path for name, path in files.items()}


def api_key_environment() -> dict[str, str]:
    """Return the variables that give a child process our API key, if we have one."""
    names = (API_KEY_NAME, API_KEY_NAME + IN_FILE)
    return {name: os.environ[name] for name in names if os.environ.get(name)}


def _file_of(name: str) -> str | None:
    """Return the file that holds a secret, if a child can read it, too: no pipe, read only once."""
    path = os.environ.get(PREFIX + name.upper() + IN_FILE)
    return path if path and Path(path).is_file() else None


def without_hedgerow(environ: Mapping[str, str]) -> dict[str, str]:
    """Return the variables of an environment that are not HEDGEROW_*."""
    return {name: value for name, value in environ.items() if not name.upper().startswith(PREFIX)}


def nearest(name: str, known: Iterable[str], prefix: str = "") -> str:
    """Return "; did you mean X?", or "" if no known name is close; the prefix does not count."""
    rest = [candidate.removeprefix(prefix) for candidate in known]
    close = difflib.get_close_matches(name.removeprefix(prefix), rest, n=1, cutoff=0.6)
    return f"; did you mean {prefix}{close[0]}?" if close else ""


def _refuse_unknown_names(environ: Mapping[str, str]) -> None:
    unknown = [
        f"{name} is not a setting{nearest(name.upper(), KNOWN_NAMES, PREFIX)}"
        for name in sorted(environ)
        if name.upper().startswith(PREFIX) and not _is_known(name.upper())
    ]
    if unknown:
        raise Misconfigured("; ".join(unknown) + " (docs/reference/settings.md lists them all)")


def _is_known(name: str) -> bool:
    return name in KNOWN_NAMES or name.startswith((PREFIX + "KINDS__", PREFIX + "LIMITS__"))


def _explain(error: ValidationError) -> str:
    return "; ".join(
        _explain_one([str(part) for part in problem["loc"]], problem)
        for problem in error.errors(include_url=False)
    )


def _explain_one(path: list[str], problem: ErrorDetails) -> str:
    if problem["type"] == "extra_forbidden":
        inner = Limits if path[0] == "limits" else Kind
        known = Settings.model_fields if len(path) == 1 else inner.model_fields
        return f"{'.'.join(path)} is not a setting{nearest(path[-1], known)}"
    name = f"{PREFIX}{'__'.join(path).upper()}"
    if problem["type"] == "missing":
        return f"{name} is missing: a new kind needs {', '.join(Kind.model_fields)}"
    if problem["type"] == "value_error":
        return f"{name}: {problem['msg'].removeprefix('Value error, ')}"
    # a URL can contain a password
    given = "" if path[0] in SECRETS else f" (it is {problem['input']!r})"
    return f"{name} {_must(path[-1], problem)}{given}"


def _must(field: str, problem: ErrorDetails) -> str:
    """Return what a value must be, without pydantic's own types as in its messages."""
    if problem["type"] == "string_pattern_mismatch":
        return _PATTERNS[field]
    if (words := _WORDS.get(problem["type"])) is not None:
        return words.format(**problem.get("ctx", {}))
    return f"is invalid: {problem['msg']}"


_URL = (
    "must begin with redis://, rediss:// or unix://; "
    "or name sentinels and a group, as redis+sentinel://HOST,HOST/GROUP"
)
_PATTERNS = {
    "namespace": "must be 1 to 32 of the characters a-z, 0-9 and -",
    "redis_url": _URL,
    "jobs_redis_url": _URL,
    "scale": "must be LOW:HIGH, such as 1:5",
}
_WORDS = {
    "int_parsing": "must be a whole number",
    "int_parsing_size": "must be a whole number",
    "int_from_float": "must be a whole number",
    "int_type": "must be a whole number",
    "float_parsing": "must be a number",
    "float_type": "must be a number",
    "bool_parsing": "must be true or false",
    "bool_type": "must be true or false",
    "string_type": "must be a string",
    "dict_type": "must be a table",
    "model_type": "must be a table",
    "literal_error": "must be {expected}",
    "greater_than": "must be above {gt}",
    "greater_than_equal": "must be at least {ge}",
    "less_than": "must be below {lt}",
    "less_than_equal": "must be at most {le}",
}
"""Error texts by pydantic's name of the problem."""
