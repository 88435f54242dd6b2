"""Warming the cache for a new model delays no request, no promotion and no shutdown."""

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any, cast

import numpy as np
import pytest
from structlog.testing import capture_logs

from service.ranking.asker import Asker
from service.ranking.pool import Head
from service.ranking.ranker import Ranker
from service.ranking.strategies import Strategy
from service.served_models import ActiveModel, active_model
from service.serving.cache_warming import CacheWarming
from service.serving.recommender import NOBODY
from service.serving.turns import INLINE
from service.serving.user_state import UserState
from service.serving.users import Users
from service.store.models.records import ModelRecord
from tests.models import snapshot
from tests.server import wait_until

MODEL = active_model(
    ModelRecord.of(snapshot(), "fbgd", created_ms=1, job="job-1", decision={}), snapshot()
)
VERSION = MODEL.record.version


def another_model() -> ActiveModel:
    made = snapshot(seed=2)
    return active_model(ModelRecord.of(made, "ocmf", created_ms=1, decision={}), made)


def head(version: str) -> Head:
    return Head(version, np.empty(0, np.int32), np.empty(0, np.float32), whole=False)


class Kept:
    """Users as `Users` keeps them."""

    def __init__(self, n: int) -> None:
        heads: dict[Strategy, Head] = {"fbgd": head("before")}
        self.known = [UserState(NOBODY.preferences, 0, 0, heads={**heads}) for _ in range(n)]

    def lately(self) -> list[tuple[str, UserState]]:
        return [(str(number), known) for number, known in enumerate(self.known)]

    def holds(self, user: str, known: UserState) -> bool:
        return True

    def keep_warmed(self, user: str, known: UserState, strategy: Strategy, made: Head) -> None:
        known.warmed[strategy] = made

    @property
    def ready(self) -> int:
        return sum("fbgd" in known.warmed for known in self.known)


def warmed(
    users: Kept, meanwhile: Callable[[Future[None]], None] = Future.result, **how: Any
) -> None:
    """Warm the cache for the model in a loop."""

    async def run() -> None:
        warming = CacheWarming(cast("Users", users), asyncio.get_running_loop(), **how)
        begun = warming.begin(MODEL)
        assert begun is not None
        await asyncio.to_thread(meanwhile, begun)

    asyncio.run(run())


@pytest.mark.parametrize("inline", [0, INLINE])
def test_long_computations_run_beside_the_event_loop(inline: int) -> None:
    threads: set[threading.Thread] = set()

    def noting(ranker: Ranker, asker: Asker) -> Head | None:
        threads.add(threading.current_thread())
        return ranker.head(asker)

    users = Kept(5)
    warmed(users, make=noting, inline=inline)
    assert {known.warmed["fbgd"].version for known in users.known} == {VERSION}
    assert (threading.main_thread() in threads) == (inline == INLINE)


def test_nothing_more_is_made_for_a_model_that_is_given_up() -> None:
    users = Kept(1_000)

    def given_up(begun: Future[None]) -> None:
        wait_until(lambda: users.ready > 0)
        begun.cancel()

    warmed(users, given_up)
    assert users.ready < len(users.known)


def test_heads_of_stacks_are_made_in_the_turn_of_the_newest_model() -> None:
    users, made_for = Kept(3), list[str]()
    for known in users.known[:2]:
        known.heads["mixture"] = head("of the models before")

    async def ahead(user: str, known: UserState) -> Head:
        made_for.append(user)
        return head("ahead")

    async def run() -> None:
        warming = CacheWarming(cast("Users", users), asyncio.get_running_loop())
        warming.ahead = ahead
        begun = [warming.begin(MODEL), warming.begin(another_model())]
        await asyncio.gather(*(asyncio.wrap_future(one) for one in begun if one is not None))

    asyncio.run(run())
    assert sorted(made_for) == ["0", "1"]
    versions = [known.warmed.get("mixture") for known in users.known]
    assert [one and one.version for one in versions] == ["ahead", "ahead", None]


def test_a_model_takes_over_when_its_time_is_up() -> None:
    users = Kept(1_000)
    warmed(users, most_s=0.0)
    assert users.ready < len(users.known)


def test_a_model_whose_heads_cannot_be_made_takes_over_all_the_same() -> None:
    def failing(*_: Any) -> Head:
        raise ValueError("no head")

    with capture_logs() as logs:
        warmed(Kept(1), make=failing)
    assert [log["event"] for log in logs] == ["cache_warming_failed"]
