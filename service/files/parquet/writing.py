"""Events and documents as Parquet files, written in bounded memory."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import islice
from tempfile import TemporaryFile
from typing import Any, BinaryIO

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq

from service.files.feedback import FeedbackLine

ROWS = 100_000
"""Rows of an event file that are compressed together."""
DOCUMENTS = 10_000
"""The same of documents, which are larger."""
COMPRESSION = "zstd"
_TIME = pa.timestamp("ms", tz="UTC")
_EVENT = pa.schema(
    [
        pa.field("user", pa.string(), nullable=False),
        pa.field("item", pa.string(), nullable=False),
        ("rating", pa.float64()),
        ("kind", pa.string()),
        ("timestamp", _TIME),
        ("context", pa.map_(pa.string(), pa.string())),
    ]
)
_COLUMNS = {
    "item": {
        "categories": pa.list_(pa.string()),
        "hidden": pa.bool_(),
        "available_from": _TIME,
        "available_until": _TIME,
    },
    "user": {"links": pa.list_(pa.struct([("user", pa.string()), ("weight", pa.float64())]))},
}
"""Columns beside the id, ``features`` and ``extra``."""
_TYPES = {bool: pa.bool_(), float: pa.float64(), str: pa.string(), list: pa.list_(pa.string())}


class EventWriter:
    """Events on their way into a file."""

    def __init__(self, out: BinaryIO) -> None:
        self._writer = pq.ParquetWriter(out, _EVENT, compression=COMPRESSION)
        self._waiting: list[FeedbackLine] = []

    def write(self, lines: Sequence[FeedbackLine]) -> None:
        """Take events; they are in the file when enough have come, or at the end."""
        self._waiting += lines
        if len(self._waiting) >= ROWS:
            self._flush()

    def close(self) -> None:
        """Complete the file."""
        self._flush()
        self._writer.close()

    def _flush(self) -> None:
        lines, self._waiting = self._waiting, []
        if lines:
            columns = [
                pa.array([getattr(line, field.name) for line in lines], _read_as(field.type))
                for field in _EVENT
            ]
            batch = pa.record_batch(columns, names=_EVENT.names)
            self._writer.write_batch(batch.cast(_EVENT))


class DocumentWriter:
    """Documents on their way into a file.

    They wait in a temporary file: which features there are, and of which type, is known at the end.
    """

    def __init__(self, named: str) -> None:
        self._named = named
        self._waiting = TemporaryFile()  # noqa: SIM115 - it is removed with this object
        self._features: dict[str, set[type]] = {}

    def add(self, documents: Sequence[Mapping[str, Any]]) -> None:
        """Take documents, as routes take them."""
        for one in documents:
            for name, value in one.get("features", {}).items():
                kind = float if type(value) is int else type(value)
                self._features.setdefault(name, set()).add(kind)
        self._waiting.write(msgspec.json.Encoder().encode_lines(documents))

    def write(self, out: BinaryIO) -> list[str]:
        """Write the file; return the features of several types, which are texts in it."""
        mixed = [name for name, kinds in self._features.items() if len(kinds) > 1]
        schema = self._schema()
        self._waiting.seek(0)
        with pq.ParquetWriter(out, schema, compression=COMPRESSION) as writer:
            while lines := list(islice(self._waiting, DOCUMENTS)):
                rows = [self._row(msgspec.json.decode(line), mixed) for line in lines]
                columns = [
                    pa.array([row.get(field.name) for row in rows], _read_as(field.type))
                    for field in schema
                ]
                batch = pa.record_batch(columns, names=schema.names)
                writer.write_batch(batch.cast(schema))
        return mixed

    def _schema(self) -> Any:
        fields = [pa.field(self._named, pa.string(), nullable=False)]
        fields += [pa.field(name, kind) for name, kind in _COLUMNS[self._named].items()]
        if self._features:
            features = [
                (name, _TYPES[next(iter(kinds))] if len(kinds) == 1 else pa.string())
                for name, kinds in self._features.items()
            ]
            fields.append(pa.field("features", pa.struct(features)))
        return pa.schema([*fields, ("extra", pa.string())])

    def _row(self, document: dict[str, Any], mixed: Sequence[str]) -> dict[str, Any]:
        features = document.get("features", {})
        for name in mixed:
            if name in features:
                features[name] = _text(features[name])
        if "extra" in document:
            document["extra"] = msgspec.json.encode(document["extra"]).decode()
        return document


def _read_as(kind: Any) -> Any:
    """Return the type in which our values of a column are: times are texts."""
    return pa.string() if kind == _TIME else kind


def _text(value: Any) -> str:
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()


@contextmanager
def event_writer(out: BinaryIO) -> Iterator[EventWriter]:
    """Yield what takes events; the file is whole when this ends without an error."""
    writer = EventWriter(out)
    yield writer
    writer.close()
