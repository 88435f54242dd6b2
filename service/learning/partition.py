"""A partition that a learner has taken over: its log, its epoch, and what writes to it."""

from collections.abc import Callable

import numba
import numpy as np
from llvmlite import binding

from core.online.model import OnlineModel
from service.errors import StoreRolledBack
from service.learning.inspection import Inspection
from service.store.catalogue.numbers import item_count
from service.store.connection import Client
from service.store.identity.survey import run_of
from service.store.keys import PartitionKeys
from service.store.log.dead_letters import DeadLetters
from service.store.log.stream import LogReader
from service.store.namespace import Namespace
from service.store.profiles.take_over import check_standing, take_over
from service.store.profiles.writer import ProfileWriter


class Partition:
    """What a learner has of its partition in the store while its epoch lasts."""

    def __init__(
        self, client: Client, namespace: Namespace, number: int, model: OnlineModel
    ) -> None:
        """Take the partition over: from now on, what an earlier learner writes is refused."""
        self.client, self.keys = client, PartitionKeys(namespace.name, number)
        self.log = LogReader(client, self.keys)
        self.dead_letters = DeadLetters(client, self.keys)
        self.inspection = Inspection(namespace.scale, lambda: item_count(client, namespace.name))
        # before anything is read: whatever a restart loses, the writer refuses to go on with it
        self._run = run_of(client)
        self.state = take_over(
            client,
            self.keys,
            fingerprint=model.fingerprint,
            machine=machine(),
            identity=namespace.identity,
        )
        self.writer = ProfileWriter(client, self.keys, self.state, self._run)

    def check_epoch(self, watermark: int) -> None:
        """Raise Superseded if another learner took over, StoreRolledBack if the store went back.

        A commit would notice too, but later.
        """
        if run_of(self.client) != self._run:
            raise StoreRolledBack("the store was restarted")
        check_standing(self.client, self.keys, self.state, watermark)


def machine() -> str:
    """Return the processor and numeric libraries; with the settings they determine every bit."""
    processor: Callable[[], str] = binding.get_host_cpu_name
    return f"{processor()} numpy-{np.__version__} numba-{numba.__version__}"
