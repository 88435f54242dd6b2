"""How far each partition is, for the api's reports: what waits, what is learned, who learns."""

import redis.asyncio

from service.store.connection import store_errors
from service.store.keys import PartitionKeys
from service.store.server.inspection import PartitionReport, ask_partition


async def partition_progress(
    client: redis.asyncio.Redis, namespace: str, partition: int
) -> PartitionReport:
    """Return how one partition is doing; *same as* ``inspect_partition``, for the api."""
    with store_errors():
        pipe = client.pipeline(transaction=True)
        ask_partition(pipe, namespace, partition)
        return PartitionReport.of(partition, await pipe.execute())


async def unlearned(client: redis.asyncio.Redis, namespace: str, partitions: int) -> list[int]:
    """Return the partitions that nobody learns; StoreUnavailable if the store does not answer."""
    with store_errors():
        pipe = client.pipeline(transaction=False)
        for partition in range(partitions):
            pipe.get(PartitionKeys(namespace, partition).lease)
        return [p for p, leader in enumerate(await pipe.execute()) if leader is None]
