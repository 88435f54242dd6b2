"""A set of the latest N ids, each in the list of its producer, and a hash table into them.

A full set forgets the oldest id of the longest list: a producer that holds less than its share
loses nothing to one that holds more. An id is 12 bytes; 4 more name its producer and take no part
in the comparison. The table uses open addressing. See service/learning/dedupe.py.
"""

from typing import NamedTuple

from core.kernels.jit import helper, kernel
from core.types import I32, I64, U8, U32, U64

TAG, HELD, OLDEST, NEWEST = 0, 1, 2, 3
"""Columns of ``lists``: the producer, the number of ids, and the places of two of them."""
COUNT, FREE = 0, 1
"""Fields of ``ends``: the number of ids, and the first free place; ``after`` leads to the next."""
REPEATED, INTO, DISPLACED = 0, 1, 2
"""Columns of what is told of each id: whether it was in the set, the list that took it, and the
list that forgot its oldest id for it."""
NO_LIST = 255
SHARED = 0
"""The list of ids without a producer, and of producers for whom no list is left."""


class IdSet(NamedTuple):
    """N places for ids, L <= 255 lists, and a table with a power of two >= 2 N slots.

    low u64 and high u32 (N,): the id · age i64 (N,) · after i32 (N,): the next place of the list ·
    table i32: place of an id, -1 empty · lists i64 (L, 4) · ends i64 (2,)
    """

    low: U64
    high: U32
    age: I64
    after: I32
    table: I32
    lists: I64
    ends: I64


@helper
def _slot(low: int, high: int, ids: IdSet) -> int:
    """Return the slot that points to the id, or the empty slot where it belongs."""
    mask = len(ids.table) - 1
    slot = int(low) & mask
    while ids.table[slot] >= 0:
        place = ids.table[slot]
        if ids.low[place] == low and ids.high[place] == high:
            break
        slot = (slot + 1) & mask
    return slot


@helper
def _forget_oldest(number: int, ids: IdSet) -> None:
    """Remove the oldest id of a list and close the gap that it leaves in the table.

    Later entries of its probe sequence move up, so that no search stops too early.
    """
    place = ids.lists[number, OLDEST]
    mask = len(ids.table) - 1
    hole = _slot(ids.low[place], ids.high[place], ids)
    slot = (hole + 1) & mask
    while ids.table[slot] >= 0:
        home = int(ids.low[ids.table[slot]]) & mask
        # An entry may fill the hole unless its home slot lies behind the hole.
        if ((slot - home) & mask) >= ((slot - hole) & mask):
            ids.table[hole] = ids.table[slot]
            hole = slot
        slot = (slot + 1) & mask
    ids.table[hole] = -1
    ids.lists[number, OLDEST] = ids.after[place]
    ids.lists[number, HELD] -= 1
    ids.after[place] = ids.ends[FREE]
    ids.ends[FREE] = place
    ids.ends[COUNT] -= 1


@helper
def _make_room(number: int, ids: IdSet) -> int:
    """Return the list that forgot its oldest id so that another can join list ``number``."""
    if ids.ends[COUNT] < len(ids.low):
        return NO_LIST
    lists = ids.lists
    longest, most = number, lists[number, HELD]
    if most > 0:
        most += 1
    for other in range(len(lists)):
        if lists[other, HELD] > most:
            longest, most = other, lists[other, HELD]
    _forget_oldest(longest, ids)
    return longest


@helper
def _list_of(tag: int, lists: I64) -> int:
    """Return the list of a producer, which is the first empty one if it has none yet."""
    if tag == 0:
        return SHARED
    free = SHARED
    for number in range(len(lists) - 1, 0, -1):
        if lists[number, HELD] == 0:
            free = number
        elif lists[number, TAG] == tag:
            return number
    return free


@helper
def _add(low: int, high: int, age: int, number: int, ids: IdSet) -> None:
    """Add an id as the newest of a list; there is room."""
    slot = _slot(low, high, ids)
    place = ids.ends[FREE]
    ids.ends[FREE] = ids.after[place]
    ids.ends[COUNT] += 1
    ids.low[place], ids.high[place], ids.age[place] = low, high, age
    ids.table[slot] = place
    if ids.lists[number, HELD] == 0:
        ids.lists[number, OLDEST] = place
    else:
        ids.after[ids.lists[number, NEWEST]] = place
    ids.lists[number, NEWEST] = place
    ids.lists[number, HELD] += 1


@kernel
def forget_older(oldest: int, ids: IdSet, forgotten: I64) -> None:
    """Forget the ids with an age below ``oldest``; add their numbers to ``forgotten`` (L,).

    Equation   W := {id in W : age(id) >= oldest}
    Cost       O(1) expected for each that is forgotten; allocates nothing
    Reference  tests/core/reference_window.py::forget_older
    """
    for number in range(len(ids.lists)):
        while ids.lists[number, HELD] > 0 and ids.age[ids.lists[number, OLDEST]] < oldest:
            _forget_oldest(number, ids)
            forgotten[number] += 1


@kernel
def window(digests: U64, age: int, ids: IdSet, told: U8) -> None:
    """Add each id that is not yet in the set, to the list of its producer.

    Equation   told[i, REPEATED] = id[i] in W; W takes the others, in order. If it has N ids, the
               list that is the longest then loses its oldest one: among several the one that grew
    Symbols    digests (n, 2) u64: 12 bytes of id, 4 of its producer, 0 for none · told (n, 3) u8
               out, NO_LIST where no list took an id, or none forgot one
    Cost       O(L) each, O(1) for the comparison; allocates nothing
    Reference  tests/core/reference_window.py::window
    """
    for i in range(len(digests)):
        low, high = digests[i, 0], digests[i, 1] & 0xFFFFFFFF
        told[i, REPEATED] = ids.table[_slot(low, high, ids)] >= 0
        told[i, INTO] = told[i, DISPLACED] = NO_LIST
        if told[i, REPEATED]:
            continue
        tag = int(digests[i, 1] >> 32)
        number = _list_of(tag, ids.lists)
        told[i, DISPLACED] = _make_room(number, ids)
        ids.lists[number, TAG] = tag
        _add(low, high, age, number, ids)
        told[i, INTO] = number


@kernel
def restore(digests: U64, age: int, number: int, ids: IdSet) -> None:
    """Add ids, which the set lacks, to a list; a full set makes room for them as ``window`` does.

    Equation   W := W + {id[i]}, in order; if W has N ids before, the longest list loses its oldest
    Cost       O(L) each; allocates nothing
    Reference  tests/core/reference_window.py::restore
    """
    for i in range(len(digests)):
        _make_room(number, ids)
        _add(digests[i, 0], digests[i, 1] & 0xFFFFFFFF, age, number, ids)
