"""The Redis commands of a commit, packed for the wire. Readers rely on their bytes and order."""

from collections.abc import Iterable, Mapping
from importlib import resources
from typing import Any

from service.store.keys import PartitionKeys
from service.store.log.change import Change
from service.store.profiles.click_through import pack_counts
from service.store.profiles.commit import (
    Commit,
    DedupeChange,
    HistoryChanges,
    Removals,
    Rewritten,
    RowChanges,
)
from service.store.profiles.contexts import BYTES_KEPT
from service.store.profiles.dedupe_chunk import CLOCK
from service.store.profiles.expert_history import pack_point
from service.store.profiles.history_store import pack_trimmed
from service.store.profiles.transaction import (
    Argument,
    PackedTransaction,
    Transaction,
    argument,
    arguments,
    packed,
)

CHANGES_KEPT = 4_096
"""Approximate number of commits that the change feed keeps."""
EXPERT_HISTORY_KEPT = 10_000
IMPRESSIONS_KEPT = 10_000

_APPEND, _IMPRESS, _ADD_CONTEXTS, _REWRITE_CONTEXTS = (
    resources.files(__package__).joinpath(f"{name}.lua").read_text()
    for name in ("append_histories", "add_impressions", "append_contexts", "rewrite_contexts")
)


class CommitPacking:
    """Packs the commits of one writer, which has one epoch and one generation of rows."""

    def __init__(self, keys: PartitionKeys, *, epoch: int, generation: int) -> None:
        self._keys, self._epoch, self._generation = keys, epoch, generation
        # each key ends with an id
        self._user_row = keys.user_row(generation, "")
        self._item_row = keys.item_row(generation, 0).removesuffix("0")
        self._history = keys.history("")

    def watch(self) -> tuple[bytes, bytes]:
        """Return the commands that watch the state and read it."""
        state = self._keys.state
        return packed("WATCH", state), packed("HMGET", state, "epoch", "watermark", "identity")

    def pack(self, commit: Commit) -> PackedTransaction:
        """Return the transaction, followed by the watch for the next commit."""
        transaction = Transaction()
        changes, keys = commit.changes, self._keys
        self._add_rows(transaction, changes.rows)
        if commit.state.arrays:
            transaction.add("HSET", keys.online(self._generation), *_flat(commit.state.arrays))
        for offset, data in changes.counts:
            transaction.add("SETRANGE", keys.counts(self._generation), offset, data)
        for offset, data in changes.showings:
            transaction.add("SETRANGE", keys.showings, offset, data)
        self._add_transitions(transaction, commit)
        self._add_histories(transaction, changes.histories)
        self._add_removals(transaction, changes.removals)
        self._add_side_streams(transaction, commit)
        self._add_change(transaction, commit)
        if commit.dead is not None:
            name = f"{commit.dead.last}-0"
            transaction.add("XADD", keys.dead, name, *_flat(commit.dead.fields()))
        self._add_ids(transaction, commit.dedupe)
        if commit.log_bytes:
            transaction.add("XTRIM", keys.log, "MINID", f"{commit.watermark + 1}-0")
            transaction.add("DECRBY", keys.log_bytes, commit.log_bytes)
        counters = _flat(commit.state.counters)
        transaction.add("HSET", keys.state, "watermark", commit.watermark, *counters)
        return transaction.finish(*self.watch())

    def _add_rows(self, transaction: Transaction, rows: RowChanges) -> None:
        if rows.users:
            users = map(str.encode, rows.users)
            transaction.set_rows(self._user_row, users, rows.user_rows)
        if rows.items:
            transaction.set_rows(self._item_row, _digits(rows.items), rows.item_rows)
        if rows.new_items:
            bits = [part for number in rows.new_items for part in ("SET", "u1", f"#{number}", 1)]
            transaction.add("BITFIELD", self._keys.item_rows(self._generation), *bits)

    def _add_transitions(self, transaction: Transaction, commit: Commit) -> None:
        change, generation = commit.transitions, self._generation
        journal = self._keys.transition_journal(generation)
        if change.entry:
            transaction.add("XADD", journal, f"{commit.watermark}-0", "d", change.entry)
        if change.rows.items:
            key = self._keys.transitions(generation)
            transaction.set_fields(key, change.rows.items, change.rows.rows)
        if change.obsolete is not None:
            transaction.add("XTRIM", journal, "MINID", f"{change.obsolete + 1}-0")

    def _add_histories(self, transaction: Transaction, histories: HistoryChanges) -> None:
        if histories.new_users:
            transaction.add("ZADD", self._keys.users, *_scored(histories.new_users))
        if histories.users:
            names = arguments(self._history, map(str.encode, histories.users))
            transaction.evaluate(_APPEND, names, histories.records)
        if histories.contexts:
            names = [argument(self._keys.contexts(user)) for user in histories.contexts]
            values: list[Argument] = [BYTES_KEPT, *histories.contexts.values()]
            transaction.evaluate(_ADD_CONTEXTS, names, values)
        for user in histories.rewritten:
            self._rewrite(transaction, user)

    def _rewrite(self, transaction: Transaction, user: Rewritten) -> None:
        keys = self._keys
        self._replace(transaction, keys.history(user.user), user.history.tobytes())
        self._replace(transaction, keys.trimmed(user.user), pack_trimmed(user.trimmed))
        names = [keys.history(user.user), keys.contexts(user.user)]
        names += [keys.contexts(user.joined)] if user.joined else []
        transaction.evaluate(_REWRITE_CONTEXTS, [argument(name) for name in names], [BYTES_KEPT])

    def _replace(self, transaction: Transaction, key: str, value: bytes) -> None:
        if value:
            transaction.add("SET", key, value)
        else:
            transaction.add("DEL", key)

    def _add_removals(self, transaction: Transaction, removals: Removals) -> None:
        keys = self._keys
        last = max(removals.last_generation, self._generation)
        for user in removals.users:
            rows = [keys.user_row(number, user) for number in range(self._generation, last + 1)]
            beside = keys.history(user), keys.trimmed(user), keys.contexts(user)
            transaction.add("UNLINK", *rows, *beside)
            transaction.add("ZREM", keys.users, user)
        if removals.items:
            transaction.add("HSET", keys.deleted_items, *_flat(removals.items))
        if removals.impressions:
            transaction.add("XDEL", keys.impressions, *removals.impressions)

    def _add_side_streams(self, transaction: Transaction, commit: Commit) -> None:
        keys, changes = self._keys, commit.changes
        if changes.impressions:
            pieces = [part for pair in changes.impressions for part in pair]
            values = [commit.watermark, IMPRESSIONS_KEPT, *pieces]
            transaction.evaluate(_IMPRESS, [argument(keys.impressions)], values)
        for source, counts in changes.click_through.items():
            if counts is None:
                transaction.add("HDEL", keys.responses, source)
            else:
                transaction.add("HSET", keys.responses, source, pack_counts(counts))
        if commit.expert_point is not None:
            kept = ("MAXLEN", "~", EXPERT_HISTORY_KEPT)
            name, point = f"{commit.watermark}-0", pack_point(commit.expert_point)
            transaction.add("XADD", keys.expert_history, *kept, name, "d", point)

    def _add_ids(self, transaction: Transaction, change: DedupeChange) -> None:
        keys, standings = self._keys, {}
        for number, one in change.lists.items():
            if one.chunks:
                chunks = [chunk.pack() for chunk in one.chunks]
                transaction.add("RPUSH", keys.dedupe(number), *chunks)
            if one.obsolete:
                transaction.add("LPOP", keys.dedupe(number), one.obsolete)
            if one.held:
                standings[number] = one.standing()
            else:
                transaction.add("HDEL", keys.dedupe_lists, number)
        if change.clock is not None:
            clock = (CLOCK, change.clock.pack())
            transaction.add("HSET", keys.dedupe_lists, *clock, *_flat(standings))

    def _add_change(self, transaction: Transaction, commit: Commit) -> None:
        kept, name = ("MAXLEN", "~", CHANGES_KEPT), f"{commit.watermark}-0"
        change = Change(
            follows=commit.follows,
            epoch=self._epoch,
            users=commit.changes.touched_users,
            items=commit.changes.touched_items,
            answers=commit.answers,
        )
        transaction.add("XADD", self._keys.changes, *kept, name, *_flat(change.pack()))


def _flat(mapping: Mapping[Any, Any]) -> list[Argument]:
    return [part for pair in mapping.items() for part in pair]


def _scored(names: Iterable[str]) -> list[Argument]:
    """Return the arguments that add members to a sorted set with score 0."""
    return [part for name in names for part in (0, name)]


def _digits(numbers: Iterable[int]) -> Iterable[bytes]:
    return map(b"%d".__mod__, numbers)
