"""How far each partition is, for the api's reports: what waits, what is learned, who learns."""

import redis.asyncio

from service.store.connection import store_errors
from service.store.inspection import PartitionReport
from service.store.keys import PartitionKeys


async def partition_progress(
    client: redis.asyncio.Redis, namespace: str, partition: int
) -> PartitionReport:
    """Return how one partition is doing; *same as* ``inspect_partition``, for the api."""
    keys = PartitionKeys(namespace, partition)
    with store_errors():
        pipe = client.pipeline(transaction=True)
        pipe.mget(keys.sequence, keys.log_bytes, keys.lease)
        pipe.hget(keys.state, "watermark")
        (sequence, waiting, leader), watermark = await pipe.execute()
    return PartitionReport(
        partition,
        appended=int(sequence or 0),
        learned=int(watermark or 0),
        waiting_bytes=int(waiting or 0),
        leader=None if leader is None else leader.decode(),
    )


async def answers(client: redis.asyncio.Redis) -> None:
    """Return if the store answers; StoreUnavailable if it does not."""
    with store_errors():
        await client.ping()
