"""From a broker to the service, batch by batch, until told to stop."""

import asyncio
from contextlib import suppress
from typing import Any

from service.ingest.sending import Answer, Service
from service.ingest.source import Source, Stream, said
from service.metrics.catalogue import INGESTED
from service.metrics.meters import Meters
from service.telemetry import logger

PAUSE_S = 1.0
"""Seconds between two tries while the broker is away."""
STOP_S = 5.0
"""Seconds that the messages under way may take once we are told to stop."""


async def ingest(source: Source, service: Service, meters: Meters, stop: asyncio.Event) -> None:
    """Bring messages to the service; Misconfigured if either side does not let us.

    While the broker or the service is away it waits.
    """
    working = asyncio.ensure_future(_work(source, service, meters, stop))
    stopped = asyncio.ensure_future(stop.wait())
    await asyncio.wait([stopped, working], return_when=asyncio.FIRST_COMPLETED)
    # what is under way is finished if the service answers soon, and is delivered again if not
    await asyncio.wait([working], timeout=STOP_S)
    for task in (stopped, working):
        task.cancel()
    with suppress(asyncio.CancelledError):
        await working
    await service.close()


async def _work(source: Source, service: Service, meters: Meters, stop: asyncio.Event) -> None:
    while not stop.is_set():
        try:
            async with source.opened() as stream:
                logger().info("ingest_started", **source.about)
                while not stop.is_set():
                    try:
                        await bring_batch(stream, service, meters)
                    except source.away as error:
                        if stream.is_closed:
                            raise
                        await _wait(source, error)
        except source.away as error:
            await _wait(source, error)


async def _wait(source: Source, error: Exception) -> None:
    # what is not acknowledged comes again
    logger().warning("ingest_waits", detail=f"{source.name}: {said(error)}")
    await asyncio.sleep(PAUSE_S)


async def bring_batch(stream: Stream[Any], service: Service, meters: Meters) -> None:
    """Bring what the stream has next."""
    delivered = await stream.next()
    if not delivered:
        return
    holding = asyncio.ensure_future(stream.hold(delivered))
    try:
        answers = await service.answers([stream.message(one) for one in delivered])
        # still held: setting many aside takes its time
        async for answer in stream.finish([*zip(delivered, answers, strict=True)]):
            meters.count(INGESTED, _outcome(answer)).add()
    finally:
        holding.cancel()
        # what it has begun ends first
        await asyncio.wait([holding])
        if not holding.cancelled() and (error := holding.exception()) is not None:
            # they may come again, which counts once; what is wrong is met at the next read, too
            logger().warning("ingest_not_held", detail=said(error))


def _outcome(answer: Answer) -> str:
    return "stored" if answer.is_whole else "set_aside"
