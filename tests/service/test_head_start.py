"""What is made ahead for a model that takes over holds up neither requests, nor the model, nor the end of a process."""

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any, cast

import numpy as np
import pytest
from structlog.testing import capture_logs

from service.ranking.rankers import Head, head_of
from service.rec_ids import Strategy
from service.served_models import ActiveModel
from service.serving import cache_warming as head_start
from service.serving.cache_warming import HeadStart
from service.serving.recommender import INLINE, NOBODY
from service.serving.users import Known, Users
from service.store.models.registry import ModelRecord
from tests.models import snapshot
from tests.server import wait_until

MODEL = ActiveModel(
    ModelRecord.of(snapshot(), "fbgd", created_ms=1, job="job-1", decision={}), snapshot()
)
VERSION = MODEL.record.version


def head(version: str) -> Head:
    return Head(version, np.empty(0, np.int32), np.empty(0, np.float32), whole=False)


class Kept:
    """Users as `Users` keeps them."""

    def __init__(self, n: int) -> None:
        heads: dict[Strategy, Head] = {"fbgd": head("before")}
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


def given(users: Kept, meanwhile: Callable[[Future[None]], None] = Future.result) -> None:
    """Give the model its head start in a loop."""

    async def run() -> None:
        start = HeadStart(cast("Users", users), asyncio.get_running_loop())
        giving = start.give(MODEL)
        assert giving is not None
        await asyncio.to_thread(meanwhile, giving)

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


def test_nothing_more_is_made_for_a_model_that_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    users = Kept(1_000)

    def given_up(giving: Future[None]) -> None:
        wait_until(lambda: users.ready > 0)
        giving.cancel()

    given(users, given_up)
    assert users.ready < len(users.known)


def test_a_model_takes_over_after_ten_seconds_at_the_latest(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(head_start, "MOST_S", 0.0)
    users = Kept(1_000)
    given(users)
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
