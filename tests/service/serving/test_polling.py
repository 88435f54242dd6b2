"""Copies of the store: what may name lost items is read again at once."""

import asyncio

import pytest

from service.errors import StoreUnavailable
from service.serving.copies.polling import Polled
from service.store.identity.survey import Survey, survey

ROUNDS = 20
"""So many pauses between two polls are longer than the deadline."""
DEADLINE_S = 20.0


class Counter(Polled):
    def __init__(self, fails: bool) -> None:
        super().__init__()
        self.polls, self._fails, self._polled = 0, fails, asyncio.Condition()

    async def refresh(self) -> None:
        async with self._polled:
            self.polls += 1
            self._polled.notify_all()
        if self._fails:
            raise StoreUnavailable("away")

    async def polled(self, n: int) -> None:
        async with self._polled:
            await self._polled.wait_for(lambda: self.polls >= n)


@pytest.fixture
def found(client, namespace) -> Survey:
    return survey(client, namespace, 1)


@pytest.mark.parametrize("fails", [False, True])
@pytest.mark.parametrize("went_back", [False, True])
def test_a_copy_that_must_be_forgotten_is_polled_without_a_pause(found, fails, went_back):
    async def story() -> int:
        counter = Counter(fails)
        counter.start()
        async with asyncio.timeout(DEADLINE_S):
            for polls in range(1, ROUNDS + 1):
                await counter.polled(polls)
                counter.forget(found, went_back=went_back)
        await counter.close()
        return counter.polls

    assert asyncio.run(story()) >= ROUNDS
