"""Snapshots of fitted context models (mf, svdfeature, pitf, cp).

A restored model can recommend, and a later fit can continue from it.
"""

from dataclasses import asdict
from typing import Any, Unpack

from scipy import sparse

from core.batch.contexts.config import KINDS, ContextConfig, DescentConfig
from core.batch.contexts.ranker import ContextRanker, FitResult
from core.errors import ConfigError, CoreError, SnapshotFormat
from core.snapshot import About, Array, Snapshot, snapshot_of

_FEATURES = ("data", "indices", "indptr")


def of_contexts(model: str, ranker: ContextRanker, **about: Unpack[About]) -> Snapshot:
    """Return the snapshot of a fitted model."""
    if not isinstance(ranker, ContextRanker):
        raise ConfigError(
            f"{type(ranker).__name__} is not a ContextRanker: "
            "for other models use of_objective or of_users of core.batch.snapshot"
        )
    found, config = ranker.found, ranker.config
    _check_kind(model, config)
    arrays: dict[str, Array] = {"popular": found.popular, "cold": found.cold}
    arrays |= {f"parameters.{name}": values for name, values in found.parameters.items()}
    arrays |= {f"squares.{name}": values for name, values in found.squares.items()}
    numbers: dict[str, Any] = {"timed": found.timed, "epochs": found.epochs}
    if (features := found.item_features) is not None:
        arrays |= {f"features.{name}": getattr(features, name) for name in _FEATURES}
        numbers["features"] = int(features.shape[1])
    return snapshot_of(model, arrays, {"config": asdict(config), "contexts": numbers}, about)


def contexts_of(snapshot: Snapshot) -> ContextRanker:
    """Return the fitted model, which uses the snapshot's arrays without copying them."""
    try:
        given, numbers = snapshot.parameters["config"], snapshot.parameters["contexts"]
        config = ContextConfig(**{**given, "descent": DescentConfig(**given["descent"])})
        _check_kind(snapshot.model, config)
        arrays: dict[str, Any] = dict(snapshot.arrays)
        learned = _named(arrays, "parameters."), _named(arrays, "squares.")
        rest = numbers["timed"], _features(arrays, numbers), numbers["epochs"]
        return ContextRanker.of(
            config, FitResult(*learned, arrays["popular"], arrays["cold"], *rest)
        )
    except (LookupError, TypeError, ValueError, CoreError) as error:
        raise SnapshotFormat(f"the snapshot is not of a context model: {error}") from error


def _check_kind(model: str, config: ContextConfig) -> None:
    """Raise ConfigError for one kind under the name of another.

    Shapes would not reveal it: the arrays of pitf and cp have the same names and shapes.
    """
    if model in KINDS and model != config.kind:
        raise ConfigError(f"a model named {model} is of kind {config.kind}: name it {config.kind}")


def _named(arrays: dict[str, Any], prefix: str) -> dict[str, Any]:
    return {n.removeprefix(prefix): array for n, array in arrays.items() if n.startswith(prefix)}


def _features(arrays: dict[str, Any], numbers: dict[str, Any]) -> Any:
    if "features" not in numbers:
        return None
    parts = tuple(arrays[f"features.{name}"] for name in _FEATURES)
    return sparse.csr_array(parts, shape=(arrays["popular"].shape[0], numbers["features"]))
