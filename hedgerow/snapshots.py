"""Conversion of fitted models to snapshots (named arrays and a manifest) and to files.

A file is an ordinary ``.npz``. Nothing in it is pickled, and ``load`` checks each array's sha256.

>>> from hedgerow import Fbgd, FbgdConfig, from_pairs
>>> pairs = from_pairs(np.array([0, 0, 1]), np.array([0, 1, 1]))
>>> snapshot = snapshot_of(Fbgd(FbgdConfig(factors=2)).fit(pairs))
>>> sorted(snapshot.arrays)
['gram', 'item_factors', 'item_sum', 'negative', 'popular']
>>> model_of(snapshot).recommend(1, pairs, N=1)[0]
array([0], dtype=int32)
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import asdict, replace
from os import PathLike
from typing import Any

import numpy as np

from core.batch.contexts.ranker import ContextRanker
from core.batch.contexts.snapshot import contexts_of, of_contexts
from core.batch.fbgd.model import Fbgd
from core.batch.feature_map import FeatureMap
from core.batch.ocmf.model import Ocmf, users_of
from core.batch.ocmf.users import StructuredUsers
from core.batch.row_ranker import RowRanker
from core.batch.snapshot import objective_of, of_objective, of_users
from core.batch.snapshot import users_of as stored_users
from core.errors import ConfigError, SnapshotFormat
from core.labels.exmlds import Exmlds
from core.labels.snapshot import of_space, space_of
from core.labels.space import LabelSpace
from core.ordinal import snapshot as ordinal
from core.ordinal.model import OrdinalModel
from core.snapshot import About, Snapshot, restored

__all__ = ["Snapshot", "load", "model_of", "save", "snapshot_of"]

Model = Fbgd | Ocmf | ContextRanker | Exmlds | OrdinalModel
Restored = RowRanker | StructuredUsers | ContextRanker | LabelSpace | OrdinalModel

_KINDS = "Fbgd, Ocmf, ContextRanker, Exmlds or OrdinalModel"
_MANIFEST = "manifest.json"


def snapshot_of(
    model: Model,
    *,
    feature_map: FeatureMap | None = None,
    metrics: Mapping[str, float] | None = None,
) -> Snapshot:
    """Return a fitted model as a snapshot.

    An ``Ocmf`` that was fitted with features needs the ``feature_map`` that encoded them.

    >>> from hedgerow import ordinal
    >>> x = np.linspace(0.0, 1.0, 40)[:, None]
    >>> model = ordinal.fit(x, np.repeat([1, 2], 20), 2, ordinal.OrdinalConfig(block=4, blocks=1))
    >>> snapshot_of(model, metrics={"auc": 1.0}).metrics
    {'auc': 1.0}
    """
    if not isinstance(model, Model):
        raise ConfigError(f"{type(model).__name__} has no snapshot: give a fitted {_KINDS}")
    if isinstance(model, OrdinalModel):
        return ordinal.of_model(model, settings={}, metrics=metrics or {}, cuts={})
    about = About(settings=asdict(model.config), metrics=metrics or {}, cuts={})
    if isinstance(model, Fbgd):
        return _with_popular(of_objective(_named(model), model.fitted, **about), model)
    if isinstance(model, Ocmf) and model.parameters is None and model.link == 0.0:
        return _with_popular(of_objective(_named(model), model.objective, **about), model)
    if isinstance(model, Ocmf):
        return of_users(_named(model), users_of(model, feature_map), **about)
    if isinstance(model, ContextRanker):
        return of_contexts(model.config.kind, model, **about)
    return of_space(model.config.variant, model.space, **about)


def _named(model: Fbgd | Ocmf) -> str:
    """Return the name of a model in its snapshot."""
    return type(model).__name__.lower()


def _with_popular(snapshot: Snapshot, model: Fbgd | Ocmf) -> Snapshot:
    """Add the order for users without pairs; the service counts popularity elsewhere."""
    if model.popular is None:
        return snapshot
    return replace(snapshot, arrays={**snapshot.arrays, "popular": model.popular})


def model_of(snapshot: Snapshot) -> Restored:
    """Return the object that recommends or predicts by a snapshot, sharing its arrays.

    The result for ``Fbgd`` and ``Ocmf`` is a ``RowRanker``, which recommends for any rows of pairs;
    for an ``Ocmf`` with features or a graph, the ``StructuredUsers`` that compute vectors of users;
    for ``Exmlds`` its ``LabelSpace``; for other models an equal model.

    >>> from hedgerow import ordinal
    >>> x = np.linspace(0.0, 1.0, 40)[:, None]
    >>> model = ordinal.fit(x, np.repeat([1, 2], 20), 2, ordinal.OrdinalConfig(block=4, blocks=1))
    >>> again = model_of(snapshot_of(model))
    >>> bool((again.scores(x) == model.scores(x)).all())
    True
    """
    for part, read in _READERS.items():
        if part in snapshot.parameters:
            return read(snapshot)
    raise SnapshotFormat(f"no model reads a snapshot named {snapshot.model!r}")


_READERS: dict[str, Callable[[Snapshot], Restored]] = {
    "contexts": contexts_of,
    "space": space_of,
    "ordinal": ordinal.model_of,
    "users": stored_users,
    "row": lambda snapshot: RowRanker(objective_of(snapshot), snapshot.arrays.get("popular")),
}
"""The reader of each family, by the entry of the parameters that only this family has."""


def save(
    model: Model | Snapshot, path: str | PathLike[str], *, feature_map: FeatureMap | None = None
) -> None:
    """Write a fitted model or its snapshot to a ``.npz`` file; see ``load``.

    >>> import tempfile
    >>> from hedgerow import Ocmf, OcmfConfig, from_pairs
    >>> model = Ocmf(OcmfConfig(factors=2)).fit(from_pairs([0, 0, 1], [0, 1, 1]))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save(model, f"{folder}/model.npz")
    """
    made = model if isinstance(model, Snapshot) else snapshot_of(model, feature_map=feature_map)
    arrays: dict[str, Any] = dict(made.arrays)
    arrays[_MANIFEST] = np.frombuffer(json.dumps(made.manifest).encode(), np.uint8)
    with open(path, "wb") as file:
        np.savez(file, **arrays)


def load(path: str | PathLike[str]) -> Restored:
    """Return the model in a file that ``save`` wrote; see ``model_of`` for its type.

    Raises SnapshotFormat if the file is damaged.

    >>> import tempfile
    >>> from pathlib import Path
    >>> from hedgerow import Fbgd, FbgdConfig, from_pairs
    >>> pairs = from_pairs(np.array([0, 0, 1]), np.array([0, 1, 2]))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save(Fbgd(FbgdConfig(factors=2)).fit(pairs), Path(folder, "model.npz"))
    ...     model = load(Path(folder, "model.npz"))
    >>> model.recommend(1, pairs, N=1)[0].shape
    (1,)
    """
    try:
        with np.load(path, allow_pickle=False) as file:
            parts = {name: file[name].tobytes() for name in file.files}
        manifest = json.loads(parts.pop(_MANIFEST))
    except (ValueError, KeyError, EOFError) as error:
        raise SnapshotFormat(
            f"{path} was not written by hedgerow.snapshots.save: {error}"
        ) from error
    return model_of(restored(manifest, parts))
