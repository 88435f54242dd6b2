"""The settings: one frozen object, read from flags, HEDGEROW_* variables and hedgerow.toml.

The command line builds it once with ``settings_loading.py`` and passes it down; no module holds a
global one. The reference, docs/reference/settings.md, is generated from this file.
"""

import json
import os
import re
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
from service.ingest_urls import ingest_problem
from service.limits import Limits

PREFIX = "HEDGEROW_"
CONFIG_NAME = "HEDGEROW_CONFIG"
"""Variable with the path of the settings file; default hedgerow.toml in the working directory."""
API_KEY_NAME = "HEDGEROW_API_KEY"
"""Variable with the API key for commands that call a running service (``import``, ``export``)."""

NAMESPACE_PATTERN = r"[a-z0-9-]{1,32}"
STORE_URL = r"^((redis|rediss|unix)://|rediss?\+sentinel://[^/]+/[^/?]+)"
FEATURE_PATTERN = r"^[A-Za-z_][A-Za-z0-9_]{0,63}$"


def without_secrets(url: str) -> str:
    """Return the URL of something other than a store, without what may let somebody in.

    >>> without_secrets("https://me:s3/cr?t@collector/v1/traces?api-key=k")
    'https://***@collector/v1/traces?***'
    """
    address, mark, _ = re.sub(r"//.*@", "//***@", url).partition("?")
    return f"{address}?***" if mark else address


class Kind(BaseModel):
    """Meaning of one kind of feedback to the rankers; the rating experts do not learn from it."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)

    code: Annotated[int, Field(ge=1, le=199)]
    """Number of this kind in stored histories; never reuse the code of another kind."""
    weight: Annotated[float, Field(ge=0)]
    """Weight of one event as evidence for or against its item."""
    sign: Literal[-1, 0, 1]
    """1: the user likes the item; -1: the user dislikes it; 0: neither."""
    hides: bool
    """Whether the event marks the item as seen, so that this user's lists leave it out. (``hidden``
    in an item's document is another thing: it hides the item from everybody.)
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
    redis_url: Annotated[str, Field(pattern=STORE_URL)] | None = None
    """URL of Redis or Valkey, 6.2 or newer; without it ``serve`` starts a private server. With
    ``rediss://`` the connection is encrypted, and the certificate must name the host. With
    ``redis+sentinel://SENTINEL,SENTINEL/GROUP`` the sentinels say which server is the primary."""
    redis_password: str | None = None
    """Password of your own server, if it is not in ``redis_url``. The URL may name the user."""
    redis_ca_file: Path | None = None
    """PEM file with the certificate of the authority that signed the certificate of a server at
    ``rediss://``. Authorities that the system trusts are accepted too."""
    redis_cert_file: Path | None = None
    """PEM file with the certificate that Hedgerow shows to a server at ``rediss://``."""
    redis_key_file: Path | None = None
    """PEM file with the key of the certificate in ``redis_cert_file``."""
    redis_without_password: bool = False
    """Whether to use a server of your own (``redis_url``) on another machine even if it requires no
    password."""
    data_dir: Path = Path("hedgerow-data")
    """Directory for the files of the private server. Only one ``serve`` at a time can use it."""
    disk_reserve_mb: Annotated[int, Field(ge=0)] = 100
    """Megabytes to keep free on the disk of the private server. If less is free, writes get 503 and
    reads go on; if the disk were full, the server would end."""
    erasure_rewrite_pause_s: Annotated[float, Field(ge=0)] = 600
    """Minimum seconds between two rewrites of the private server's file. Only a rewrite removes
    deleted users from the disk, and it writes everything that is stored."""
    durability: Literal["fsync", "os"] = "fsync"
    """When the private server confirms a write: after it is on the disk (``fsync``), or after it
    was handed to the operating system (``os``)."""
    host: str = "127.0.0.1"
    """Address to listen on. With any address other than loopback, the service does not start
    without an API key (``hedgerow keys create``)."""
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
    """Kinds of feedback besides ratings. Kinds that you give are added to the defaults, or change
    them."""
    gorse_api: bool = True
    """Whether the routes of Gorse are served under ``/api``, for programs that were written for it
    (docs/reference/gorse.md). They need the same API keys as all other routes."""
    gorse_kinds: dict[str, str] = GORSE_KINDS
    """Kind of feedback for each ``FeedbackType`` of Gorse's clients that is not the name of a kind.
    With ``rating`` as kind, the ``Value`` is a rating. ``*`` stands for all other types. Types that
    you give are added to the defaults, or change them."""
    online_snapshot_s: Annotated[float, Field(gt=0)] = 5
    """Seconds between two online snapshots (copies of what the experts and counters know), if
    anything changed. For a large catalogue the time is longer."""
    judged_per_s: Annotated[float, Field(ge=0)] = 50
    """Maximum number of positive events a second with which the rankers are tested; 0: none."""
    exploration_share: Annotated[float, Field(ge=0, le=0.5)] = 0.02
    """Share of the positions in a list, after the first three, that new items get; 0: none.
    See docs/explanation/new-items.md.
    """
    # read by learning/state/counters.py, learning/following/judge.py and
    # serving/copies/popularity.py
    trending_half_life_h: Annotated[float, Field(gt=0)] = 168
    """Hours after which an event counts half as much for ``trending``. After a change, run
    ``hedgerow rebuild``: until then, stored weights keep their old decay.
    """
    # read by learning/state/transitions.py
    order_half_life_h: Annotated[float, Field(gt=0)] = 4_320
    """Hours after which a pair of consecutive items counts half as much (family ``next``). After a
    change, run ``hedgerow rebuild``: until then, stored weights keep their old decay.
    """
    max_items: Annotated[int, Field(ge=1)] = 10_000_000
    """Maximum number of items in a namespace."""
    history_limit: Annotated[int, Field(ge=16)] = 5_000
    """Maximum number of records in a user's history; beyond it the least useful are dropped."""
    log_max_bytes: Annotated[int, Field(ge=1 << 16)] = 256 << 20
    """Maximum bytes of events that wait to be learned; beyond it writes are refused with 503."""
    commit_max_bytes: Annotated[int, Field(ge=1 << 16)] = 4 << 20
    """Maximum bytes of one commit. It limits the time for which other clients of Redis wait.

    The commit of a deletion, a merge or a shortened history may be larger.
    """
    commit_max_ms: Annotated[int, Field(ge=1)] = 1_000
    """Maximum milliseconds between two commits under load."""
    users_in_memory: Annotated[int, Field(ge=64)] = 32_768
    """Number of user rows that a learner keeps in memory; it reads others when it needs them."""
    dedupe_window: Annotated[int, Field(ge=0)] = 1_000_000
    """Number of latest event ids that a partition remembers, to detect repeats; all producers share
    this number."""
    dedupe_max_age_h: Annotated[float, Field(gt=0)] = 24
    """Hours for which an event id is remembered; longer if few events arrive."""
    max_array: Annotated[int, Field(ge=1)] = 10_000
    """Maximum rows in one JSON array."""
    max_body_bytes: Annotated[int, Field(ge=1024)] = 16 << 20
    """Maximum bytes of a request body. An NDJSON stream has no limit, but each line has."""
    max_line_bytes: Annotated[int, Field(ge=256)] = 64 << 10
    """Maximum bytes of a line in an NDJSON stream."""
    # read by api/feedback/schemas.py, learning/state/horizon.py and serving/copies/popularity.py
    future_tolerance_s: Annotated[float, Field(ge=0, le=10**10)] = 86_400
    """Seconds by which the timestamp of an event may be ahead of the service's clock; events with a
    later timestamp are refused."""
    store_patience_ms: Annotated[int, Field(ge=10, le=60_000)] = 150
    """Milliseconds without an answer of the store after which an api process treats the store as
    away. Until the store answers, requests that need it get 503 at once; all others are answered
    from memory."""
    keys_kept_s: Annotated[float, Field(ge=0)] = 300
    """Seconds for which known API keys are accepted while the store does not answer; then 503."""
    wait_timeout_ms: Annotated[int, Field(ge=1)] = 2_000
    """Milliseconds for which ``?wait=learned`` waits; then 202."""
    ingest: Annotated[tuple[str, ...], NoDecode] = ()
    """Streams of brokers that ``serve`` brings in, as URLs separated by white space:
    ``nats://127.0.0.1:4222/EVENTS?subject=events.>``. If the service has keys, it needs one with
    the role ``write``: ``HEDGEROW_API_KEY``, or the file that ``HEDGEROW_API_KEY_FILE`` names."""
    trainer: bool = True
    """Whether ``serve`` runs a trainer. If not, jobs wait until a ``hedgerow trainer`` runs."""
    jobs_redis_url: Annotated[str, Field(pattern=STORE_URL)] | None = None
    """URL of the Redis server for the queue of job ids; by default ``redis_url``. It cannot be a
    cluster. The files for TLS are the same as for ``redis_url``; a password must be in this URL."""
    trainer_threads: Annotated[int, Field(ge=1, le=1024)] | None = None
    """Number of threads of a training; by default one fewer than the number of processors."""
    trainer_nice: Annotated[int, Field(ge=0, le=19)] = 19
    """Niceness of a training. With 0 it shares the processors evenly with other processes, with 10
    it takes about a tenth of a share, and with 19 only idle time. Until a first model serves, a
    training takes a full share.
    """
    retrain_budget_s: Annotated[float, Field(ge=0)] = 15
    """Wall-clock seconds for the search of settings, for all recipes of a job together. A job may
    give a budget of its own."""
    retrain_cron: str | None = None
    """Cron expression (UTC) for trainings: ``0 4 * * *`` is every day at four o'clock.
    PUT /v1/retrain/schedule takes precedence.
    """
    retrain_after_events: Annotated[int, Field(ge=0)] | None = None
    """Number of new events after which a training begins; 0: events never start a training.
    By default a training begins when the number of all events has grown by a fifth, within limits:
    docs/explanation/when-trainings-start.md.
    """
    retrain_on_drift: Annotated[float, Field(gt=1)] | None = None
    """A training begins when the recent error of the best expert, divided by its usual error,
    reaches this number, such as 1.1."""
    retrain_pause_s: Annotated[float, Field(ge=0)] = 600
    """Minimum seconds from the last job, or the trainer's start, to a job that the trainer starts
    by itself. If two such jobs in a row fail or are cancelled, the pause doubles, and again with
    each further failure, up to about a day. (A pause below a minute is doubled as if it were a
    minute.) There is no pause before the first training. If neither ``retrain_after_events`` nor a
    schedule is set, there is also no pause when the number of events has grown by half since the
    last training."""
    keep_models: Annotated[int, Field(ge=1)] = 5
    """Number of model versions to keep for each strategy. Active, previous and pinned versions are
    always kept."""
    keep_models_days: Annotated[float, Field(gt=0)] = 30
    """Days after which model versions are deleted. Active, previous and pinned versions are always
    kept."""
    min_sequence_wait_ms: Annotated[int, Field(ge=1)] = 1_000
    """Milliseconds for which ``?min_sequence=`` waits; then 503."""
    user_cache_mb: Annotated[int, Field(ge=0)] = 256
    """Megabytes for the cache of users in each api process; 0: each request reads the user
    again."""
    watchdog_s: Annotated[float, Field(ge=0)] = 20
    """Seconds without a sign of life after which ``serve`` kills an api process or a learner and
    starts it again; 0: never."""
    lease_ms: Annotated[int, Field(ge=100)] = 5_000
    """Milliseconds without a sign of life after which another learner takes over a partition."""
    log_level: Literal["debug", "info", "warning", "error"] = "info"
    """Log lines of this severity and of higher ones are printed."""
    log_requests: Literal["none", "named", "all"] = "none"
    """Which requests are logged: ``none``; ``named``, those with a header ``X-Request-Id``; or
    ``all``. The api process writes ``request_answered``, and the learner ``events_learned`` when it
    has learned their events."""
    traces_url: Annotated[str, Field(pattern=r"^https?://")] | None = None
    """URL to which spans of OpenTelemetry are sent, by OTLP over HTTP, such as
    ``http://127.0.0.1:4318/v1/traces``; without it no spans are made. Needs the extra ``otel``."""
    trusted_hosts: Annotated[tuple[str, ...], NoDecode] = ()
    """Host names, without ports and separated by commas, that clients may send in the header
    ``Host``. ``localhost``, ``127.0.0.1``, ``[::1]`` and the setting ``host`` are always allowed;
    ``*`` allows any name. If nothing is set, any name is allowed, except on loopback: there a
    foreign web page could let its own name point to this machine.
    """
    trusted_origins: Annotated[tuple[str, ...], NoDecode] = ()
    """Sites whose web pages may write (header ``Origin``), such as ``https://shop.example``,
    separated by commas. The service's own pages may always write.
    """
    trusted_proxies: Annotated[tuple[str, ...], NoDecode] = ()
    """Addresses or networks (10.0.0.0/8) of reverse proxies, separated by commas. Only in requests
    from these the header ``X-Forwarded-For`` is read; it names the client.
    """
    console_title: Annotated[str, Field(pattern=FEATURE_PATTERN)] = "title"
    """Feature of items and users that the console shows as their name."""
    console_picture: Annotated[str, Field(pattern=FEATURE_PATTERN)] = "picture"
    """Feature of items that the console shows as a picture: a path on the host of the console, or a
    ``data:`` URL. Pictures of other hosts are not loaded.
    """
    webhooks_to_private: bool = False
    """Whether webhooks may be sent to private addresses (loopback, 10.0.0.0/8, ...) and without TLS
    (``http://``). Whoever has an ``admin`` key can make the service send requests there.
    """
    alarm_after_s: Annotated[float, Field(ge=0)] = 15
    """Seconds for which something must be wrong before webhooks are told of an alarm, and right
    again before they are told that it is over."""
    limits: Limits = Limits()
    """Limits for clients of each api process."""

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

    @field_validator("ingest", mode="before")
    @classmethod
    def _by_white_space(cls, urls: Any) -> Any:
        if not isinstance(urls, str):
            return urls
        # a child process gets what its parent read, as JSON
        return tuple(json.loads(urls) if urls.startswith("[") else urls.split())

    @field_validator("ingest")
    @classmethod
    def _streams(cls, urls: tuple[str, ...]) -> tuple[str, ...]:
        for url in urls:
            if (problem := ingest_problem(url)) is not None:
                raise ValueError(f"{without_secrets(url)}: {problem}")
        return urls

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
