"""Small models to publish, and a registry to publish them in."""

import itertools
from collections.abc import Mapping
from typing import Any

import numpy as np

from core.batch.item_objective import ItemObjective
from core.batch.row_objective import RowObjective, diagonalised
from core.batch.snapshot import of_objective
from core.snapshot import Snapshot
from service.store.models.records import ModelRecord
from service.store.models.registry import Registry

_created = itertools.count(1_795_000_000_000)


def objective(n_items: int = 12, factors: int = 4, *, seed: int = 0) -> RowObjective:
    """Random item factors as a fit exports them."""
    drawn = np.random.default_rng(seed).normal(size=(n_items, factors))
    negative = np.full(n_items, 0.1, np.float32)
    return diagonalised(drawn, negative, negative_target=0.0, reg=0.1, nu=0.5, mean_count=5.0)


def item_objective(factors: int = 4) -> ItemObjective:
    """What folds items in beside ``objective``."""
    return ItemObjective(
        np.ones(factors, np.float32),
        np.eye(factors, dtype=np.float32),
        np.ones(factors, np.float32),
        unobserved=0.1,
        rho=0.0,
        total=100.0,
        negative_target=0.0,
        reg=0.1,
        nu=0.5,
        mean_count=5.0,
    )


def snapshot(n_items: int = 12, factors: int = 4, *, seed: int = 0, **more: Any) -> Snapshot:
    """A model with fold-in."""
    return of_objective(
        "fbgd",
        objective(n_items, factors, seed=seed),
        settings={"factors": factors, "seed": seed},
        metrics={"ndcg@10": 0.25},
        cuts={"trained_through": {"0": 7}},
        **more,
    )


def published(
    registry: Registry,
    made: Snapshot | None = None,
    *,
    strategy: str = "fbgd",
    seed: int = 0,
    created_ms: int | None = None,
    decision: Mapping[str, Any] | None = None,
) -> ModelRecord:
    """Publish a model, each one younger than the last, and return its record."""
    made = snapshot(seed=seed) if made is None else made
    record = ModelRecord.of(
        made,
        strategy,
        created_ms=next(_created) if created_ms is None else created_ms,
        job="job-1",
        decision=decision or {"outcome": "promoted", "reason": "nothing was active"},
    )
    registry.publish(made, record)
    return record


def activated(registry: Registry, *, strategy: str = "fbgd", **more: Any) -> ModelRecord:
    """Publish a model and let it serve."""
    record = published(registry, strategy=strategy, **more)
    expected = registry.active().get(strategy)
    registry.set_active(strategy, record.version, expected=expected, who="a test", why="")
    return record
