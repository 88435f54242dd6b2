"""Run seeds of the simulator, and tell which of them break a promise.

python -m tests.simulator --seeds 10000 --first 1 --processes 2
python -m tests.simulator --first 4711 --seeds 1       run one seed again
"""

import argparse
import os
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from multiprocessing import get_context

from tests.simulator.seeds import Outcome, end_with_us, run_seeds

CHUNK = 20
"""Seeds that share a server."""
TOLD_EVERY_S = 10.0


def outcomes(first: int, n: int, processes: int) -> Iterator[Outcome]:
    """Run seeds in several processes; yield what came of each."""
    seeds = range(first, first + n)
    context = get_context("spawn")
    with ProcessPoolExecutor(processes, mp_context=context, initializer=end_with_us) as pool:
        chunks = [pool.submit(run_seeds, seeds[at : at + CHUNK]) for at in range(0, n, CHUNK)]
        for chunk in as_completed(chunks):
            yield from chunk.result()


def run_all(first: int, n: int, processes: int) -> int:
    """Run seeds, tell how it goes, and return how many failed."""
    began = told = time.monotonic()
    done = failed = steps = 0
    occurred = Counter[str]()

    def figures() -> str:
        seconds = time.monotonic() - began
        rate = steps / seconds * 3_600
        return (
            f"{done} seeds, {failed} failed, {steps} steps in {seconds:.0f} s: {rate:.3g} an hour"
        )

    for outcome in outcomes(first, n, processes):
        done, steps = done + 1, steps + outcome.steps
        occurred += outcome.occurred
        if outcome.failure:
            failed += 1
            _say(f"seed {outcome.seed} of commit {commit()} failed:\n{outcome.failure}")
        if time.monotonic() - told > TOLD_EVERY_S:
            told = time.monotonic()
            _say(figures())
    _say(figures())
    _say(", ".join(f"{name} {n}" for name, n in sorted(occurred.items())))
    return failed


def commit() -> str:
    """Return the commit of the code, with a + if files have changed since."""
    asked = ["git", "describe", "--always", "--dirty=+"]
    answer = subprocess.run(asked, capture_output=True, text=True, check=False)
    return answer.stdout.strip() or "unknown"


def _say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


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
    sys.exit(bool(run_all(options.first, options.seeds, options.processes)))


if __name__ == "__main__":
    main()
