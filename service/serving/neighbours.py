"""Similar users: those with similar vectors, among a sample of all users.

Snapshots contain no users, so the sample is folded in here: on the first request for a model, and
again after some minutes. The old sample serves requests until the new one is ready.
"""

import asyncio
import time
from collections import OrderedDict
from dataclasses import dataclass
from itertools import compress

import numpy as np

from core.types import F32
from service.ranking.asker import Asker
from service.ranking.ranker import Ranker
from service.serving.users import Users

MOST_USERS = 20_000
"""Largest number of users in a sample."""
FRESH_S = 300.0
"""Age in seconds after which a sample is computed again."""
KEPT = 4
"""Number of models whose samples are kept, the most recently used ones."""


@dataclass(frozen=True, eq=False)
class Sample:
    """n users and their vectors of length 1, (n, g)."""

    made_at: float
    users: list[str]
    vectors: F32


class Neighbours:
    """Keeps a sample for each recently used model."""

    def __init__(self, users: Users) -> None:
        self._users = users
        self._samples: OrderedDict[str, Sample] = OrderedDict()
        self._making: dict[str, asyncio.Task[None]] = {}
        """Tasks that compute a sample, by version of the model; ``_samples`` likewise."""

    async def nearest(
        self, model: Ranker, user: str, asker: Asker, k: int
    ) -> list[tuple[str, float]]:
        """Return the k most similar users of the sample with their cosines, most similar first."""
        sample = await self._current(model)
        vector = _unit(_vector(model, asker)[None])[0]
        cosine = sample.vectors @ vector
        order = np.argsort(-cosine, kind="stable").tolist()
        neighbours: list[tuple[str, float]] = []
        first, step = 0, k + 1
        while first < len(order) and len(neighbours) < k:
            some = order[first : first + step]
            exist = await asyncio.gather(*(self._exists(model, sample.users[at]) for at in some))
            near = [(sample.users[at], float(cosine[at])) for at in compress(some, exist)]
            neighbours += [(name, cosine) for name, cosine in near if name != user]
            first, step = first + step, 2 * step
        return neighbours[:k]

    async def _exists(self, model: Ranker, user: str) -> bool:
        """Whether a user of the sample still exists: deleted users must not be named."""
        state = await self._users.get(user)
        return model.knows(Asker(state.preferences))

    async def close(self) -> None:
        """Cancel the tasks that compute samples."""
        if making := [*self._making.values()]:
            for task in making:
                task.cancel()
            await asyncio.wait(making)

    async def _current(self, model: Ranker) -> Sample:
        while (sample := self._samples.get(model.version)) is None:
            await asyncio.shield(self._begin(model))
        self._samples.move_to_end(model.version)
        if time.monotonic() - sample.made_at > FRESH_S:
            self._begin(model)
        return sample

    def _begin(self, model: Ranker) -> "asyncio.Task[None]":
        """Return the task that computes a sample; start one if there is none."""
        task = self._making.get(model.version)
        if task is None:
            task = self._making[model.version] = asyncio.create_task(self._make(model))
            task.add_done_callback(lambda ended: self._ended(model.version, ended))
        return task

    def _ended(self, version: str, task: "asyncio.Task[None]") -> None:
        """Forget the task, and its failure if no request waits for it: the next one tries again."""
        del self._making[version]
        if not task.cancelled():
            task.exception()

    async def _make(self, model: Ranker) -> None:
        users: list[str] = []
        vectors: list[F32] = []
        async for user, state in self._users.sample(MOST_USERS):
            asker = Asker(state.preferences)
            if model.knows(asker):
                users.append(user)
                vectors.append(_vector(model, asker))
        rows = np.array(vectors, np.float32).reshape(len(users), model.item_vectors.shape[1])
        self._samples[model.version] = Sample(time.monotonic(), users, _unit(rows))
        while len(self._samples) > KEPT:
            self._samples.popitem(last=False)


def _vector(model: Ranker, asker: Asker) -> F32:
    vector = model.user_vector(asker)
    if vector is None:
        raise TypeError(f"{model.strategy} does not compare users")
    return vector


def _unit(rows: F32) -> F32:
    length = np.linalg.norm(rows, axis=1, keepdims=True)
    unit: F32 = np.divide(rows, length, out=np.zeros_like(rows), where=length > 0)
    return unit
