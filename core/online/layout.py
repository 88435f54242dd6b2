"""Width and fingerprint of the rows of a set of experts; this module loads no kernel."""

from dataclasses import dataclass

from core.online.config import OnlineConfig, fingerprint
from core.online.experts import Expert, Kalman, PassiveAggressive, Resolved
from core.online.tables import FIRST_GROUP_COLUMN


@dataclass(frozen=True)
class RowLayout:
    """Width and fingerprint of rows, enough to read and check stored ones."""

    width: int
    """Columns of a row."""
    fingerprint: bytes
    """Eight bytes that differ for configurations with different arithmetic."""

    @classmethod
    def of(cls, config: OnlineConfig) -> "RowLayout":
        """Return the layout of the rows that a model of this configuration learns.

        >>> RowLayout.of(OnlineConfig(experts=(PassiveAggressive(rank=2),))).width
        9
        """
        width = FIRST_GROUP_COLUMN + sum(map(columns, config.experts))
        return cls(width, fingerprint(config))


def columns(expert: Expert) -> int:
    """Return the number of columns that an expert owns: bias, factors and accumulators."""
    rank = expert.rank
    if isinstance(expert, PassiveAggressive):
        return rank + accumulators(expert)
    if isinstance(expert, Kalman):
        return (rank + 1) + (rank + 1) * (rank + 2) // 2
    return 2 * (rank + 1) + (2 if isinstance(expert, Resolved) else 0)


def accumulators(expert: PassiveAggressive) -> int:
    """Return the number of columns that the metric needs besides the factors."""
    counts = {"diag": expert.rank, "full": expert.rank * (expert.rank + 1) // 2}
    return counts.get(expert.metric, 0)
