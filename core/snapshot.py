"""A trained model as named arrays and a manifest: what the registry stores and serving maps. No I/O here.

The manifest is plain JSON: what the model is, how it was made, and of every array its type, shape and sha256.
Nothing is pickled; arrays travel as their bytes, little-endian and C-ordered.
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
TYPES = ("<f4", "<f8", "<i4", "<i8", "<u4", "<u8", "|u1", "|b1")
"""Types of arrays that a snapshot may hold."""

ALIGNMENT = 64
"""Arrays of a blob begin at multiples of it: a cache line, and enough for any vector instruction."""

Array = NDArray[Any]
Buffer = bytes | memoryview
"""Bytes, or a one-dimensional view of them."""


@dataclass(frozen=True)
class Snapshot:
    """One trained model; its arrays cannot be written to.

    >>> made = Snapshot("mine", {"weights": np.ones(3, np.float32)}, {"reg": 0.5})
    >>> made.manifest["arrays"]["weights"]["shape"], len(made.version)
    ([3], 64)
    """

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
        for name in _SAID:
            object.__setattr__(self, name, _plain(name, getattr(self, name)))

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
        return version_of(self.manifest)


def version_of(manifest: Mapping[str, Any]) -> str:
    """Return the version of the model that a manifest describes."""
    try:
        text = json.dumps(manifest, sort_keys=True, separators=(",", ":"), allow_nan=False)
    except (TypeError, ValueError) as error:
        raise SnapshotFormat(f"the manifest holds what JSON cannot: {error}") from error
    return hashlib.sha256(text.encode()).hexdigest()


def blob(snapshot: Snapshot) -> Iterator[bytes]:
    """Yield the bytes of all arrays by name, each padded to a multiple of 64, so that they can be mapped."""
    for _, array in sorted(snapshot.arrays.items()):
        yield array_bytes(array)
        yield bytes(-array.nbytes % ALIGNMENT)


def blob_bytes(manifest: Mapping[str, Any]) -> int:
    """Return how many bytes ``blob`` yields."""
    return max((at.stop + -at.stop % ALIGNMENT for at in _places(manifest).values()), default=0)


def mapped(manifest: Mapping[str, Any], data: Buffer) -> Snapshot:
    """Return the snapshot whose blob is ``data``, a view of it and no copy; SnapshotFormat if anything differs."""
    view = memoryview(data)
    return restored(manifest, {name: view[at] for name, at in _places(manifest).items()})


def restored(manifest: Mapping[str, Any], parts: Mapping[str, Buffer]) -> Snapshot:
    """Return the snapshot whose arrays have these bytes; SnapshotFormat if anything differs."""
    if not isinstance(manifest, Mapping):
        raise SnapshotFormat("the manifest is no mapping: give what `Snapshot.manifest` returned")
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
        rest = {key: {**manifest[key]} for key in _SAID}
        return Snapshot(manifest["model"], arrays, **rest)
    except (KeyError, TypeError, AttributeError) as error:
        raise SnapshotFormat(f"the manifest lacks or misspells {error}") from error


def array_bytes(array: Array) -> bytes:
    """Return the bytes that ``restored`` reads."""
    return _little(array).tobytes()


class About(TypedDict):
    """What a snapshot says of a model besides its arrays."""

    settings: Mapping[str, Any]
    metrics: Mapping[str, float]
    cuts: Mapping[str, Any]


def snapshot_of(
    model: str, arrays: Mapping[str, Array], parameters: Mapping[str, Any], about: About
) -> Snapshot:
    """Return the snapshot of a model that is made of these arrays and numbers."""
    settings = {"settings": dict(about["settings"])}
    return Snapshot(model, arrays, {**settings, **parameters}, about["metrics"], about["cuts"])


_SAID = ("parameters", "metrics", "cuts")
"""What a manifest says in JSON's own words."""


def _plain(name: str, value: Any) -> Any:
    """Return the value with numpy's numbers as Python's; SnapshotFormat for NaN and infinity, which JSON cannot say."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, Mapping):
        return {key: _plain(f"{name}.{key}", one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(f"{name}.{at}", one) for at, one in enumerate(value)]
    if isinstance(value, float) and not math.isfinite(value):
        raise SnapshotFormat(f"{name} is {value}: a snapshot takes finite numbers, leave it out")
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


def _places(manifest: Mapping[str, Any]) -> dict[str, slice]:
    """Return where in the blob each array lies."""
    places, start = {}, 0
    try:
        for name, entry in sorted(manifest["arrays"].items()):
            stop = start + _size(name, entry)
            places[name] = slice(start, stop)
            start = stop + -stop % ALIGNMENT
    except (KeyError, TypeError, AttributeError) as error:
        raise SnapshotFormat(f"the manifest lacks or misspells {error}") from error
    return places


def _size(name: str, entry: Mapping[str, Any]) -> int:
    if entry["dtype"] not in TYPES:
        raise SnapshotFormat(f"array {name} has the unknown type {entry['dtype']!r}")
    shape = entry["shape"]
    if not all(type(n) is int and n >= 0 for n in shape):
        raise SnapshotFormat(f"array {name} has the impossible shape {shape}")
    # whole numbers of Python do not overflow
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
