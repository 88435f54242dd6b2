"""A batch is held until all of it is finished; what goes wrong with that is logged."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from pathlib import Path

import pytest

from service.ingest.loop import bring_batch
from service.ingest.sending import Answer, Message, Service
from service.metrics.seats import counting


class Accepting(Service):
    """A service that stores everything."""

    async def answers(self, messages: Sequence[Message]) -> list[Answer]:
        return [Answer(accepted=1) for _ in messages]


class Held:
    """A stream whose messages are finished once somebody has held them."""

    is_closed = False

    def __init__(self) -> None:
        self._is_held = asyncio.Event()

    async def next(self) -> list[str]:
        return ["one"]

    def message(self, delivered: str) -> Message:
        return Message(delivered, b"{}")

    async def hold(self, delivered: Sequence[str]) -> None:
        await asyncio.sleep(0.01)
        self._is_held.set()
        raise RuntimeError("the broker forgot us")

    async def finish(self, answered: Sequence[tuple[str, Answer]]) -> AsyncIterator[Answer]:
        await asyncio.wait_for(self._is_held.wait(), 20)
        for _, answer in answered:
            yield answer


def test_a_batch_is_held_until_it_is_finished(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    async def bring() -> None:
        with counting(tmp_path, "ingest") as meters:
            await bring_batch(Held(), Accepting("http://127.0.0.1:1", None), meters)

    asyncio.run(bring())
    assert "the broker forgot us" in "".join(capsys.readouterr())
