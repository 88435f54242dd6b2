"""Keeps some of the disk free: a private server that cannot write its log ends.

Below the reserve the server is told to take no writes. Then reads go on, everybody who writes is
refused at once with the reason, and nothing that was acknowledged is in danger.
"""

import shutil
from pathlib import Path

from service.errors import StoreUnavailable
from service.store.connection import connect, store_errors
from service.telemetry import logger

MORE = 20 << 20
"""Bytes beyond the reserve for taking writes again: the edge is not crossed back and forth."""
NOTHING = 16 << 20
"""Bytes with which a disk counts as full: a server that starts writes a little, too."""


class Room:
    """Watches the disk of a private server."""

    def __init__(self, data_dir: Path, reserve_mb: int) -> None:
        self._data_dir, self._reserve = data_dir, reserve_mb << 20
        self._refusing: int | None = None
        """Process id of the server that was told to take no writes."""

    @property
    def is_gone(self) -> bool:
        """Whether the disk is full: a server cannot even start."""
        return self._free < NOTHING

    def look(self, url: str, pid: int) -> None:
        """Let the server refuse writes, or take them again; ``pid``: a new one knows nothing."""
        free, is_refusing = self._free, self._refusing == pid
        if is_refusing == (free < self._reserve + MORE * is_refusing):
            return
        try:
            with connect(url, role="supervisor") as client, store_errors():
                # it has no replicas, so that it waits for one with every write
                client.config_set("min-replicas-to-write", 0 if is_refusing else 1)
        except StoreUnavailable:
            return
        self._refusing = None if is_refusing else pid
        if is_refusing:
            logger().info("disk_has_room", free_mb=free >> 20)
        else:
            logger().error("disk_nearly_full", free_mb=free >> 20, needed_mb=self._reserve >> 20)

    @property
    def _free(self) -> int:
        return shutil.disk_usage(self._data_dir).free
