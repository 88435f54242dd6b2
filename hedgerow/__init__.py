"""Hedgerow as a library: ranking models, metrics, the online model and a client of the service.

Only the names in this package are public; ``core`` and ``service`` are internal. Each name is
imported on first use, so that ``import hedgerow`` is instant and compiles nothing.

>>> import numpy as np
>>> from hedgerow import Fbgd, FbgdConfig, from_pairs
>>> users, items = np.array([0, 0, 1, 1, 2]), np.array([0, 1, 0, 2, 1])
>>> pairs = from_pairs(users, items)
>>> model = Fbgd(FbgdConfig(factors=2)).fit(pairs)
>>> ids, scores = model.recommend(2, pairs, N=2)
>>> ids.tolist()
[0, 2]

More names by subject: ``hedgerow.metrics``, ``hedgerow.online`` (ratings, one at a time),
``hedgerow.labels`` and ``hedgerow.ordinal`` (points with features), ``hedgerow.features``,
``hedgerow.snapshots`` (save and load) and ``hedgerow.errors``.
"""

from difflib import get_close_matches
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from core.batch.contexts.config import ContextConfig as ContextConfig
    from core.batch.contexts.config import DescentConfig as DescentConfig
    from core.batch.contexts.ranker import ContextRanker as ContextRanker
    from core.batch.fbgd.config import FbgdConfig as FbgdConfig
    from core.batch.fbgd.model import Fbgd as Fbgd
    from core.batch.ocmf.config import OcmfConfig as OcmfConfig
    from core.batch.ocmf.model import Ocmf as Ocmf
    from core.batch.popularity import Popular as Popular
    from core.batch.ranker import Ranker as Ranker
    from core.interactions import Interactions as Interactions
    from core.interactions import from_pairs as from_pairs
    from core.splits import leave_last_out as leave_last_out
    from core.splits import random_split as random_split
    from core.splits import split_within_users as split_within_users
    from core.splits import time_split as time_split
    from hedgerow import errors as errors
    from hedgerow import features as features
    from hedgerow import labels as labels
    from hedgerow import metrics as metrics
    from hedgerow import online as online
    from hedgerow import ordinal as ordinal
    from hedgerow import snapshots as snapshots
    from service.client import ServiceClient as ServiceClient
    from service.client import ndjson as ndjson

__all__ = [
    "ContextConfig",
    "ContextRanker",
    "DescentConfig",
    "Fbgd",
    "FbgdConfig",
    "Interactions",
    "Ocmf",
    "OcmfConfig",
    "Popular",
    "Ranker",
    "ServiceClient",
    "errors",
    "features",
    "from_pairs",
    "labels",
    "leave_last_out",
    "metrics",
    "ndjson",
    "online",
    "ordinal",
    "random_split",
    "snapshots",
    "split_within_users",
    "time_split",
]

_MODULES = ("errors", "features", "labels", "metrics", "online", "ordinal", "snapshots")
_HOMES = {
    "ContextConfig": "core.batch.contexts.config",
    "ContextRanker": "core.batch.contexts.ranker",
    "DescentConfig": "core.batch.contexts.config",
    "Fbgd": "core.batch.fbgd.model",
    "FbgdConfig": "core.batch.fbgd.config",
    "Interactions": "core.interactions",
    "Ocmf": "core.batch.ocmf.model",
    "OcmfConfig": "core.batch.ocmf.config",
    "Popular": "core.batch.popularity",
    "Ranker": "core.batch.ranker",
    "ServiceClient": "service.client",
    "from_pairs": "core.interactions",
    "leave_last_out": "core.splits",
    "ndjson": "service.client",
    "random_split": "core.splits",
    "split_within_users": "core.splits",
    "time_split": "core.splits",
}
"""The module that defines each name, the same as in the imports above for type checkers."""


def _imported(name: str) -> Any:
    """Import a public name on its first use."""
    if name in _MODULES:
        return import_module(f"hedgerow.{name}")
    if name not in _HOMES:
        raise AttributeError(_unknown(name))
    value = getattr(import_module(_HOMES[name]), name)
    globals()[name] = value
    return value


if not TYPE_CHECKING:
    # hidden from type checkers, which would accept every name if they saw it (PEP 562)
    __getattr__ = _imported


def __dir__() -> list[str]:
    """Return the public names, imported or not."""
    return [*__all__, "__doc__", "__name__", "__path__"]


def _unknown(name: str) -> str:
    near = get_close_matches(name, __all__, n=1)
    hint = f"did you mean {near[0]!r}?" if near else "dir(hedgerow) lists what there is."
    subjects = ", ".join(f"hedgerow.{module}" for module in _MODULES)
    return f"module 'hedgerow' has no attribute {name!r}: {hint} More names are in {subjects}"
