"""Groups of non-negative experts: SGD, NN-PA and NN-APA with a diagonal or a full metric.

Owns the layout of these experts in a row, the kernels' table and the initial values. The formulas
are in core/kernels/passive_aggressive.py and core/kernels/full_matrix.py.
"""

from collections.abc import Sequence

import numpy as np

from core.errors import ConfigError
from core.kernels import full_matrix, passive_aggressive
from core.kernels.passive_aggressive import EXPERT, Experts
from core.online.config import OnlineConfig
from core.online.experts import PassiveAggressive
from core.online.group import COORDINATES, Place
from core.online.layout import columns
from core.online.tables import Batch, ItemTable, Side, UserTable
from core.rng import mix, symmetric_noise
from core.scale import HIGHEST, LOWEST
from core.types import F32, F64, U64

_METRICS = {
    "sgd": passive_aggressive.IDENTITY,
    "identity": passive_aggressive.IDENTITY,
    "diag": passive_aggressive.DIAGONAL,
    "full": passive_aggressive.FULL,
}
_RULES = {
    "pa": passive_aggressive.PA,
    "pa1": passive_aggressive.PA1,
    "pa2": passive_aggressive.PA2,
}


def check(expert: PassiveAggressive) -> None:
    """Raise ConfigError for settings with which an expert cannot learn."""
    for name, value, allowed, bound in (
        ("rank", expert.rank, expert.rank >= 1, "at least 1"),
        ("c", expert.c, 0.0 < expert.c < np.inf, "above 0 and finite"),
        ("eps", expert.eps, 0.0 <= expert.eps < np.inf, "at least 0 and finite"),
        ("delta", expert.delta, 0.0 < expert.delta < np.inf, "above 0 and finite"),
        ("cap", expert.cap, expert.cap > 0.0, "above 0"),
    ):
        if not allowed:
            raise ConfigError(f"{name} of an expert must be {bound}, not {value}")


def expert_table(experts: Sequence[PassiveAggressive], first_number: int, seed: int) -> Experts:
    """Return the kernels' table; an expert's accumulators follow its factors."""
    table = np.zeros(len(experts), dtype=EXPERT)
    numbers = np.arange(first_number, first_number + len(experts), dtype=np.uint64)
    table["key"] = mix(mix(np.array([seed], dtype=np.uint64)) ^ numbers)
    column = 0
    for row, expert in zip(table, experts, strict=True):
        row["factors"], row["accumulators"] = column, column + expert.rank
        row["rank"], row["metric"] = expert.rank, _METRICS[expert.metric]
        sgd = expert.metric == "sgd"
        row["rule"] = passive_aggressive.SGD if sgd else _RULES[expert.variant]
        row["exact"] = expert.step == "exact" and not sgd
        row["c"], row["eps"], row["delta"] = expert.c, expert.eps, expert.delta
        row["cap"] = expert.cap
        column += columns(expert)
    return table


class _NonNegativeGroup:
    """Common base of all non-negative experts: columns, initial values and the prediction u.v."""

    def __init__(
        self, experts: Sequence[PassiveAggressive], *, first_number: int, config: OnlineConfig
    ) -> None:
        for expert in experts:
            check(expert)
        self._experts = tuple(experts)
        self._table = expert_table(experts, first_number, config.seed)
        self._first_number, self._seed = first_number, config.seed
        self._log_beta = float(np.log(config.beta))
        self._rho = 1.0 if config.rho is None else float(config.rho)
        self._bounds = (LOWEST, HIGHEST) if config.clip else (-np.inf, np.inf)
        self.size = len(experts)
        self.width = sum(map(columns, experts))
        self.state: dict[str, F64] = {"updates": np.zeros(self.size)}

    def start(self, side: Side, id_hashes: U64, first_column: int, rows: F32) -> None:
        """Write the initial factors; accumulators start at 0."""
        rows[:, first_column : first_column + self.width] = 0.0
        for number, (expert, row) in enumerate(zip(self._experts, self._table, strict=True)):
            first = (self._first_number + number) * COORDINATES
            noise = symmetric_noise(self._seed, side, id_hashes, first=first, count=expert.rank)
            column = first_column + int(row["factors"])
            rows[:, column : column + expert.rank] = _start_factors(expert, noise)

    def predict(
        self, user_rows: F32, item_rows: F32, mean: float, first_column: int, predictions: F64
    ) -> None:
        """Write u.v of each expert."""
        passive_aggressive.passive_aggressive_predict(
            self._table, first_column, user_rows, item_rows, predictions
        )

    def places(self, first_column: int) -> list[Place]:
        """Return the columns of each expert's factors."""
        return [
            Place(None, first_column + int(row["factors"]), int(row["rank"])) for row in self._table
        ]


def _start_factors(expert: PassiveAggressive, noise: F64) -> F64:
    if expert.init == "paper":
        return 0.5 * (1.0 + noise)
    # Both sides start alike; the first predictions are near 3.5, slightly above the middle of the
    # scale.
    return float(np.sqrt(3.5 / expert.rank)) * (1.0 + 0.05 * noise)


class PassiveAggressiveGroup(_NonNegativeGroup):
    """SGD, NN-PA and diagonal NN-APA; with ``rho``, the sampled updates of NN-APA(m)."""

    def __init__(
        self, experts: Sequence[PassiveAggressive], *, first_number: int, config: OnlineConfig
    ) -> None:
        super().__init__(experts, first_number=first_number, config=config)
        self.state["log_weights"] = np.zeros(self.size)
        widest = max(expert.rank for expert in experts)
        self._scratch = np.empty((2, widest), dtype=np.float32)

    def learn(
        self, batch: Batch, users: UserTable, items: ItemTable, first_column: int, predictions: F64
    ) -> None:
        """Learn the batch in order."""
        passive_aggressive.passive_aggressive(
            self._table,
            first_column,
            users.rows,
            items.rows,
            batch.user_ix,
            batch.item_ix,
            batch.rating,
            batch.sequence,
            self._rho,
            self._log_beta,
            *self._bounds,
            self.state["log_weights"],
            self.state["updates"],
            self._scratch,
            predictions,
        )


class FullMatrixGroup(_NonNegativeGroup):
    """NN-APA with the full matrix; the accumulators are the packed upper triangle of H."""

    def __init__(
        self, experts: Sequence[PassiveAggressive], *, first_number: int, config: OnlineConfig
    ) -> None:
        if config.rho is not None:
            raise ConfigError("the full matrix has no sampled updates (rho): use metric='diag'")
        widest = max(expert.rank for expert in experts)
        if widest > full_matrix.NODES:
            raise ConfigError(f"the full matrix goes up to rank {full_matrix.NODES}, not {widest}")
        super().__init__(experts, first_number=first_number, config=config)
        self._squares = np.empty(5 * widest * widest)
        self._work = np.empty((5 + widest) * full_matrix.NODES)

    def learn(
        self, batch: Batch, users: UserTable, items: ItemTable, first_column: int, predictions: F64
    ) -> None:
        """Learn the batch in order."""
        full_matrix.full_matrix(
            self._table,
            first_column,
            users.rows,
            items.rows,
            batch.user_ix,
            batch.item_ix,
            batch.rating,
            self.state["updates"],
            self._squares,
            self._work,
            predictions,
        )
