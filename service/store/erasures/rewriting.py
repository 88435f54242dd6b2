"""Lets the private server write its append-only file anew, without what it no longer holds.

A rewrite covers whatever left the store before it began. Rewrites are rare, because each writes
everything; whoever comes meanwhile shares the next one.
"""

from collections.abc import Set as AbstractSet
from pathlib import Path
from time import monotonic
from typing import Any

import redis

from service.store.connection import store_errors
from service.store.identity.survey import run_of
from service.store.server.append_only import superseded_files
from service.telemetry import logger


class Rewriting:
    """Rewrites of one server's file."""

    def __init__(self, client: redis.Redis, files: Path, pause_s: float) -> None:
        """``files`` is the server's folder; rewrites begin at least ``pause_s`` apart."""
        self._client, self._files, self._pause_s = client, files, pause_s
        self._covered: frozenset[str] = frozenset()
        """What leaves the disk with the rewrite that was begun; empty: none was."""
        self._run = ""
        """The run of the server in which it was begun."""
        self._due = 0.0

    def step(self, waiting: AbstractSet[str]) -> frozenset[str]:
        """Begin a rewrite if it is time, or look after the one that runs.

        Return those that have left the disk since the last step.
        """
        with store_errors():
            info: Any = self._client.info(section="persistence")
        if info.get("aof_rewrite_in_progress") or info.get("aof_rewrite_scheduled"):
            return frozenset()
        if self._covered:
            return self._ended(str(info.get("aof_last_bgrewrite_status")))
        if waiting and monotonic() >= self._due:
            self._begin(frozenset(waiting))
        return frozenset()

    def _begin(self, waiting: frozenset[str]) -> None:
        run = run_of(self._client)
        with store_errors():
            # it remembers the arguments of slow commands, which may be names
            self._client.slowlog_reset()
            self._client.bgrewriteaof()
        self._covered, self._run = waiting, run
        self._due = monotonic() + self._pause_s

    def _ended(self, status: str) -> frozenset[str]:
        if status != "ok" or run_of(self._client) != self._run:
            logger().warning("rewrite_failed", status=status, again_s=self._pause_s)
            self._covered = frozenset()
            return self._covered
        if superseded_files(self._files):
            # the server removes the old files in its own time
            return frozenset()
        covered, self._covered = self._covered, frozenset()
        return covered
