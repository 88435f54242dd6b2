"""Searches settings and fits models by a clock that counts its readings, and digests the results.

    python -m tests.golden.searches    print the figures of this commit as JSON

Run it with one thread: ``figures`` starts a process that has one.
"""

import itertools
import json
import os
import subprocess
import sys
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np

from core.search.search import Budget
from service.training.material import Material
from service.training.recipes import RECIPES
from tests.core.ranking import tribes

FIGURES = Path(__file__).with_name("searches.json")
SEARCHED = ("fbgd", "ocmf-lr-wsq")
STEP_S, BUDGET_S = 0.01, 6.0
"""Seconds by which the clock advances at each reading, and budget of a search."""
THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")


def figures() -> dict[str, Any]:
    """Return the settings found and the digests of the vectors, made by a single thread."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.golden.searches"],
        env=os.environ | dict.fromkeys(THREADS, "1"),
        cwd=Path(__file__).parents[2],
        capture_output=True,
        check=True,
    )
    made: dict[str, Any] = json.loads(done.stdout)
    return made


def searched(name: str) -> dict[str, Any]:
    """Return the settings that a training finds, the number of trials, and digests of the model."""
    recipe: Any = RECIPES[name]
    material, trials = Material(tribes()), itertools.count()
    clock = itertools.count(0.0, STEP_S).__next__
    given = recipe.settings.ordered({})
    budget = Budget(clock, BUDGET_S)
    config = recipe.search(material, given, budget, lambda share: next(trials)).config
    row = recipe.fit(material, config).row
    return {
        "settings": recipe.settings.flat(config),
        "trials": next(trials),
        "digests": [_digest(row.item_factors), _digest(row.vectors(material.pairs))],
    }


def _digest(array: Any) -> str:
    return sha256(np.ascontiguousarray(array).tobytes()).hexdigest()[:16]


if __name__ == "__main__":
    json.dump({name: searched(name) for name in SEARCHED}, sys.stdout, indent=1)
