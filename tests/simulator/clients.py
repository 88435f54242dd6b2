"""Clients of an api process: they send what the ledger says, and tell it the answers."""

import asyncio
from typing import TYPE_CHECKING

from starlette.responses import Response

from service.api.feedback.deletions import Receipt, delete_user
from service.api.feedback.histories import delete_rating
from service.api.feedback.intake import Intake
from service.api.feedback.merges import Merge, Merged, merge_users
from service.api.feedback.sender import Sender
from service.errors import NotFound, ServiceError
from service.http.auth import DECIDED_BY
from service.ids import parse_sequence_token
from service.runtime.api import ApiRuntime
from service.store.log.codec import DELETE_RATING, DELETE_USER
from service.store.partitions import partition_of
from tests.simulator.ledger import Change, Request, numbers_of

if TYPE_CHECKING:
    from tests.simulator.world import World

PROGRAMS = 3
"""Producers of event ids."""


async def send(world: "World", runtime: ApiRuntime) -> None:
    """Send one request after the other."""
    ledger, rng = world.ledger, world.scheduler.rng
    intake = Intake(runtime, clock=world.now_ms)
    while True:
        request = ledger.take()
        if request is not None:
            try:
                if isinstance(request, Change):
                    await _change(world, runtime, request)
                else:
                    # a request that is sent again may come from another program
                    program = b"%d" % rng.randrange(PROGRAMS)
                    ledger.acknowledged(request, *await _accept(intake, request, program))
            except BaseException as error:
                ledger.in_doubt(request)
                if not isinstance(error, ServiceError):
                    raise
        await asyncio.sleep(0.5 * rng.random())


async def _accept(
    intake: Intake, request: Request, program: bytes
) -> tuple[dict[int, int], list[int]]:
    """Return the numbers of the accepted events, by their indexes, and which are repeats."""
    feedback = request.feedback()
    no_keys = {DECIDED_BY: ""}
    sender = Sender({"headers": [(b"user-agent", program)], **no_keys}, request.key)
    if len(feedback) > 1:
        accepted = await intake.accept(feedback, sender)
        return numbers_of(accepted), accepted.repeats
    one = await intake.accept_one(feedback[0], sender)
    return {0: int(one.token.partition(":")[2])}, [0] if one.is_repeat else []


async def _change(world: "World", runtime: ApiRuntime, change: Change) -> None:
    """Send a change, and check what its receipt claims."""
    try:
        receipt = await _receipt(runtime, change)
    except NotFound:
        world.ledger.carried_out(change, 0)
        return
    sequences = parse_sequence_token(receipt.sequence)
    # a merge that found nothing in another partition has told that one nothing
    home = partition_of(change.user, runtime.namespace.partitions)
    world.ledger.carried_out(change, sequences.get(home, 0))
    if receipt.learned:
        world.observer.check_learned(sequences)


async def _receipt(runtime: ApiRuntime, change: Change) -> Receipt | Merged:
    if change.kind == DELETE_RATING:
        return await delete_rating(runtime, change.user, change.item, Response())
    if change.kind == DELETE_USER:
        return await delete_user(runtime, change.user)
    return await merge_users(runtime, change.target, Merge(source=change.user), Response())
