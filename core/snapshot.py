"""A trained model as named arrays and a manifest: what the registry stores and serving maps. No I/O here.

The manifest is plain JSON: what the model is, how it was made, and of every array its type, shape and sha256.
Nothing is pickled; arrays travel as their bytes, little-endian and C-ordered.
"""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from core.batch.row_objective import RowObjective
from core.errors import SnapshotFormat

SCHEMA = 1
TYPES = ("<f4", "<f8", "<i4", "<i8", "<u4", "<u8", "|u1", "|b1")
"""Types of arrays that a snapshot may hold."""

Array = NDArray[Any]


@dataclass(frozen=True)
class Snapshot:
    """One trained model; its arrays cannot be written to."""

    model: str
    arrays: Mapping[str, Array]
    parameters: Mapping[str, Any] = field(default_factory=dict)
    """Settings of the fit, and the numbers that are part of the model."""
    metrics: Mapping[str, float] = field(default_factory=dict)
    cuts: Mapping[str, Any] = field(default_factory=dict)
    """Up to which events the model was trained and judged."""

    def __post_init__(self) -> None:
        frozen = {name: _frozen(name, array) for name, array in self.arrays.items()}
        object.__setattr__(self, "arrays", frozen)

    @property
    def manifest(self) -> dict[str, Any]:
        """Return what describes the arrays; JSON can hold it."""
        return {
            "schema": SCHEMA,
            "model": self.model,
            "parameters": dict(self.parameters),
            "metrics": dict(self.metrics),
            "cuts": dict(self.cuts),
            "arrays": {name: _entry(array) for name, array in self.arrays.items()},
        }

    @property
    def version(self) -> str:
        """Return the sha256 of the manifest, hence of everything: equal models have equal versions."""
        text = json.dumps(self.manifest, sort_keys=True, separators=(",", ":"), allow_nan=False)
        return hashlib.sha256(text.encode()).hexdigest()


def restored(manifest: Mapping[str, Any], parts: Mapping[str, bytes]) -> Snapshot:
    """Return the snapshot whose arrays have these bytes; SnapshotFormat if anything differs."""
    if manifest.get("schema") != SCHEMA:
        raise SnapshotFormat(
            f"the manifest has schema {manifest.get('schema')!r}, this version reads {SCHEMA}: "
            "train the model anew"
        )
    try:
        entries = manifest["arrays"]
        missing = entries.keys() ^ parts.keys()
        if missing:
            raise SnapshotFormat(f"manifest and arrays differ in {', '.join(sorted(missing))}")
        arrays = {name: _array(name, entry, parts[name]) for name, entry in entries.items()}
        rest = {key: manifest[key] for key in ("model", "parameters", "metrics", "cuts")}
    except (KeyError, TypeError, AttributeError) as error:
        raise SnapshotFormat(f"the manifest lacks or misspells {error}") from error
    return Snapshot(arrays=arrays, **rest)


def array_bytes(array: Array) -> bytes:
    """Return the bytes that ``restored`` reads."""
    return _little(array).tobytes()


def of_objective(
    model: str,
    objective: RowObjective,
    *,
    settings: Mapping[str, Any],
    metrics: Mapping[str, float],
    cuts: Mapping[str, Any],
) -> Snapshot:
    """Return the snapshot of a model whose users are folded in."""
    values = {entry.name: getattr(objective, entry.name) for entry in fields(objective)}
    arrays = {name: value for name, value in values.items() if isinstance(value, np.ndarray)}
    numbers = {name: value for name, value in values.items() if name not in arrays}
    return Snapshot(model, arrays, {"settings": dict(settings), "row": numbers}, metrics, cuts)


def objective_of(snapshot: Snapshot) -> RowObjective:
    """Return what folds users in; its arrays are the snapshot's, not copies."""
    try:
        values: dict[str, Any] = {**snapshot.arrays, **snapshot.parameters["row"]}
        return RowObjective(**values)
    except (KeyError, TypeError) as error:
        raise SnapshotFormat(f"the snapshot is not of a model with fold-in: {error}") from error


def _little(array: Array) -> Array:
    return np.ascontiguousarray(array, dtype=array.dtype.newbyteorder("<"))


def _frozen(name: str, array: Array) -> Array:
    if array.dtype.newbyteorder("<").str not in TYPES:
        raise SnapshotFormat(f"array {name} has type {array.dtype}: use one of {', '.join(TYPES)}")
    view = _little(array).view()
    view.flags.writeable = False
    return view


def _entry(array: Array) -> dict[str, Any]:
    digest = hashlib.sha256(array_bytes(array)).hexdigest()
    return {"dtype": array.dtype.str, "shape": list(array.shape), "sha256": digest}


def _array(name: str, entry: Mapping[str, Any], data: bytes) -> Array:
    if entry["dtype"] not in TYPES:
        raise SnapshotFormat(f"array {name} has the unknown type {entry['dtype']!r}")
    dtype, shape = np.dtype(entry["dtype"]), tuple(entry["shape"])
    if len(data) != dtype.itemsize * int(np.prod(shape, dtype=np.int64)):
        raise SnapshotFormat(f"array {name} has {len(data)} bytes, which is not {shape} of {dtype}")
    if hashlib.sha256(data).hexdigest() != entry["sha256"]:
        raise SnapshotFormat(f"array {name} is damaged: its sha256 is not that of the manifest")
    return np.frombuffer(data, dtype).reshape(shape)
