"""Waiting until feedback is learned: for `learned`, `?wait=learned` and `min_sequence`."""

import asyncio
from collections.abc import Iterable, Mapping

from service.errors import NotReady
from service.ids import InvalidSequence, parse_sequence_token
from service.runtime.api import ApiRuntime
from service.store.log.changes import ChangeFollower
from service.store.partitions import partition_of


async def learned(changes: ChangeFollower, sequences: Mapping[int, int], timeout_ms: int) -> bool:
    """Wait until each partition is learned up to its sequence; False if that takes longer."""
    try:
        async with asyncio.timeout(timeout_ms / 1000):
            for partition, sequence in sequences.items():
                await changes.reached(partition, sequence)
    except TimeoutError:
        return False
    return True


async def reached(runtime: ApiRuntime, token: str | None, users: Iterable[str]) -> None:
    """Wait until the users' partitions are learned as far as ``token``; NotReady if too slow.

    Partitions of other users do not matter: an answer about these users reads none of them.
    """
    if token is None:
        return
    wanted, partitions = parse_sequence_token(token), runtime.namespace.partitions
    if max(wanted) >= partitions:
        raise InvalidSequence(
            f"min_sequence names partition {max(wanted)}, the last one here is {partitions - 1}: "
            "send a `sequence` or `seen_through` of this namespace"
        )
    concerned = {partition_of(user, partitions) for user in users} & wanted.keys()
    sequences = {partition: wanted[partition] for partition in concerned}
    if not await learned(runtime.changes, sequences, runtime.settings.min_sequence_wait_ms):
        raise NotReady(
            "min_sequence is not learned yet: ask again, or leave it out for an answer as of now",
            code="sequence_not_reached",
        )
