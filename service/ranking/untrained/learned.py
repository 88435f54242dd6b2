"""Everything that a learner publishes for ranking, as of one moment."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from core.batch.takers import NOBODY, Takers
from core.transitions.successors import Successors
from core.transitions.table import Counted
from service.ranking.ranker import Ranker
from service.ranking.untrained.next_items import NextState
from service.ranking.untrained.online import OnlineItems, OnlineState


@dataclass(frozen=True, eq=False)
class LearnedPart:
    """What the learner of one partition publishes."""

    online: OnlineItems
    transitions: Counted
    takers: Takers = NOBODY


@dataclass(frozen=True, eq=False)
class LearnedState:
    """What the learners of all partitions have published."""

    parts: Mapping[int, LearnedPart] = field(default_factory=dict)
    """By partition; one that has learned nothing has no entry."""
    online: OnlineState = field(default_factory=OnlineState)
    following: NextState = field(default_factory=NextState)
    takers: Takers = NOBODY
    """Users who took items that some model has not learned."""

    @classmethod
    def of(cls, parts: Mapping[int, LearnedPart], *, now_ms: float) -> "LearnedState":
        """Return the state of these partitions; it sums up what follows what, which takes long.

        The order in which the parts came does not matter.
        """
        parts = dict(sorted(parts.items()))
        online = OnlineState({partition: part.online for partition, part in parts.items()})
        versions = ",".join(part.online.version for part in parts.values())
        following = NextState(
            Successors.of((part.transitions for part in parts.values()), now_ms=now_ms),
            versions,
            {partition: part.online.seen_through for partition, part in parts.items()},
        )
        return cls(parts, online, following, Takers.joined(part.takers for part in parts.values()))

    def rankers(self, partition: int | None) -> Sequence[Ranker]:
        """Return the rankers for a partition's users."""
        return [*self.online.rankers(partition), *self.following.rankers(partition)]
