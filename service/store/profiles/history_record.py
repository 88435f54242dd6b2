"""The binary format of one record of a user's history: 24 bytes, little-endian, no pickle.

``histories`` interprets the records; ``keys.py`` says where they are stored.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from core.meaning import HistoryColumns
from core.types import I64, U8

HISTORY = np.dtype(
    [
        ("item", "<u4"),
        ("value", "<f4"),
        ("time_ms", "<i8"),
        ("sequence_low", "<u4"),
        ("sequence_high", "<u2"),
        ("kind", "u1"),
        ("flags", "u1"),
    ]
)
"""One record of a user's history, 24 bytes; the sequence is a u48."""


def records(
    item: NDArray[Any], value: NDArray[Any], time_ms: I64, sequence: I64, kind: U8
) -> NDArray[np.void]:
    """Return history records (n,) of n events."""
    out = np.zeros(len(item), dtype=HISTORY)
    out["item"], out["value"], out["time_ms"], out["kind"] = item, value, time_ms, kind
    out["sequence_low"] = sequence & 0xFFFFFFFF
    out["sequence_high"] = sequence >> 32
    return out


def sequences(history: NDArray[np.void]) -> I64:
    """Return the sequence (n,) of each history record."""
    low = history["sequence_low"].astype(np.int64)
    return low | (history["sequence_high"].astype(np.int64) << 32)


def columns(history: NDArray[np.void]) -> HistoryColumns:
    """Return the columns of some records that say what a user did, and in which order."""
    return HistoryColumns(history["item"], history["kind"], history["value"], sequences(history))


def read_history(packed: bytes | None) -> NDArray[np.void]:
    """Return the records of a stored history; no records if it is missing.

    Bytes after the last whole record are damage; the next append cuts them off.
    """
    packed = packed or b""
    return np.frombuffer(packed, dtype=HISTORY, count=len(packed) // HISTORY.itemsize)
