"""What is made ahead for a model that takes over holds up neither requests, nor the model, nor the end of a process."""

import asyncio
import threading
import time
from collections.abc import Callable
from typing import Any, cast

import numpy as np
import pytest
from structlog.testing import capture_logs

from service.active import ActiveModel
from service.rec_ids import Strategy
from service.serving import head_start
from service.serving.head_start import HeadStart
from service.serving.rankers import Head, head_of
from service.serving.recommender import INLINE, NOBODY
from service.serving.users import Known, Users
from service.store.registry import ModelRecord
from tests.models import snapshot

MODEL = ActiveModel(
    ModelRecord.of(snapshot(), "fbgd", created_ms=1, job="job-1", decision={}), snapshot()
)
VERSION = MODEL.record.version


def head(version: str) -> Head:
    return Head(version, np.empty(0, np.int32), np.empty(0, np.float32), whole=False)


class Kept:
    """Users as `Users` keeps them."""

    def __init__(self, n: int, edition: str = "before") -> None:
        heads: dict[Strategy, Head] = {"fbgd": head(edition)}
        self.known = [Known(NOBODY.preferences, 0, 0, heads=heads) for _ in range(n)]

    def lately(self) -> list[tuple[str, Known]]:
        return [(str(number), known) for number, known in enumerate(self.known)]

    def holds(self, user: str, known: Known) -> bool:
        return True

    def foresee(self, user: str, known: Known, strategy: Strategy, made: Head) -> None:
        known.coming[strategy] = made

    @property
    def ready(self) -> int:
        return sum("fbgd" in known.coming for known in self.known)


def given(users: Kept, meanwhile: Callable[[HeadStart], None] = lambda _: None) -> None:
    """Give the model its head start in a loop."""

    async def run() -> None:
        start = HeadStart(cast("Users", users), asyncio.get_running_loop())
        giving = asyncio.create_task(asyncio.to_thread(start.give, MODEL))
        await asyncio.to_thread(meanwhile, start)
        await giving

    asyncio.run(run())


@pytest.mark.parametrize("inline", [0, INLINE])
def test_what_takes_long_is_made_beside_the_loop(
    monkeypatch: pytest.MonkeyPatch, inline: int
) -> None:
    threads: set[threading.Thread] = set()

    def noting(*args: Any) -> Head:
        threads.add(threading.current_thread())
        return head_of(*args)

    monkeypatch.setattr(head_start, "head_of", noting)
    monkeypatch.setattr(head_start, "INLINE", inline)
    users = Kept(5)
    given(users)
    assert {known.coming["fbgd"].edition for known in users.known} == {VERSION}
    assert (threading.main_thread() in threads) == (inline == INLINE)


def test_who_closes_waits_for_no_heads(monkeypatch: pytest.MonkeyPatch) -> None:
    def slow(*_: Any) -> Head:
        threading.Event().wait(0.01)
        return head(VERSION)

    monkeypatch.setattr(head_start, "head_of", slow)
    users = Kept(100_000)
    began = time.monotonic()
    given(users, HeadStart.close)
    assert time.monotonic() - began < head_start.MOST_S / 2
    assert users.ready < len(users.known)


def test_a_model_whose_heads_cannot_be_made_takes_over_all_the_same(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def failing(*_: Any) -> Head:
        raise ValueError("no head")

    monkeypatch.setattr(head_start, "head_of", failing)
    with capture_logs() as logs:
        given(Kept(1))
    assert [log["event"] for log in logs] == ["head_start_failed"]


def test_a_model_that_is_rolled_back_to_makes_nothing_twice() -> None:
    users = Kept(3, VERSION)
    given(users)
    assert users.ready == 0
