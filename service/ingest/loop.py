"""From a broker to the service, batch by batch, until told to stop."""

import asyncio
from contextlib import suppress

from nats.errors import Error

from service.ingest.nats_stream import NatsOptions, NatsStream, nats_stream, said
from service.ingest.sending import Answer, Service
from service.metrics.catalogue import INGESTED
from service.metrics.meters import Meters
from service.telemetry import logger

PAUSE_S = 1.0
"""Seconds between two tries while the broker is away."""
STOP_S = 5.0
"""Seconds that the messages under way may take once we are told to stop."""


async def ingest(
    options: NatsOptions, service: Service, meters: Meters, stop: asyncio.Event
) -> None:
    """Bring messages to the service; Misconfigured if either side does not let us.

    While NATS or the service is away it waits.
    """
    working = asyncio.ensure_future(_work(options, service, meters, stop))
    stopped = asyncio.ensure_future(stop.wait())
    await asyncio.wait([stopped, working], return_when=asyncio.FIRST_COMPLETED)
    # what is under way is finished if the service answers soon, and is delivered again if not
    await asyncio.wait([working], timeout=STOP_S)
    for task in (stopped, working):
        task.cancel()
    with suppress(asyncio.CancelledError):
        await working
    await service.close()


async def _work(
    options: NatsOptions, service: Service, meters: Meters, stop: asyncio.Event
) -> None:
    while not stop.is_set():
        try:
            async with nats_stream(options) as stream:
                logger().info("ingest_started", stream=options.stream, durable=options.durable)
                await _session(stream, service, meters, stop)
        except (Error, OSError) as error:
            await _wait(error)


async def _session(
    stream: NatsStream, service: Service, meters: Meters, stop: asyncio.Event
) -> None:
    while not stop.is_set():
        try:
            await _batch(stream, service, meters)
        except (Error, OSError) as error:
            if stream.is_closed:
                raise
            await _wait(error)


async def _wait(error: Exception) -> None:
    # what is not acknowledged comes again
    logger().warning("ingest_waits", detail=f"NATS: {said(error)}")
    await asyncio.sleep(PAUSE_S)


async def _batch(stream: NatsStream, service: Service, meters: Meters) -> None:
    delivered = await stream.next()
    if not delivered:
        return
    holding = asyncio.ensure_future(stream.hold(delivered))
    try:
        answers = await service.answers([stream.message(one) for one in delivered])
    finally:
        holding.cancel()
    # what is stored comes first: it does not wait for a dead letter that cannot be published
    for one, answer in sorted(zip(delivered, answers, strict=True), key=_is_set_aside):
        if await stream.finish(one, answer):
            meters.count(INGESTED, _outcome(answer)).add()


def _is_set_aside(finished: tuple[object, Answer]) -> bool:
    return not finished[1].is_whole


def _outcome(answer: Answer) -> str:
    return "stored" if answer.is_whole else "set_aside"
