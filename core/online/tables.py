"""Rows that online models learn, and batches of ratings to learn from.

A row is one flat float32 vector with the same layout for users and items:

    columns 0-1   fingerprint of the set of experts (8 raw bytes; no kernel touches them)
    column  2     COUNT, ratings learned so far (exact up to 2^24)
    columns 3-4   RESIDUAL_SUM, RESIDUAL_WEIGHT: decayed residuals (features of the stack)
    columns 5-..  each group of experts in turn: its factors and accumulators, contiguous

The caller owns the tables (the learner maps ids to rows); the models update them in place.
"""

from dataclasses import dataclass
from enum import IntEnum

from core.types import F32, F64, I32, I64

FINGERPRINT_COLUMNS = 2
COUNT, RESIDUAL_SUM, RESIDUAL_WEIGHT = 2, 3, 4
FIRST_GROUP_COLUMN = 5

RECENT = 512
"""Number of a user's latest ratings that the re-solved expert uses."""


class Side(IntEnum):
    """Side of a row; part of the initial noise, so that user "1" and item "1" differ."""

    USER = 0
    ITEM = 1


@dataclass
class ItemTable:
    """Item rows; ``rows`` is (capacity, width) f32, C-order."""

    rows: F32


@dataclass
class UserTable:
    """User rows and, if the model ``needs_recent``, a ring of each user's latest ratings.

    rows (capacity, width) f32 · recent_item (capacity, RECENT) i32: item row numbers ·
    recent_rating (capacity, RECENT) f32 on the internal scale · recent_count (capacity,) i64:
    ratings written to the ring so far. The next rating goes to ``recent_count % RECENT``;
    ``min(recent_count, RECENT)`` entries are valid.
    """

    rows: F32
    recent_item: I32
    recent_rating: F32
    recent_count: I64


@dataclass(frozen=True)
class RatingRows:
    """n ratings to learn, in order and on their own scale; all arrays (n,)."""

    user_ix: I64
    """Rows of the tables."""
    item_ix: I64
    rating: F64 | F32
    sequence: I64
    """Numbers of the events, the counters of every random draw."""


@dataclass(frozen=True)
class Batch:
    """n ratings as the groups of experts learn them; all arrays are (n,).

    user_ix, item_ix i64: rows of the tables · rating f64 on the internal scale 1..5 · sequence i64:
    event numbers, the counters of every random draw · mean f64: the running mean rating *before*
    each event, (3 + sum of ratings) / (1 + count).
    """

    user_ix: I64
    item_ix: I64
    rating: F64
    sequence: I64
    mean: F64
