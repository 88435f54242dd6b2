"""Users like a user: those whose vectors point the same way, among a sample of all users that this process keeps.

Snapshots hold no users, so the sample is folded in here: when it is first asked for, when another model serves, and
again after some minutes. Until the new one is ready the old one answers.
"""

import asyncio
import time
from dataclasses import dataclass

import numpy as np

from core.types import F32
from service.serving.rankers import Asker, FoldIn
from service.serving.users import Users

MOST_USERS = 20_000
FRESH_S = 300.0
"""How old the vectors of the sample may be."""


@dataclass(frozen=True, eq=False)
class Sample:
    """n users and their vectors of length 1, (n, g)."""

    version: str
    made_at: float
    users: list[str]
    vectors: F32


class Neighbours:
    """Keeps one sample."""

    def __init__(self, users: Users) -> None:
        self._users = users
        self._sample: Sample | None = None
        self._making: asyncio.Task[None] | None = None

    async def nearest(
        self, model: FoldIn, user: str, asker: Asker, k: int
    ) -> list[tuple[str, float]]:
        """Return the k most similar of the sampled users and the cosines, the most similar first."""
        sample = await self._current(model)
        own = _unit(model.vector(asker)[None])[0]
        cosine = sample.vectors @ own
        order = np.argsort(-cosine, kind="stable")[: k + 1].tolist()
        found = [(sample.users[at], float(cosine[at])) for at in order]
        return [(name, near) for name, near in found if name != user][:k]

    async def close(self) -> None:
        """Stop making a sample."""
        if self._making is not None:
            self._making.cancel()
            await asyncio.wait([self._making])

    async def _current(self, model: FoldIn) -> Sample:
        sample = self._sample
        while sample is None or sample.version != model.version:
            # what is being made may be of yet another version
            await asyncio.shield(self._begin(model))
            sample = self._sample
        if time.monotonic() - sample.made_at > FRESH_S:
            self._begin(model)
        return sample

    def _begin(self, model: FoldIn) -> "asyncio.Task[None]":
        """Return the task that makes a sample, a new one if there is none."""
        if self._making is None or self._making.done():
            self._making = asyncio.create_task(self._make(model))
            self._making.add_done_callback(_heard)
        return self._making

    async def _make(self, model: FoldIn) -> None:
        users: list[str] = []
        vectors: list[F32] = []
        async for user, known in self._users.sample(MOST_USERS):
            asker = Asker(known.preferences)
            if model.knows(asker):
                users.append(user)
                vectors.append(model.vector(asker))
        rows = np.array(vectors, np.float32).reshape(len(users), model.item_factors.shape[1])
        self._sample = Sample(model.version, time.monotonic(), users, _unit(rows))


def _heard(task: "asyncio.Task[None]") -> None:
    """Take note of a failure that nobody waits for: the next request tries again."""
    if not task.cancelled():
        task.exception()


def _unit(rows: F32) -> F32:
    length = np.linalg.norm(rows, axis=1, keepdims=True)
    unit: F32 = np.divide(rows, length, out=np.zeros_like(rows), where=length > 0)
    return unit
