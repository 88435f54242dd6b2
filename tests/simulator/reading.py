"""Requests that read: the api's copy of users, and what an answer claims to have seen."""

import asyncio
from typing import TYPE_CHECKING

from core.online.layout import RowLayout
from service import configs
from service.errors import ServiceError
from service.serving.users import Users
from service.store.connection import AsyncClient
from service.store.log.changes import ChangeFollower
from service.store.namespace import Namespace
from tests.simulator.ledger import USERS

if TYPE_CHECKING:
    from tests.simulator.world import World

CACHE_BYTES = 1 << 20


def users_of(world: "World", client: AsyncClient, namespace: Namespace, layout: RowLayout) -> Users:
    """Return the users as an api process keeps them."""
    meanings = configs.meanings(world.settings, namespace)
    return Users(client, namespace, meanings, layout, CACHE_BYTES)


async def read(world: "World", users: Users, changes: ChangeFollower) -> None:
    """Read one user after the other, sometimes as of an event that was just acknowledged."""
    rng = world.scheduler.rng
    while True:
        user = f"u{rng.randrange(USERS)}"
        partition = users.partition(user)
        wanted = world.observer.lanes[partition].newest_told if rng.random() < 0.5 else 0
        try:
            async with asyncio.timeout(5.0):
                await changes.reached(partition, wanted)
                state = await users.get(user)
        except (TimeoutError, ServiceError):
            continue
        through = state.watermark
        if users.holds(user, state):
            # as Recommender does: a copy that nobody has dropped is as new as the feed
            through = max(through, changes.watermark(partition))
        world.observer.check_read(user, max(through, wanted), state.preferences.seen.tolist())
        await asyncio.sleep(0.5 * rng.random())
