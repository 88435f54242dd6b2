"""A commit as commands: readers of the store and replays rely on each command and on the order."""

import numpy as np
import pytest

from service.store.keys import PartitionKeys
from service.store.log.change import LISTED
from service.store.log.codec import AWAITED_ANSWER, DUPLICATE
from service.store.profiles.click_through import SourceCounts
from service.store.profiles.commit import (
    Changes,
    Commit,
    DedupeChange,
    HistoryChanges,
    Removals,
    Rewritten,
    RowChanges,
    StateChange,
)
from service.store.profiles.commit_packing import CommitPacking
from service.store.profiles.dedupe_chunk import DedupeChunk, DedupeClock, ListChange
from service.store.profiles.take_over import take_over
from service.store.profiles.writer import ProfileWriter

KEYS = PartitionKeys("ns", 0)
ROW = np.array([[1.0, 2.0]], dtype=np.float32)
NO_RECORDS = np.empty(0, dtype="<u4")


def commands(commit, keys=KEYS):
    """The commands between MULTI and EXEC; scripts by their first key alone."""
    packed = CommitPacking(keys, epoch=4, generation=2).pack(commit)._data
    parsed = list(resp(packed))
    assert parsed[0] == [b"MULTI"]
    end = parsed.index([b"EXEC"])
    state = keys.state.encode()
    watch = [[b"WATCH", state], [b"HMGET", state, b"epoch", b"watermark", b"identity"]]
    assert parsed[end + 1 :] == watch, "the watch for the next commit travels with this one"
    return [[one[0], *one[2:]] if one[0] == b"EVAL" else one for one in parsed[1:end]]


def resp(data):
    """Parse commands as a server does."""
    at = 0
    while at < len(data):
        n, at = number(data, at, b"*")
        command = []
        for _ in range(n):
            size, at = number(data, at, b"$")
            command.append(data[at : at + size])
            at += size + 2
        yield command


def number(data, at, mark):
    assert data[at : at + 1] == mark
    end = data.index(b"\r\n", at)
    return int(data[at + 1 : end]), end + 2


def change(*fields, watermark=9):
    """The entry of the change feed."""
    kept = [b"MAXLEN", b"~", b"4096", b"%d-0" % watermark]
    return [b"XADD", KEYS.changes.encode(), *kept, *fields]


def test_the_smallest_commit_moves_the_watermark_and_announces_it():
    assert commands(Commit(follows=7, watermark=9, changes=Changes())) == [
        change(b"f", b"7", b"e", b"4", b"u", b"", b"i", b""),
        [b"HSET", KEYS.state.encode(), b"watermark", b"9"],
    ]


def test_every_change_is_a_command_in_its_place():
    changes = Changes(
        rows=RowChanges(
            users=["ann"], user_rows=ROW, items=[17], item_rows=2 * ROW, new_items=[17]
        ),
        histories=HistoryChanges(
            users=["ann"],
            records=[memoryview(b"r" * 24)],
            new_users=["ann"],
            contexts={"ann": b"entry"},
            rewritten=[Rewritten("bob", NO_RECORDS, np.array([3]), joined="eve")],
        ),
        removals=Removals(users=["eve"], last_generation=3, impressions=[b"5-0"], items={8: 9}),
        counts=[(24, b"c" * 24)],
        impressions=[("ann", b"i" * 24)],
        click_through={"0a": SourceCounts(9, {"6": 1}), "0b": None},
        touched_users=["ann", "bob"],
        touched_items=np.array([17]),
    )
    answers = np.array([(9, 0, 0, 0, DUPLICATE)], dtype=AWAITED_ANSWER)
    commit = Commit(
        follows=7,
        watermark=9,
        changes=changes,
        dedupe=DedupeChange(
            lists={
                3: ListChange(42, 9, [DedupeChunk(1, bytes(16))], obsolete=2),
                4: ListChange(43, 0, [], obsolete=1),
            },
            clock=DedupeClock(7, 6),
        ),
        state=StateChange(arrays={"mean": b"m"}, counters={"learned": 8}),
        answers=answers,
        expert_point={"learned": 8, "experts": []},
        log_bytes=100,
    )
    item, user = (b"hr:{ns.0}:%s:2:" % kind for kind in (b"item", b"user"))
    point = b'{"learned": 8, "experts": []}'
    assert commands(commit) == [
        [b"MSET", user + b"ann", ROW.tobytes()],
        [b"MSET", item + b"17", (2 * ROW).tobytes()],
        [b"BITFIELD", KEYS.item_rows(2).encode(), b"SET", b"u1", b"#17", b"1"],
        [b"HSET", KEYS.online(2).encode(), b"mean", b"m"],
        [b"SETRANGE", KEYS.counts(2).encode(), b"24", b"c" * 24],
        [b"ZADD", KEYS.users.encode(), b"0", b"ann"],
        [b"EVAL", b"1", KEYS.history("ann").encode(), b"r" * 24],
        [b"EVAL", b"1", KEYS.contexts("ann").encode(), b"120000", b"entry"],
        [b"DEL", KEYS.history("bob").encode()],
        [b"SET", KEYS.trimmed("bob").encode(), np.array([3], "<u4").tobytes()],
        [
            *(b"EVAL", b"3", KEYS.history("bob").encode(), KEYS.contexts("bob").encode()),
            *(KEYS.contexts("eve").encode(), b"120000"),
        ],
        [
            b"UNLINK",
            KEYS.user_row(2, "eve").encode(),
            KEYS.user_row(3, "eve").encode(),
            KEYS.history("eve").encode(),
            KEYS.trimmed("eve").encode(),
            KEYS.contexts("eve").encode(),
        ],
        [b"ZREM", KEYS.users.encode(), b"eve"],
        [b"HSET", KEYS.deleted_items.encode(), b"8", b"9"],
        [b"XDEL", KEYS.impressions.encode(), b"5-0"],
        [b"EVAL", b"1", KEYS.impressions.encode(), b"9", b"10000", b"ann", b"i" * 24],
        [b"HSET", KEYS.responses.encode(), b"0a", b'{"last": 9, "events": {"6": 1}}'],
        [b"HDEL", KEYS.responses.encode(), b"0b"],
        [b"XADD", KEYS.expert_history.encode(), b"MAXLEN", b"~", b"10000", b"9-0", b"d", point],
        change(
            *(b"f", b"7", b"e", b"4", b"u", b"ann\nbob"),
            *(b"i", np.array([17], "<u4").tobytes(), b"p", answers.tobytes()),
        ),
        [b"RPUSH", KEYS.dedupe(3).encode(), DedupeChunk(1, bytes(16)).pack()],
        [b"LPOP", KEYS.dedupe(3).encode(), b"2"],
        [b"LPOP", KEYS.dedupe(4).encode(), b"1"],
        [b"HDEL", KEYS.dedupe_lists.encode(), b"4"],
        [b"HSET", KEYS.dedupe_lists.encode(), b"clock", b"7 6", b"3", b"0000002a 9"],
        [b"XTRIM", KEYS.log.encode(), b"MINID", b"10-0"],
        [b"DECRBY", KEYS.log_bytes.encode(), b"100"],
        [b"HSET", KEYS.state.encode(), b"watermark", b"9", b"learned", b"8"],
    ]


@pytest.mark.parametrize("side", ["touched_users", "touched_items"])
def test_a_commit_of_too_many_users_announces_all(side):
    many = {"touched_users": ["u"] * (LISTED + 1), "touched_items": np.arange(LISTED + 1)}
    told, _ = commands(Commit(follows=7, watermark=9, changes=Changes(**{side: many[side]})))
    assert told == change(b"f", b"7", b"e", b"4", b"a", b"1")


def test_a_user_that_is_removed_leaves_nothing_in_any_generation(client, namespace):
    keys = PartitionKeys(namespace, 0)
    state = take_over(client, keys, fingerprint=b"experts1", machine="m")
    for generation in range(3):
        client.set(keys.user_row(generation, "eve"), b"row")
    client.mset({keys.history("eve"): b"h", keys.trimmed("eve"): b"t"})
    client.zadd(keys.users, {"eve": 0, "ann": 0})
    writer = ProfileWriter(client, keys, state)
    gone = Removals(users=["eve"], last_generation=2)
    writer.commit(Commit(follows=0, watermark=1, changes=Changes(removals=gone)))
    writer.close()
    assert client.zrange(keys.users, 0, -1) == [b"ann"]
    left = client.exists(*(keys.user_row(number, "eve") for number in range(3)))
    assert (left, client.exists(keys.history("eve"), keys.trimmed("eve"))) == (0, 0)
