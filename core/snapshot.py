"""A trained model as named arrays and a manifest, which the registry stores and serving maps.

The manifest is plain JSON: the kind of model, how it was made, and the type, shape and sha256 of
every array. Nothing is pickled: arrays are stored as their bytes, little-endian and C-ordered. This
module does no I/O. ``snapshot`` modules beside the models turn models into snapshots and back.
"""

import hashlib
import json
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, TypedDict

import numpy as np
from numpy.typing import NDArray

from core.errors import SnapshotFormat

SCHEMA = 1
"""Version of the manifest's format."""
TYPES = ("<f4", "<f8", "<i4", "<i8", "<u4", "<u8", "|u1", "|b1")
"""Array types that a snapshot may hold."""

ALIGNMENT = 64
"""Alignment of arrays in a blob, in bytes: a cache line, enough for any vector instruction."""

Array = NDArray[Any]
Buffer = bytes | memoryview
"""Bytes, or a one-dimensional view of them."""


@dataclass(frozen=True)
class Snapshot:
    """One trained model with read-only arrays.

    >>> made = Snapshot("mine", {"weights": np.ones(3, np.float32)}, {"reg": 0.5})
    >>> made.manifest["arrays"]["weights"]["shape"], len(made.version)
    ([3], 64)
    """

    model: str
    arrays: Mapping[str, Array]
    parameters: Mapping[str, Any] = field(default_factory=dict)
    """Settings of the fit, and the model's numbers."""
    metrics: Mapping[str, float] = field(default_factory=dict)
    cuts: Mapping[str, Any] = field(default_factory=dict)
    """The last events that the model was trained on and evaluated on."""

    def __post_init__(self) -> None:
        frozen = {name: _frozen(name, array) for name, array in self.arrays.items()}
        object.__setattr__(self, "arrays", frozen)
        for name in _MAPPINGS:
            object.__setattr__(self, name, _plain(name, getattr(self, name)))

    @property
    def manifest(self) -> dict[str, Any]:
        """Return the manifest, which JSON can hold."""
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
        """Return the sha256 of the manifest, which covers the arrays as well."""
        return version_of(self.manifest)


def version_of(manifest: Mapping[str, Any]) -> str:
    """Return the version of the model that a manifest describes."""
    try:
        text = json.dumps(manifest, sort_keys=True, separators=(",", ":"), allow_nan=False)
    except (TypeError, ValueError) as error:
        raise SnapshotFormat(f"the manifest holds what JSON cannot: {error}") from error
    return hashlib.sha256(text.encode()).hexdigest()


def blob(snapshot: Snapshot) -> Iterator[bytes]:
    """Yield the bytes of all arrays in the order of their names, each padded to ALIGNMENT."""
    for _, array in sorted(snapshot.arrays.items()):
        yield array_bytes(array)
        yield bytes(-array.nbytes % ALIGNMENT)


def blob_bytes(manifest: Mapping[str, Any]) -> int:
    """Return the number of bytes that ``blob`` yields."""
    return max((at.stop + -at.stop % ALIGNMENT for at in _slices(manifest).values()), default=0)


def mapped(manifest: Mapping[str, Any], data: Buffer) -> Snapshot:
    """Return the snapshot whose blob is ``data``: its arrays are views, not copies.

    Raises SnapshotFormat if the data does not match the manifest.
    """
    view = memoryview(data)
    return restored(manifest, {name: view[at] for name, at in _slices(manifest).items()})


def restored(manifest: Mapping[str, Any], parts: Mapping[str, Buffer]) -> Snapshot:
    """Return the snapshot whose arrays have these bytes.

    Raises SnapshotFormat if the bytes do not match the manifest.
    """
    if not isinstance(manifest, Mapping):
        raise SnapshotFormat("the manifest is not a mapping: give that of `Snapshot.manifest`")
    if manifest.get("schema") != SCHEMA:
        raise SnapshotFormat(
            f"the manifest has schema {manifest.get('schema')!r}, this version reads {SCHEMA}: "
            "retrain the model"
        )
    try:
        entries = manifest["arrays"]
        missing = entries.keys() ^ parts.keys()
        if missing:
            raise SnapshotFormat(f"manifest and arrays differ in {', '.join(sorted(missing))}")
        arrays = {name: _array(name, entry, parts[name]) for name, entry in entries.items()}
        rest = {key: {**manifest[key]} for key in _MAPPINGS}
        return Snapshot(manifest["model"], arrays, **rest)
    except (KeyError, TypeError, AttributeError) as error:
        raise SnapshotFormat(f"the manifest lacks or misspells {error}") from error


def array_bytes(array: Array) -> bytes:
    """Return the bytes of an array as ``restored`` reads them."""
    return _little(array).tobytes()


class About(TypedDict):
    """The parts of a snapshot that do not depend on the kind of model."""

    settings: Mapping[str, Any]
    metrics: Mapping[str, float]
    cuts: Mapping[str, Any]


def snapshot_of(
    model: str, arrays: Mapping[str, Array], parameters: Mapping[str, Any], about: About
) -> Snapshot:
    """Return the snapshot of a model that consists of these arrays and numbers."""
    settings = {"settings": dict(about["settings"])}
    return Snapshot(model, arrays, {**settings, **parameters}, about["metrics"], about["cuts"])


_MAPPINGS = ("parameters", "metrics", "cuts")
"""Fields of a manifest that hold plain JSON."""


def _plain(name: str, value: Any) -> Any:
    """Return the value with Python numbers in place of numpy's.

    Raises SnapshotFormat for NaN and infinity, which JSON cannot hold.
    """
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, Mapping):
        return {key: _plain(f"{name}.{key}", one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(f"{name}.{at}", one) for at, one in enumerate(value)]
    if isinstance(value, float) and not math.isfinite(value):
        raise SnapshotFormat(f"{name} is {value}: a snapshot holds finite numbers, leave it out")
    return value


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


def _slices(manifest: Mapping[str, Any]) -> dict[str, slice]:
    """Return the slice of the blob that holds each array."""
    slices, start = {}, 0
    try:
        for name, entry in sorted(manifest["arrays"].items()):
            stop = start + _size(name, entry)
            slices[name] = slice(start, stop)
            start = stop + -stop % ALIGNMENT
    except (KeyError, TypeError, AttributeError) as error:
        raise SnapshotFormat(f"the manifest lacks or misspells {error}") from error
    return slices


def _size(name: str, entry: Mapping[str, Any]) -> int:
    if entry["dtype"] not in TYPES:
        raise SnapshotFormat(f"array {name} has the unknown type {entry['dtype']!r}")
    shape = entry["shape"]
    if not all(type(n) is int and n >= 0 for n in shape):
        raise SnapshotFormat(f"array {name} has the impossible shape {shape}")
    # Python integers do not overflow
    return int(np.dtype(entry["dtype"]).itemsize * math.prod(shape))


def _array(name: str, entry: Mapping[str, Any], data: Buffer) -> Array:
    size = _size(name, entry)
    dtype, shape = np.dtype(entry["dtype"]), tuple(entry["shape"])
    if len(data) != size:
        raise SnapshotFormat(f"array {name} has {len(data)} bytes, which is not {shape} of {dtype}")
    if hashlib.sha256(data).hexdigest() != entry["sha256"]:
        raise SnapshotFormat(f"array {name} is damaged: its sha256 is not that of the manifest")
    try:
        return np.frombuffer(data, dtype).reshape(shape)
    except ValueError as error:
        raise SnapshotFormat(f"array {name} has the impossible shape {shape}") from error
