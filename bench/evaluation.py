"""Runs the command `hedgerow eval online` and caches its reports."""

import functools
import json
import subprocess
import sys
from pathlib import Path
from statistics import mean, pstdev
from typing import Any

from bench import data

Report = dict[str, Any]


@functools.cache
def evaluate(name: str, flags: tuple[str, ...], seed: int) -> Report:
    """Return the command's JSON report for one data set, its flags and one seed."""
    low, high = data.SCALES[name]
    command = [
        str(Path(sys.executable).with_name("hedgerow")),
        "eval",
        "online",
        str(data.FILES[name]),
        f"--scale={low:g}:{high:g}",
        f"--seed={seed}",
        "--json",
        *flags,
    ]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    if ended.returncode:
        raise RuntimeError(f"{' '.join(command)}\n{ended.stderr[-2000:]}")
    return dict(json.loads(ended.stdout))


def over_seeds(name: str, flags: str, seeds: range, field: str) -> tuple[float, float]:
    """Return the mean and the standard deviation of one field of the report over the seeds."""
    values = [float(evaluate(name, tuple(flags.split()), seed)[field]) for seed in seeds]
    return mean(values), pstdev(values)
