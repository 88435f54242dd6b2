"""Compares a store with what a process knows of it, and makes good what can be made good."""

from enum import Enum

import redis

from service.errors import StoreRolledBack
from service.store.identity.identity import Identity
from service.store.identity.known import Positions
from service.store.identity.survey import Survey, survey
from service.store.recovery.healing import align, heal


class Condition(Enum):
    """What a store is to a process that knows it."""

    SOUND = "it holds everything, or others have begun a new era"
    BEHIND = "it has lost something"
    UNALIGNED = "some partitions have not followed the namespace into its era"


def condition_of(found: Survey, known: Identity, before: Positions) -> Condition:
    """Return a store's condition; StoreRolledBack if it is not the namespace that was known."""
    now = found.identity
    if now is None or not found.succeeds(known.incarnation):
        raise StoreRolledBack(_replaced(known, found))
    is_older = now.incarnation == known.incarnation and now.era <= known.era
    if (now == known and found.positions.lacks(before)) or (now != known and is_older):
        return Condition.BEHIND
    return Condition.SOUND if found.is_aligned else Condition.UNALIGNED


def settle(client: redis.Redis, namespace: str, known: Identity, before: Positions) -> Survey:
    """Return the store once it may be used; StoreRolledBack if an operator must decide.

    A store that has lost something, but fits together, gets a new era.
    """
    partitions = len(before.sequences)
    found = survey(client, namespace, partitions)
    condition = condition_of(found, known, before)
    if condition is Condition.SOUND:
        return found
    if condition is Condition.BEHIND:
        heal(client, namespace, found, known, before)
    else:
        align(client, namespace, partitions)
    return survey(client, namespace, partitions)


def _replaced(known: Identity, found: Survey) -> str:
    if found.identity is None:
        return f"the store is empty, or another one: the namespace {known.incarnation} is gone"
    return (
        f"the store holds another namespace of this name: {found.identity.incarnation} "
        f"with {found.positions}, not {known.incarnation}"
    )
