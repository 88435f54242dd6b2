"""One frozen tree of settings: HEDGEROW_* and hedgerow.toml. Built once in cli, passed down, never imported as an object."""

from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field
from pydantic_settings import BaseSettings, SettingsConfigDict

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
        toml_file="hedgerow.toml",
        extra="forbid",
        frozen=True,
        use_attribute_docstrings=True,
    )

    namespace: Annotated[str, Field(pattern=f"^{NAMESPACE_PATTERN}$")] = "main"
    """Which catalogue, histories and models this process serves."""
    redis_url: str | None = None
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
    """Kinds of feedback besides ratings, and what they mean."""
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
    lease_ms: Annotated[int, Field(ge=100)] = 5_000
    """How long a silent learner keeps others waiting."""
    log_level: Literal["debug", "info", "warning", "error"] = "info"
    """Least severe log line that is printed."""
