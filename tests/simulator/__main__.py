"""Run seeds of the simulator until one breaks a promise, or all are done.

python -m tests.simulator --seeds 10000 --first 1 --processes 2
python -m tests.simulator --first 4711 --seeds 1       run one seed again, with its last calls
"""

import argparse
import multiprocessing
import os
import subprocess
import sys
import time
import traceback
from collections import Counter
from collections.abc import Iterator, Sequence

from tests.simulator.seeds import room
from tests.simulator.world import Plan, Result

TOLD_EVERY_S = 10.0

Outcome = tuple[int, Result | str]
"""A seed, and what it came to or how it failed."""


def run_seeds(seeds: Sequence[int]) -> Iterator[Outcome]:
    """Run seeds in one process, with a store of its own."""
    with room() as here:
        for seed in seeds:
            try:
                yield seed, here.run(Plan(seed))
            except Exception:  # noqa: BLE001 - it is told with its seed
                yield seed, traceback.format_exc()


def _work(seeds: Sequence[int], results: "multiprocessing.Queue[Outcome | None]") -> None:
    for outcome in run_seeds(seeds):
        results.put(outcome)
    results.put(None)


def run_all(first: int, n: int, processes: int) -> int:
    """Run the seeds in several processes; return how many failed."""
    context = multiprocessing.get_context("spawn")
    results: multiprocessing.Queue[Outcome | None] = context.Queue()
    seeds = range(first, first + n)
    workers = [
        context.Process(target=_work, args=(seeds[at::processes], results))
        for at in range(processes)
    ]
    for worker in workers:
        worker.start()
    failed = _told(results, processes)
    for worker in workers:
        worker.join()
    return failed


def _told(results: "multiprocessing.Queue[Outcome | None]", processes: int) -> int:
    began = told = time.monotonic()
    steps = done = failed = 0
    occurred = Counter[str]()
    while processes:
        outcome = results.get()
        if outcome is None:
            processes -= 1
            continue
        seed, result = outcome
        done += 1
        if isinstance(result, str):
            failed += 1
            _say(f"seed {seed} of commit {commit()} failed:\n{result}")
        else:
            steps += result.steps
            occurred += result.occurred
        if time.monotonic() - told > TOLD_EVERY_S or not processes:
            told = time.monotonic()
            _say(_figures(done, failed, steps, told - began))
    _say(_figures(done, failed, steps, time.monotonic() - began))
    _say(", ".join(f"{name} {n}" for name, n in sorted(occurred.items())))
    return failed


def _figures(done: int, failed: int, steps: int, seconds: float) -> str:
    rate = steps / seconds * 3_600
    return f"{done} seeds, {failed} failed, {steps} steps in {seconds:.0f} s: {rate:.3g} an hour"


def _say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def commit() -> str:
    """Return the commit of the code, with a + if files have changed since."""
    asked = ["git", "describe", "--always", "--dirty=+"]
    answer = subprocess.run(asked, capture_output=True, text=True, check=False)
    return answer.stdout.strip() or "unknown"


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(prog="python -m tests.simulator")
    parser.add_argument("--seeds", type=int, default=100, help="how many (default: 100)")
    parser.add_argument("--first", type=int, default=1, help="the first one (default: 1)")
    parser.add_argument(
        "--processes", type=int, default=os.cpu_count() or 1, help="default: one a processor"
    )
    options = parser.parse_args()
    _say(f"commit {commit()}, seeds from {options.first} on")
    sys.exit(bool(run_all(options.first, options.seeds, min(options.processes, options.seeds))))


if __name__ == "__main__":
    main()
