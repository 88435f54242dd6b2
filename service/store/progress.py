"""How far each partition is, for the api's reports: what waits, what is learned, who learns."""

import redis.asyncio

from service.store.connection import store_errors
from service.store.inspection import PartitionReport, ask_partition


async def partition_progress(
    client: redis.asyncio.Redis, namespace: str, partition: int
) -> PartitionReport:
    """Return how one partition is doing; *same as* ``inspect_partition``, for the api."""
    with store_errors():
        pipe = client.pipeline(transaction=True)
        ask_partition(pipe, namespace, partition)
        return PartitionReport.of(partition, await pipe.execute())


async def answers(client: redis.asyncio.Redis) -> None:
    """Return if the store answers; StoreUnavailable if it does not."""
    with store_errors():
        await client.ping()
