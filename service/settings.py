"""The settings: one frozen object, read from flags, HEDGEROW_* variables and hedgerow.toml.

The command line builds it once with ``settings_loading.py`` and passes it down; no module holds a
global one. The reference, docs/reference/settings.md, is generated from this file.
"""

import json
import os
from collections.abc import Mapping
from ipaddress import ip_network
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    field_validator,
    model_validator,
)
from pydantic_settings import (
    BaseSettings,
    NoDecode,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
    TomlConfigSettingsSource,
)

from service.cron import cron_problem
from service.errors import Misconfigured
from service.limits import Limits

PREFIX = "HEDGEROW_"
CONFIG_NAME = "HEDGEROW_CONFIG"
"""Variable with the path of the settings file; default hedgerow.toml in the working directory."""
API_KEY_NAME = "HEDGEROW_API_KEY"
"""Variable with the API key for commands that call a running service (``import``, ``export``)."""

NAMESPACE_PATTERN = r"[a-z0-9-]{1,32}"
FEATURE_PATTERN = r"^[A-Za-z_][A-Za-z0-9_]{0,63}$"


class Kind(BaseModel):
    """Meaning of one kind of feedback to the rankers; the rating experts do not learn from it."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)

    code: Annotated[int, Field(ge=1, le=199)]
    """Number of this kind in stored histories; never reuse the code of another kind."""
    weight: Annotated[float, Field(ge=0)]
    """Weight of one event as evidence for or against its item."""
    sign: Literal[-1, 0, 1]
    """1 for a positive, -1 for a negative, 0 for neither."""
    hides: bool
    """Whether the event marks the item as seen by this user, so that the user's lists leave it out.
    It has nothing to do with ``hidden`` of an item's document, which hides the item from everybody.
    """


KINDS = {
    "view": Kind(code=1, weight=0.2, sign=1, hides=False),
    "click": Kind(code=2, weight=0.5, sign=1, hides=False),
    "like": Kind(code=3, weight=1.0, sign=1, hides=True),
    "dislike": Kind(code=4, weight=1.0, sign=-1, hides=True),
    "purchase": Kind(code=5, weight=2.0, sign=1, hides=True),
    "impression": Kind(code=6, weight=0.0, sign=0, hides=False),
}
"""Default kinds; they reach learners, rankers and training through ``configs.meanings``.

``core/meaning.py`` applies them, and has the weight of ratings.
"""


GORSE_KINDS = {"star": "like", "read": "view", "*": "view"}
"""Default kinds for the feedback types of Gorse's clients."""


class Settings(BaseSettings):
    """All settings of the service."""

    model_config = SettingsConfigDict(
        env_prefix="HEDGEROW_",
        env_nested_delimiter="__",
        env_ignore_empty=True,
        extra="forbid",
        frozen=True,
        use_attribute_docstrings=True,
    )

    namespace: Annotated[str, Field(pattern=f"^{NAMESPACE_PATTERN}$")] = "main"
    """Namespace whose catalogue, histories and models this process serves."""
    redis_url: Annotated[str, Field(pattern=r"^(redis|rediss|unix)://")] | None = None
    """URL of Redis or Valkey, 6.2 or newer; without it ``serve`` starts a private server. With
    ``rediss://`` the connection is encrypted, and the certificate must name the host."""
    redis_password: str | None = None
    """Password of the given server, instead of one in ``redis_url``, which may name the user."""
    redis_ca_file: Path | None = None
    """PEM file with the authority that signed the certificate of a server at ``rediss://``; those
    that the system trusts count, too."""
    redis_cert_file: Path | None = None
    """PEM file with the certificate by which a server at ``rediss://`` knows Hedgerow."""
    redis_key_file: Path | None = None
    """PEM file with the key of that certificate."""
    redis_without_password: bool = False
    """Whether to use a given server that lets in whoever reaches it, on another machine."""
    data_dir: Path = Path("hedgerow-data")
    """Directory for the files of the private server; locked against a second ``serve``."""
    disk_reserve_mb: Annotated[int, Field(ge=0)] = 100
    """Megabytes to keep free on the disk of the private server. With less, writes get 503, and
    reads go on; with none, the server would end."""
    erasure_rewrite_pause_s: Annotated[float, Field(ge=0)] = 600
    """Minimum seconds between two rewrites of the private server's file for deleted users, who are
    on the disk until then; each writes everything that is stored."""
    durability: Literal["fsync", "os"] = "fsync"
    """When the private server confirms a write: after fsync, or once the system has it (``os``)."""
    host: str = "127.0.0.1"
    """Address to listen on; one other than loopback needs an API key (``hedgerow keys create``)."""
    port: Annotated[int, Field(ge=0, le=65535)] = 8000
    """Port to listen on; 0 lets the system choose a free one."""
    api_processes: Annotated[int, Field(ge=1, le=64)] = 1
    """Number of api processes that ``serve`` runs on the port."""
    partitions: Annotated[int, Field(ge=1, le=256)] = 1
    """Number of learners, each with its own partition; fixed when the namespace is created."""
    scale: Annotated[str, Field(pattern=r"^-?\d+(\.\d+)?:-?\d+(\.\d+)?$")] = "1:5"
    """Lowest and highest rating, LOW:HIGH; fixed when the namespace is created."""
    seed: Annotated[int, Field(ge=0, lt=2**63)] = 0
    """Seed of all random numbers; fixed when the namespace is created."""
    experts: Literal["default", "paper"] = "default"
    """Set of online experts; run ``hedgerow rebuild`` after a change."""
    aggregator: Literal["stack", "hedge", "boa", "eg", "uniform"] = "stack"
    """Method that combines the experts' predictions; run ``hedgerow rebuild`` after a change."""
    kinds: dict[str, Kind] = KINDS
    """Kinds of feedback besides ratings; given kinds are added to these defaults or change them."""
    gorse_api: bool = True
    """Whether the routes of Gorse are served under ``/api``, for programs that were written for it
    (docs/reference/gorse.md). They need the same keys as all others."""
    gorse_kinds: dict[str, str] = GORSE_KINDS
    """Kind of feedback for each ``FeedbackType`` of Gorse's clients that is not the name of a kind,
    or ``rating``, whose ``Value`` is the rating; ``*``: all other types. Given types are added to
    these defaults or change them."""
    online_snapshot_s: Annotated[float, Field(gt=0)] = 5
    """Seconds between online snapshots, if anything changed; longer for a large catalogue."""
    judged_per_s: Annotated[float, Field(ge=0)] = 50
    """Maximum number of positive events a second to judge the rankers with; 0: none."""
    exploration_share: Annotated[float, Field(ge=0, le=0.5)] = 0.02
    """Share of the positions of a list, after the first three, that new items get; 0: none.
    See docs/explanation/new-items.md.
    """
    # read by learning/state/counters.py, learning/following/judge.py and
    # serving/copies/popularity.py
    trending_half_life_h: Annotated[float, Field(gt=0)] = 168
    """Hours after which an event counts half as much for ``trending``. After a change, stored
    weights keep their old decay until ``hedgerow rebuild`` counts the histories again.
    """
    # read by learning/state/transitions.py
    order_half_life_h: Annotated[float, Field(gt=0)] = 4_320
    """Hours after which it counts half as much that one item followed another (family ``next``).
    After a change, run ``hedgerow rebuild``: stored weights refer to the old half-life.
    """
    max_items: Annotated[int, Field(ge=1)] = 10_000_000
    """Maximum number of items that a namespace can number."""
    history_limit: Annotated[int, Field(ge=16)] = 5_000
    """Maximum records in one user's history; beyond it the least useful are dropped first."""
    log_max_bytes: Annotated[int, Field(ge=1 << 16)] = 256 << 20
    """Maximum bytes of events that wait to be learned; beyond it writes are refused with 503."""
    commit_max_bytes: Annotated[int, Field(ge=1 << 16)] = 4 << 20
    """Maximum bytes of one commit, which bounds the time that other clients of Redis wait.

    A deletion, a merge or a history that is shortened may take more.
    """
    commit_max_ms: Annotated[int, Field(ge=1)] = 1_000
    """Maximum milliseconds between two commits under load."""
    users_in_memory: Annotated[int, Field(ge=64)] = 32_768
    """User rows that a learner keeps in memory; it reads the others when it needs them."""
    dedupe_window: Annotated[int, Field(ge=0)] = 1_000_000
    """Number of latest event ids that a partition remembers, to detect duplicates; producers share
    it."""
    dedupe_max_age_h: Annotated[float, Field(gt=0)] = 24
    """Hours for which an event id is remembered, longer if few events arrive."""
    max_array: Annotated[int, Field(ge=1)] = 10_000
    """Maximum rows in one JSON array."""
    max_body_bytes: Annotated[int, Field(ge=1024)] = 16 << 20
    """Maximum size of a request body; a stream of NDJSON has no limit, only its lines have."""
    max_line_bytes: Annotated[int, Field(ge=256)] = 64 << 10
    """Maximum length of a line in an NDJSON stream."""
    # read by api/feedback/schemas.py, learning/state/horizon.py and serving/copies/popularity.py
    future_tolerance_s: Annotated[float, Field(ge=0, le=10**10)] = 86_400
    """Seconds by which the timestamp of an event may lie ahead of the service's clock; events that
    are dated later are refused."""
    store_patience_ms: Annotated[int, Field(ge=10, le=60_000)] = 150
    """Milliseconds without an answer of the store after which an api process treats it as
    away: until it answers, requests that need it get 503 at once; all others go on from memory."""
    keys_kept_s: Annotated[float, Field(ge=0)] = 300
    """Seconds for which API keys are kept while the store does not answer; then 503."""
    wait_timeout_ms: Annotated[int, Field(ge=1)] = 2_000
    """Milliseconds that ``?wait=learned`` waits before it answers 202."""
    trainer: bool = True
    """Whether ``serve`` runs a trainer; if not, jobs wait for a ``hedgerow trainer`` elsewhere."""
    jobs_redis_url: Annotated[str, Field(pattern=r"^(redis|rediss|unix)://")] | None = None
    """URL of the server for the queue of job ids, not a cluster; default: ``redis_url``. The files
    for TLS are the same; a password stands in this URL."""
    trainer_threads: Annotated[int, Field(ge=1, le=1024)] | None = None
    """Threads of a training; default: one fewer than there are processors."""
    trainer_nice: Annotated[int, Field(ge=0, le=19)] = 19
    """Niceness of a training: 0 shares processors evenly with other processes, 10 takes about a
    tenth of a share, 19 only idle time. Until a first model serves, a training takes a full share.
    """
    retrain_budget_s: Annotated[float, Field(ge=0)] = 15
    """Wall-clock seconds for the search of settings, of all recipes of a job together, unless the
    job gives a budget."""
    retrain_cron: str | None = None
    """Cron expression (UTC) for retraining: ``0 4 * * *`` is every day at four.
    PUT /v1/retrain/schedule takes precedence.
    """
    retrain_after_events: Annotated[int, Field(ge=0)] | None = None
    """New events after which to retrain; 0: never because of events.
    By default a training begins when the number of all events has grown by a fifth, within limits:
    docs/explanation/when-trainings-start.md.
    """
    retrain_on_drift: Annotated[float, Field(gt=1)] | None = None
    """Ratio of the recent online error to the usual one at which to retrain, such as 1.1."""
    retrain_pause_s: Annotated[float, Field(ge=0)] = 600
    """Minimum seconds from the last job, or the trainer's start, to a job that the trainer starts
    by itself. If several such jobs in a row fail or are cancelled, each from the second on doubles
    the pause, up to about a day (a pause below a minute counts as a minute then). There is no pause
    before the first training, nor, if ``retrain_after_events`` and a schedule are not set, when the
    number of events has grown by half since the last one."""
    keep_models: Annotated[int, Field(ge=1)] = 5
    """Versions of each strategy to keep; active, previous and pinned ones are always kept."""
    keep_models_days: Annotated[float, Field(gt=0)] = 30
    """Days after which older versions are deleted, with the same exceptions."""
    min_sequence_wait_ms: Annotated[int, Field(ge=1)] = 1_000
    """Milliseconds that ``?min_sequence=`` waits before it answers 503."""
    user_cache_mb: Annotated[int, Field(ge=0)] = 256
    """Size of the cache of users in each api process, in MB; 0: users are read for each request."""
    watchdog_s: Annotated[float, Field(ge=0)] = 20
    """Seconds without a sign of life after which ``serve`` kills an api process or a learner and
    starts it again; 0: never."""
    lease_ms: Annotated[int, Field(ge=100)] = 5_000
    """Milliseconds without a sign of life after which another learner takes over a partition."""
    log_level: Literal["debug", "info", "warning", "error"] = "info"
    """Lowest severity of the log lines that are printed."""
    trusted_hosts: Annotated[tuple[str, ...], NoDecode] = ()
    """Names, without ports and separated by commas, by which clients may ask for the service
    (header ``Host``) besides ``localhost``, ``127.0.0.1``, ``[::1]`` and ``host``; ``*``: any. By
    default any name will do, but on loopback only these: a web page could let its own name point
    there.
    """
    trusted_origins: Annotated[tuple[str, ...], NoDecode] = ()
    """Sites whose pages may write (header ``Origin``), such as ``https://shop.example``, separated
    by commas. The service's own pages always may.
    """
    trusted_proxies: Annotated[tuple[str, ...], NoDecode] = ()
    """Addresses or networks (10.0.0.0/8) of reverse proxies, separated by commas: their header
    ``X-Forwarded-For`` names the client. Nobody else's is read.
    """
    console_title: Annotated[str, Field(pattern=FEATURE_PATTERN)] = "title"
    """Feature of items and users that the console shows as their name."""
    console_picture: Annotated[str, Field(pattern=FEATURE_PATTERN)] = "picture"
    """Feature of items that the console shows as a picture: a path on the host of the console, or a
    ``data:`` URL. Pictures of other hosts are not loaded.
    """
    limits: Limits = Limits()
    """Bounds on what clients may take of each api process."""

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

    @field_validator("trusted_hosts", "trusted_origins", "trusted_proxies", mode="before")
    @classmethod
    def _separated(cls, names: Any) -> Any:
        if not isinstance(names, str):
            return names
        # a child process gets what its parent read, as JSON
        listed = json.loads(names) if names.startswith("[") else names.split(",")
        return tuple(name.strip() for name in listed if name.strip())

    @field_validator("trusted_origins")
    @classmethod
    def _origins(cls, sites: tuple[str, ...]) -> tuple[str, ...]:
        for site in sites:
            scheme, _, host = site.partition("://")
            if scheme not in {"http", "https"} or not host or "/" in host:
                raise ValueError(f"{site!r} is not a site: give https://shop.example, say")
        return sites

    @field_validator("trusted_proxies")
    @classmethod
    def _networks(cls, proxies: tuple[str, ...]) -> tuple[str, ...]:
        for proxy in proxies:
            try:
                ip_network(proxy)
            except ValueError as error:
                raise ValueError(f"{error}: give 10.1.2.3 or 10.0.0.0/8, say") from error
        return proxies

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

    @field_validator("gorse_kinds")
    @classmethod
    def _over_the_default_types(cls, kinds: dict[str, str]) -> dict[str, str]:
        return {**GORSE_KINDS, **kinds}

    @model_validator(mode="after")
    def _gorse_kinds_exist(self) -> Self:
        known = {"rating", *self.kinds}
        if unknown := sorted({*self.gorse_kinds.values()} - known):
            raise ValueError(
                f"gorse_kinds names {unknown[0]!r}, which is no kind: it can be {sorted(known)}"
            )
        return self

    @field_validator("kinds")
    @classmethod
    def _each_code_once(cls, kinds: dict[str, Kind]) -> dict[str, Kind]:
        if "rating" in kinds:
            raise ValueError("'rating' cannot be a kind: send ratings in the field `rating`")
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
        """Let flags take precedence over the environment, and the environment over the file."""
        file = TomlConfigSettingsSource(settings_cls, settings_file(os.environ))
        return init_settings, env_settings, file


def settings_file(environ: Mapping[str, str]) -> Path:
    """Return the path of the settings file, which need not be there unless it is named."""
    given = environ.get(CONFIG_NAME)
    path = Path(given or "hedgerow.toml")
    if given and not path.is_file():
        raise Misconfigured(f"{CONFIG_NAME} names {given}, and there is no such file")
    return path
