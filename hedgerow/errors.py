"""Errors raised on purpose: ``CoreError`` by models, ``ServiceError`` by the client."""

from core.errors import (
    ConfigError,
    CoreError,
    DataError,
    Diverged,
    NotFitted,
    ShapeError,
    SnapshotFormat,
    StateMismatch,
)
from service.client import Refused
from service.errors import NotReady, ServiceError, StoreUnavailable

__all__ = [
    "ConfigError",
    "CoreError",
    "DataError",
    "Diverged",
    "NotFitted",
    "NotReady",
    "Refused",
    "ServiceError",
    "ShapeError",
    "SnapshotFormat",
    "StateMismatch",
    "StoreUnavailable",
]
