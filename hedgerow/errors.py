"""Errors raised on purpose: ``CoreError`` by models, ``ServiceError`` by the client.

>>> from hedgerow import Fbgd, FbgdConfig
>>> try:
...     Fbgd(FbgdConfig(factors=0))
... except ConfigError as error:
...     print(error)
factors must be at least 1, not 0
"""

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
