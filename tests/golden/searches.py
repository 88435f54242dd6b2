"""Searches settings and fits models by a clock that counts its readings, and digests the results.

    python -m tests.golden.searches            print the figures of this commit as JSON
    python -m tests.golden.searches --record   write them to searches.json

Bits need one thread: ``figures`` starts a process that has one.
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
from service.training.data.material import Material
from service.training.recipes import RECIPES
from tests.core.ranking import tribes
from tests.golden.replay import machine

FIGURES = Path(__file__).with_name("searches.json")
SEARCHED = ("fbgd", "ocmf-lr-wsq")
STEP_S, BUDGET_S = 0.01, 6.0
"""Seconds by which the clock advances at each reading, and budget of a search."""
THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")


def figures() -> dict[str, Any]:
    """Return the settings found and the digests of the vectors, made twice by a single thread."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.golden.searches", "--here"],
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
    budget = Budget(clock, BUDGET_S, lambda share: next(trials))
    config = recipe.search(material, given, budget).config
    row = recipe.fit(material, config).row
    return {
        "settings": recipe.settings.flat(config),
        "trials": next(trials),
        "digests": [_digest(row.item_factors), _digest(row.vectors(material.pairs))],
    }


def _twice(name: str) -> dict[str, Any]:
    return {**searched(name), "again": searched(name)["digests"]}


def record() -> None:
    """Write the figures of this commit to searches.json, beside the digests of other machines."""
    known = json.loads(FIGURES.read_text()) if FIGURES.exists() else {"digests": {}}
    made = figures()
    known["digests"][machine()] = {name: one["digests"] for name, one in made.items()}
    known["found"] = {
        name: {"settings": one["settings"], "trials": one["trials"]} for name, one in made.items()
    }
    FIGURES.write_text(json.dumps(known, indent=1) + "\n")


def _digest(array: Any) -> str:
    return sha256(np.ascontiguousarray(array).tobytes()).hexdigest()[:16]


if __name__ == "__main__":
    if "--record" in sys.argv:
        record()
    else:
        made = {name: _twice(name) for name in SEARCHED} if "--here" in sys.argv else figures()
        json.dump(made, sys.stdout, indent=1)
