"""The experiments in an api process: followed, and ended where a guardrail is broken."""

import asyncio
from collections.abc import Mapping, Sequence
from time import monotonic

from service.serving.copies.polling import Polled
from service.serving.experiments.assignment import Assignment, Treatment
from service.serving.experiments.comparison import ArmResult, broken, results
from service.store.connection import AsyncClient
from service.store.experiments import Experiment, Experiments
from service.store.namespace import Namespace
from service.store.profiles.click_through import read_arms
from service.telemetry import logger

IMPRESSION = "impression"
GUARD_EVERY_S = 15.0
"""Time between two looks at the counts of a running experiment."""
GUARDRAIL = "the guardrail"
"""Who ended an experiment."""


class FollowedExperiments(Polled):
    """The experiments as they were a moment ago."""

    def __init__(
        self,
        store: Experiments,
        client: AsyncClient,
        namespace: Namespace,
        kinds: Mapping[str, int],
        *,
        guard_every_s: float = GUARD_EVERY_S,
    ) -> None:
        super().__init__()
        self.store = store
        self.kinds = kinds
        """The codes of all kinds of feedback, by name."""
        self._client, self._namespace = client, namespace
        self._guard_every_s, self._guarded_at = guard_every_s, -guard_every_s
        self.all: Sequence[Experiment] = ()
        """All experiments, the newest last."""
        self._assignment = Assignment(())

    def treatment(self, user: str | None) -> Treatment | None:
        """Return what the experiments say of a user's lists; None: nothing."""
        return self._assignment.of(user)

    async def refresh(self) -> None:
        """Read the experiments now, and look at the counts of one that runs now and then."""
        self._take(await asyncio.to_thread(self.store.read))
        running = self._assignment.running
        if running is not None and monotonic() - self._guarded_at >= self._guard_every_s:
            self._guarded_at = monotonic()
            await self._guard(running)

    async def results(self, experiments: Sequence[Experiment]) -> list[list[ArmResult]]:
        """Return what followed the lists of each arm of some experiments."""
        namespace = self._namespace
        counts = await read_arms(self._client, namespace.name, namespace.partitions)
        return [results(one, counts, self.kinds[IMPRESSION]) for one in experiments]

    def _take(self, found: Sequence[Experiment]) -> None:
        if found != self.all:
            self.all, self._assignment = found, Assignment(found)

    async def _guard(self, running: Experiment) -> None:
        guardrail = running.guardrail
        if guardrail is None or guardrail.kind not in self.kinds:
            return
        kind = self.kinds[guardrail.kind]
        [found] = await self.results([running])
        lost = broken(guardrail, found, kind)
        if lost is None:
            return
        arm, loss = running.arms[lost.arm].name, lost.lift
        why = (
            f"`{arm}` has {-loss.value:.1%} fewer events of the kind `{guardrail.kind}` for each "
            f"impression than `{running.arms[0].name}`, at least {-loss.high:.1%}"
        )
        # any process may be the one that ends it: for the others it has ended already
        await asyncio.to_thread(self.store.stop, running.name, GUARDRAIL, why)
        logger().warning("experiment_stopped", experiment=running.name, why=why)
        self._take(await asyncio.to_thread(self.store.read))
