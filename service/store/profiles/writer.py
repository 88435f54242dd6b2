"""The exactly-once protocol of a partition's commits: one transaction per batch, in sequence.

A commit names the epoch and the watermark it follows; Redis applies it only while ``state`` holds
these two. The commands are in ``commit_packing``, readers in ``reader`` and ``partition_reader``.
"""

from typing import Any, cast

import redis

from service.errors import StoreRolledBack, StoreUnavailable, Superseded
from service.store.connection import store_errors
from service.store.identity.survey import run_in
from service.store.keys import PartitionKeys
from service.store.log.state import PartitionState
from service.store.profiles.commit import Commit
from service.store.profiles.commit_packing import CommitPacking
from service.store.profiles.transaction import PackedTransaction, packed


class ProfileWriter:
    """The only writer of a partition's profiles.

    It asks for the result of a commit before it sends the commit again.
    """

    def __init__(
        self, client: redis.Redis, keys: PartitionKeys, state: PartitionState, run: str = ""
    ) -> None:
        """``state`` is the answer of ``take_over``, ``run`` that of the server at that time."""
        self._client, self._epoch, self._identity = client, state.epoch, state.identity
        self._run = run
        self._packing = CommitPacking(keys, epoch=state.epoch, generation=state.generation)
        self._connection: Any = None
        self._standing: int | None = None
        """Watermark in ``state`` when the watch on it began; None without a watch."""
        self._is_sent = False
        self._packed: tuple[Commit, PackedTransaction] | None = None

    def commit(self, commit: Commit) -> None:
        """Apply a commit exactly once; Superseded if another process wrote meanwhile.

        After StoreUnavailable it may or may not have been applied: call again with the same commit.
        """
        transaction = self._transaction(commit)
        with store_errors():
            try:
                if self._is_sent:
                    self._receive(transaction)
                while (standing := self._stands_at()) != commit.watermark:
                    if standing < commit.follows:
                        raise StoreRolledBack(
                            f"the store went back from event {commit.follows} to {standing}"
                        )
                    if standing != commit.follows:
                        raise Superseded(f"the watermark is {standing}, not {commit.follows}")
                    self._send(transaction)
                    self._receive(transaction)
            except BaseException:
                self._drop()
                raise
        self._packed = None

    def begin(self, commit: Commit) -> None:
        """Send a commit ahead, if nothing is in doubt; ``commit`` must follow with the same one."""
        transaction = self._transaction(commit)
        if self._standing == commit.follows:
            try:
                with store_errors():
                    self._send(transaction)
            except StoreUnavailable:
                self._drop()

    def close(self) -> None:
        """Drop the connection."""
        self._drop()

    def _transaction(self, commit: Commit) -> PackedTransaction:
        if self._packed is None or self._packed[0] is not commit:
            self._packed = (commit, self._packing.pack(commit))
        return self._packed[1]

    def _stands_at(self) -> int:
        """Return the stored watermark and watch it: a change of ``state`` stops the transaction."""
        if self._standing is None:
            if self._connection is None:
                self._connection = self._client.connection_pool.get_connection()
                self._check_run()
            for command in self._packing.watch():
                self._connection.send_packed_command([command])
            self._read_standing()
        return cast("int", self._standing)

    def _check_run(self) -> None:
        """Refuse a server that was restarted: what it has lost may be in our memory."""
        if self._run:
            self._connection.send_packed_command([packed("INFO", "replication")])
            if run_in(self._connection.read_response()) != self._run:
                raise StoreRolledBack("the store was restarted")

    def _read_standing(self) -> None:
        self._connection.read_response()
        epoch, watermark, identity = self._connection.read_response()
        if (identity or b"").decode() != self._identity:
            raise StoreRolledBack("the store is another one, or went back")
        if epoch is None or int(epoch) != self._epoch:
            raise Superseded(
                f"epoch {self._epoch} is over, {(epoch or b'none').decode()} has begun"
            )
        self._standing = int(watermark)

    def _send(self, transaction: PackedTransaction) -> None:
        self._standing = None
        transaction.send(self._connection)
        self._is_sent = True

    def _receive(self, transaction: PackedTransaction) -> None:
        """Read the result of a transaction and of the watch that was sent with it.

        The watch is for the next commit; sending it along saves a round trip.
        """
        self._is_sent = False
        transaction.receive(self._connection)
        self._read_standing()

    def _drop(self) -> None:
        self._standing, self._is_sent = None, False
        if self._connection is not None:
            self._connection.disconnect()
            self._client.connection_pool.release(self._connection)
            self._connection = None
