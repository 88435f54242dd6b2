"""Compares a store with what a process knows of it, and makes good what can be made good."""

from enum import Enum

import redis

from service.errors import StoreRolledBack
from service.store.identity.identity import Identity
from service.store.identity.known import Positions
from service.store.identity.survey import Survey, survey
from service.store.recovery.healing import align, heal


class Verdict(Enum):
    """What a store is to a process that knows it."""

    SOUND = "it holds everything, or others have begun a new era"
    BEHIND = "it has lost something"
    UNALIGNED = "some partitions have not followed the namespace into its era"


def judge(found: Survey, known: Identity, before: Positions) -> Verdict:
    """Return the verdict; StoreRolledBack if this is no longer the namespace that was known."""
    now = found.identity
    if now is None or not found.succeeds(known.incarnation):
        raise StoreRolledBack(_replaced(known, found))
    is_older = now.incarnation == known.incarnation and now.era <= known.era
    if (now == known and found.positions.lacks(before)) or (now != known and is_older):
        return Verdict.BEHIND
    return Verdict.SOUND if found.is_aligned else Verdict.UNALIGNED


def settle(client: redis.Redis, namespace: str, known: Identity, before: Positions) -> Survey:
    """Return the store once it may be used; StoreRolledBack if an operator must decide.

    A store that has lost something, but fits together, gets a new era.
    """
    partitions = len(before.sequences)
    found = survey(client, namespace, partitions)
    verdict = judge(found, known, before)
    if verdict is Verdict.SOUND:
        return found
    if verdict is Verdict.BEHIND:
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
