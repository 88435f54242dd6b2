"""Progress of the partitions for the api's reports: events waiting and learned, and the learner."""

import redis.asyncio

from service.store.connection import store_errors
from service.store.keys import NamespaceKeys, PartitionKeys
from service.store.server.inspection import PartitionReport, ask_partition


async def partition_progress(
    client: redis.asyncio.Redis, namespace: str, partition: int
) -> PartitionReport:
    """Return the progress of a partition; *same as* ``inspect_partition``, for the api."""
    with store_errors():
        pipe = client.pipeline(transaction=True)
        ask_partition(pipe, namespace, partition)
        return PartitionReport.of(partition, await pipe.execute())


async def workers(
    client: redis.asyncio.Redis, namespace: str, partitions: int
) -> tuple[list[int], bool]:
    """Return the partitions without a learner, and whether a trainer takes jobs."""
    with store_errors():
        pipe = client.pipeline(transaction=False)
        for partition in range(partitions):
            pipe.get(PartitionKeys(namespace, partition).lease)
        pipe.get(NamespaceKeys(namespace).trainer)
        *leaders, trainer = await pipe.execute()
    return [p for p, leader in enumerate(leaders) if leader is None], trainer is not None
