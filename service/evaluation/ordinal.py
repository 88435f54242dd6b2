"""One evaluation of ordinal scores: from a table to a report."""

from time import perf_counter
from typing import Any

import numpy as np

from core.errors import ConfigError
from core.ordinal.config import OrdinalConfig
from core.ordinal.metrics import equal_levels, mean_auc
from core.ordinal.qs3orao import fit
from service.files.tables import Table


def evaluate_ordinal(
    table: Table, levels: int, labelled: int, config: OrdinalConfig
) -> dict[str, Any]:
    """Cut the target into levels, fit with ``labelled`` rows, and measure on the other rows."""
    n = len(table.target)
    if labelled >= n:
        raise ConfigError(
            f"--labelled {labelled} leaves no rows to test on: the file has {n} rows, give fewer"
        )
    level = equal_levels(table.target, levels)
    known = np.zeros(n, dtype=np.int64)
    chosen = np.random.default_rng([config.seed, 0]).permutation(n)[:labelled]
    known[chosen] = level[chosen]
    started = perf_counter()
    model = fit(table.features, known, int(level.max()), config)
    seconds = perf_counter() - started
    hidden = known == 0
    scores, truth = model.scores(table.features[hidden]), level[hidden]
    predicted = model.levels.level(scores)
    return {
        "model": "qs3orao",
        "auc": mean_auc(scores, truth),
        "mae": float(np.abs(predicted - truth).mean()),
        "accuracy": float((predicted == truth).mean()),
        "fit_seconds": seconds,
        "thresholds": model.levels.thresholds.tolist(),
        "n_labelled": labelled,
        "n_unlabelled": int(hidden.sum()),
        "levels": int(level.max()),
        "validation_auc": model.auc,
        "parameters": {
            "solver": config.solver,
            "reg": model.reg,
            "gamma": model.gamma,
            "widths": dict(zip(table.columns, model.widths.tolist(), strict=True)),
        },
    }
