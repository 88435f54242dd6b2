"""A trainer: reads which items there are, takes its time, publishes a model of them, promotes it.

What it fits is the list of the items itself, so that a model whose item numbers became those of
other items can be recognised. Everything around the fit is the service's own.
"""

from typing import TYPE_CHECKING

import numpy as np

from core.snapshot import Snapshot, mapped
from service.errors import NotFound, VersionConflict
from service.store.connection import Client, store_errors
from service.store.keys import NamespaceKeys
from service.store.models.records import ModelRecord
from service.store.models.registry import Registry
from service.store.namespace import open_namespace
from service.store.recovery.steady import SteadyItems
from tests.simulator.boundary import client_of
from tests.simulator.ledger import Broken
from tests.simulator.scheduler import Process

if TYPE_CHECKING:
    from tests.simulator.world import World

STRATEGY = "fbgd"
ID_BYTES = 8
PAUSE_S, FIT_S = 1.0, 3.0
"""Longest pause between two trainings, and longest training."""


def train(world: "World", process: Process) -> None:
    """Train again and again."""
    client = client_of(world.boundary(process))
    namespace = open_namespace(client, world.settings)
    rng, occurred = world.scheduler.rng, world.occurred
    registry = Registry(client, namespace.name, patience_s=0.0)
    while True:
        process.pause(PAUSE_S * rng.random())
        steady = SteadyItems(client, namespace)
        with store_errors():
            ids = client.lrange(NamespaceKeys(namespace.name).item_ids, 0, -1)
        process.pause(FIT_S * rng.random())
        occurred["trained"] += 1
        model = _model(ids, trial=occurred["trained"])
        record = ModelRecord.of(model, STRATEGY, created_ms=world.now_ms(), decision={})
        rival = registry.active().get(STRATEGY)
        token = (lambda: "") if world.plan.is_careless else steady.token
        registry.publish(model, record, token=token)
        occurred["published"] += 1
        try:
            registry.set_active(STRATEGY, record.version, expected=rival, who="sim", why="sim")
            occurred["promoted"] += 1
        except (NotFound, VersionConflict):
            # the store went back, or a try before was carried out
            occurred["promotion_refused"] += 1


def check_models(client: Client, namespace: str, item_ids: list[bytes]) -> None:
    """Every model that can be seen is whole and names the items that it was made of."""
    registry = Registry(client, namespace)
    records = {record.version: record for record in registry.records()}
    if not {*registry.active().values()} <= records.keys():
        raise Broken(f"{registry.active()} serves, published are {[*records]}")
    for version in records:
        manifest = registry.manifest(version)
        named = mapped(manifest, b"".join(registry.chunks(version))).arrays["ids"]
        ids = [bytes(row).rstrip(b"\0") for row in named]
        if ids != item_ids[: len(ids)]:
            raise Broken(f"a model of {ids} is published, the items are {item_ids}")


def _model(ids: list[bytes], *, trial: int) -> Snapshot:
    named = b"".join(one.ljust(ID_BYTES, b"\0") for one in ids)
    array = np.frombuffer(named, np.uint8).reshape(-1, ID_BYTES)
    return Snapshot("fbgd", {"ids": array}, {"settings": {"trial": trial}})
