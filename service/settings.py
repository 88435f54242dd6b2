"""One frozen tree of settings, from HEDGEROW_* and hedgerow.toml.

Built once by the command line with ``load_settings`` and passed down; nobody imports a settings object.
The reference, docs/reference/settings.md, is generated from this file.
"""

import difflib
import json
import os
import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    ValidationError,
    field_validator,
)
from pydantic_core import ErrorDetails
from pydantic_settings import (
    BaseSettings,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
    SettingsError,
    TomlConfigSettingsSource,
)

from service.cron import cron_problem
from service.errors import Misconfigured

PREFIX = "HEDGEROW_"
CONFIG_NAME = "HEDGEROW_CONFIG"
"""Names the settings file; without it hedgerow.toml in the working directory is read, if it is there."""
API_KEY_NAME = "HEDGEROW_API_KEY"
"""The key that the commands which talk to a running service (``import``, ``export``) send."""

NAMESPACE_PATTERN = r"[a-z0-9-]{1,32}"


class Kind(BaseModel):
    """What one kind of feedback means to the rankers (it never teaches the rating experts)."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)

    code: Annotated[int, Field(ge=1, le=199)]
    """Number stored in histories; never give a used one to another kind."""
    weight: Annotated[float, Field(ge=0)]
    """How much it counts as evidence."""
    sign: Literal[-1, 0, 1]
    """1 a positive, -1 a negative, 0 neither."""
    hides: bool
    """Whether the item counts as seen afterwards."""


KINDS = {
    "view": Kind(code=1, weight=0.2, sign=1, hides=False),
    "click": Kind(code=2, weight=0.5, sign=1, hides=False),
    "like": Kind(code=3, weight=1.0, sign=1, hides=True),
    "dislike": Kind(code=4, weight=1.0, sign=-1, hides=True),
    "purchase": Kind(code=5, weight=2.0, sign=1, hides=True),
    "impression": Kind(code=6, weight=0.0, sign=0, hides=False),
}


class Settings(BaseSettings):
    """Everything that can be set."""

    model_config = SettingsConfigDict(
        env_prefix="HEDGEROW_",
        env_nested_delimiter="__",
        env_ignore_empty=True,
        extra="forbid",
        frozen=True,
        use_attribute_docstrings=True,
    )

    namespace: Annotated[str, Field(pattern=f"^{NAMESPACE_PATTERN}$")] = "main"
    """Which catalogue, histories and models this process serves."""
    redis_url: Annotated[str, Field(pattern=r"^(redis|rediss|unix)://")] | None = None
    """A Redis or Valkey 6.2 or newer; without it ``serve`` starts a private one in the data directory."""
    data_dir: Path = Path("hedgerow-data")
    """Where the private server keeps its files; locked against a second ``serve``."""
    durability: Literal["fsync", "os"] = "fsync"
    """When the private server says "stored": after fsync, or when the operating system has it."""
    host: str = "127.0.0.1"
    """Address to listen on; anything but loopback needs an API key first (``hedgerow keys create``)."""
    port: Annotated[int, Field(ge=0, le=65535)] = 8000
    """Port to listen on; 0 asks the system for a free one."""
    api_processes: Annotated[int, Field(ge=1, le=64)] = 1
    """How many api processes ``serve`` runs on the same port."""
    partitions: Annotated[int, Field(ge=1, le=256)] = 1
    """Learners side by side; fixed when the namespace is created."""
    scale: Annotated[str, Field(pattern=r"^-?\d+(\.\d+)?:-?\d+(\.\d+)?$")] = "1:5"
    """Lowest and highest rating, LOW:HIGH; fixed when the namespace is created."""
    seed: Annotated[int, Field(ge=0, lt=2**63)] = 0
    """Root of all randomness; fixed when the namespace is created."""
    experts: Literal["default", "paper"] = "default"
    """Set of online experts; after a change run ``hedgerow rebuild``."""
    aggregator: Literal["stack", "hedge", "boa", "eg", "uniform"] = "stack"
    """How the experts' predictions become one; after a change run ``hedgerow rebuild``."""
    kinds: dict[str, Kind] = KINDS
    """Kinds of feedback besides ratings, and what they mean; kinds given here add to or change these."""
    online_snapshot_s: Annotated[float, Field(gt=0)] = 5
    """Between two online snapshots, if anything changed; a large catalogue takes longer by itself."""
    judged_per_s: Annotated[float, Field(ge=0)] = 50
    """Most arriving positives that each learner ranks to weigh the rankers of the mixture; 0: none."""
    trending_half_life_h: Annotated[float, Field(gt=0)] = 168
    """After how long an event counts half as much for what is trending."""
    max_items: Annotated[int, Field(ge=1)] = 10_000_000
    """Most item numbers a namespace gives out."""
    history_limit: Annotated[int, Field(ge=16)] = 5_000
    """Most records of one user's history; beyond it the least useful go first."""
    log_max_bytes: Annotated[int, Field(ge=1 << 16)] = 256 << 20
    """Most bytes of events waiting to be learned; beyond it writes are refused with 503."""
    commit_max_bytes: Annotated[int, Field(ge=1 << 16)] = 2 << 20
    """Most bytes of one commit: bounds how long other clients of Redis wait."""
    commit_max_ms: Annotated[int, Field(ge=1)] = 1_000
    """Longest time between two commits under load."""
    users_in_memory: Annotated[int, Field(ge=64)] = 32_768
    """User rows that a learner keeps; the others are read when they are needed."""
    dedupe_window: Annotated[int, Field(ge=0)] = 1_000_000
    """How many of the last event ids a partition remembers."""
    dedupe_max_age_h: Annotated[float, Field(gt=0)] = 24
    """How long an event id is remembered."""
    max_array: Annotated[int, Field(ge=1)] = 10_000
    """Most rows of one JSON array."""
    max_body_bytes: Annotated[int, Field(ge=1024)] = 16 << 20
    """Largest request body (a stream of NDJSON has no bound, its lines do)."""
    max_line_bytes: Annotated[int, Field(ge=256)] = 64 << 10
    """Longest line of an NDJSON stream."""
    wait_timeout_ms: Annotated[int, Field(ge=1)] = 2_000
    """How long ``?wait=learned`` waits before it answers 202."""
    trainer: bool = True
    """Whether ``serve`` runs a trainer; without one jobs wait for a ``hedgerow trainer`` elsewhere."""
    jobs_redis_url: Annotated[str, Field(pattern=r"^(redis|rediss|unix)://")] | None = None
    """The server that carries the jobs' ids, not a cluster; by default the one that stores everything."""
    trainer_threads: Annotated[int, Field(ge=1, le=1024)] | None = None
    """Threads of a training; by default all processors but one."""
    trainer_nice: Annotated[int, Field(ge=0, le=19)] = 19
    """How much a training yields to the other processes of the machine: 0 not at all, 10 to a tenth of a share, 19 to what they leave."""
    retrain_budget_s: Annotated[float, Field(ge=0)] = 15
    """Wall seconds that the search of a model's settings may take, unless the job says otherwise."""
    retrain_cron: str | None = None
    """Retrain at these moments, in UTC: ``0 4 * * *`` is every day at four. PUT /v1/retrain/schedule goes before."""
    retrain_after_events: Annotated[int, Field(ge=0)] | None = None
    """Retrain after so many new events; 0: never for new events. By default when the log has grown by enough (docs/explanation/retraining.md)."""
    retrain_on_drift: Annotated[float, Field(gt=1)] | None = None
    """Retrain when the recent online error is so many times the usual one, such as 1.1."""
    retrain_pause_s: Annotated[float, Field(ge=0)] = 600
    """By itself the trainer starts no job sooner after the last one, or after its own start; doubled while its jobs come to nothing, then at least 120."""
    keep_models: Annotated[int, Field(ge=1)] = 5
    """Versions of each strategy that are kept; what serves, served before or is pinned stays in any case."""
    keep_models_days: Annotated[float, Field(gt=0)] = 30
    """Older versions go, with the same exceptions."""
    min_sequence_wait_ms: Annotated[int, Field(ge=1)] = 1_000
    """How long ``?min_sequence=`` waits before it answers 503."""
    user_cache_mb: Annotated[int, Field(ge=0)] = 256
    """What an api process keeps of users' histories and vectors, in MB; 0: they are read for each request."""
    lease_ms: Annotated[int, Field(ge=100)] = 5_000
    """How long a silent learner keeps others waiting."""
    log_level: Literal["debug", "info", "warning", "error"] = "info"
    """Least severe log line that is printed."""

    @field_validator("scale")
    @classmethod
    def _low_below_high(cls, scale: str) -> str:
        low, high = scale.split(":")
        if float(low) >= float(high):
            raise ValueError("the lowest rating must be below the highest, as in 1:5")
        return scale

    @field_validator("retrain_cron")
    @classmethod
    def _five_fields(cls, cron: str | None) -> str | None:
        if cron is not None and (problem := cron_problem(cron)) is not None:
            raise ValueError(problem)
        return cron

    @field_validator("kinds", mode="before")
    @classmethod
    def _over_the_defaults(cls, kinds: Any) -> Any:
        if not isinstance(kinds, Mapping):
            return kinds
        merged: dict[str, Any] = {name: kind.model_dump() for name, kind in KINDS.items()}
        for name, kind in kinds.items():
            given = kind.model_dump() if isinstance(kind, Kind) else kind
            merged[name] = (
                {**merged.get(name, {}), **given} if isinstance(given, Mapping) else given
            )
        return merged

    @field_validator("kinds")
    @classmethod
    def _each_code_once(cls, kinds: dict[str, Kind]) -> dict[str, Kind]:
        if "rating" in kinds:
            raise ValueError("'rating' is not a kind: it is what the field `rating` means")
        names = {kind.code: name for name, kind in kinds.items()}
        for name, kind in kinds.items():
            if names[kind.code] != name:
                raise ValueError(f"{name} and {names[kind.code]} have the same code {kind.code}")
        return kinds

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Flags of the command line win over the environment, that over the file."""
        file = TomlConfigSettingsSource(settings_cls, _settings_file(os.environ))
        return init_settings, env_settings, file


KNOWN_NAMES = frozenset(
    {PREFIX + name.upper() for name in Settings.model_fields} | {CONFIG_NAME, API_KEY_NAME}
)


def load_settings(**flags: Any) -> Settings:
    """Read flags that are not None, HEDGEROW_* and the file; Misconfigured names what does not fit."""
    _refuse_unknown_names(os.environ)
    try:
        return Settings(**{name: value for name, value in flags.items() if value is not None})
    except ValidationError as error:
        raise Misconfigured(_explain(error)) from error
    except tomllib.TOMLDecodeError as error:
        raise Misconfigured(f"{_settings_file(os.environ)} is not valid TOML: {error}") from error
    except SettingsError as error:
        raise Misconfigured(
            f"a nested setting such as {PREFIX}KINDS must be whole JSON ({error.__cause__ or error})"
        ) from error


def environment(settings: Settings) -> dict[str, str]:
    """Return the HEDGEROW_* names and values that give a child process the same settings."""
    values = settings.model_dump(mode="json", exclude_none=True)
    return {
        PREFIX + name.upper(): value if isinstance(value, str) else json.dumps(value)
        for name, value in values.items()
    }


def without_hedgerow(environ: Mapping[str, str]) -> dict[str, str]:
    """Return the other variables of an environment."""
    return {name: value for name, value in environ.items() if not name.upper().startswith(PREFIX)}


def nearest(name: str, known: Iterable[str], prefix: str = "") -> str:
    """Return "; did you mean X?", or "" when nothing known is close; what all begin with makes none close."""
    rest = [one.removeprefix(prefix) for one in known]
    close = difflib.get_close_matches(name.removeprefix(prefix), rest, n=1, cutoff=0.6)
    return f"; did you mean {prefix}{close[0]}?" if close else ""


def _settings_file(environ: Mapping[str, str]) -> Path:
    given = environ.get(CONFIG_NAME)
    path = Path(given or "hedgerow.toml")
    if given and not path.is_file():
        raise Misconfigured(f"{CONFIG_NAME} names {given}, and there is no such file")
    return path


def _refuse_unknown_names(environ: Mapping[str, str]) -> None:
    unknown = [
        f"{name} is not a setting{nearest(name.upper(), KNOWN_NAMES, PREFIX)}"
        for name in sorted(environ)
        if name.upper().startswith(PREFIX) and not _is_known(name.upper())
    ]
    if unknown:
        raise Misconfigured("; ".join(unknown) + " (docs/reference/settings.md lists them all)")


def _is_known(name: str) -> bool:
    return name in KNOWN_NAMES or name.startswith(PREFIX + "KINDS__")


def _explain(error: ValidationError) -> str:
    return "; ".join(
        _explain_one([str(part) for part in problem["loc"]], problem)
        for problem in error.errors(include_url=False)
    )


def _explain_one(path: list[str], problem: ErrorDetails) -> str:
    if problem["type"] == "extra_forbidden":
        known = Settings.model_fields if len(path) == 1 else Kind.model_fields
        return f"{'.'.join(path)} is not a setting{nearest(path[-1], known)}"
    name = f"{PREFIX}{'__'.join(path).upper()}"
    if problem["type"] == "missing":
        return f"{name} is missing: a kind of your own needs {', '.join(Kind.model_fields)}"
    if problem["type"] == "value_error":
        return f"{name}: {problem['msg'].removeprefix('Value error, ')}"
    # the url may hold a password
    given = "" if path[0] in {"redis_url", "jobs_redis_url"} else f" (it is {problem['input']!r})"
    return f"{name} {_must(path[-1], problem)}{given}"


def _must(field: str, problem: ErrorDetails) -> str:
    """Say what a value must be, in words of ours: the library's speak of its own types."""
    if problem["type"] == "string_pattern_mismatch":
        return _PATTERNS[field]
    if (words := _WORDS.get(problem["type"])) is not None:
        return words.format(**problem.get("ctx", {}))
    return f"does not fit: {problem['msg']}"


_URL = "must begin with redis://, rediss:// or unix://"
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
    "string_type": "must be a text",
    "dict_type": "must be a table",
    "model_type": "must be a table",
    "literal_error": "must be {expected}",
    "greater_than": "must be above {gt}",
    "greater_than_equal": "must be at least {ge}",
    "less_than": "must be below {lt}",
    "less_than_equal": "must be at most {le}",
}
"""By the library's name of the problem."""
