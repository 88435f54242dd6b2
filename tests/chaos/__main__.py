"""Run schedules of faults against real processes: ``python -m tests.chaos [--seed 1]``.

Each seed names a schedule. A schedule that breaks a promise is printed with the commit, its steps
and what happened around the broken promise; the exit code is then 1. Times are figures: on a busy
machine they say more of the machine than of the service.
"""

import argparse
import subprocess
import sys
import time
import traceback
from collections import Counter

from tests.chaos.run import Result, place_for, run
from tests.chaos.schedule import drawn

RECOVERY_S, AWAY_S = 5.0, 0.25
"""What is promised on a machine that has nothing else to do."""


def commit() -> str:
    """Return the commit of the code, with a + if files have changed since."""
    asked = ["git", "describe", "--always", "--dirty=+"]
    answer = subprocess.run(asked, capture_output=True, text=True, check=False)
    return answer.stdout.strip() or "unknown"


def say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def one(seed: int) -> Result | None:
    """Run a seed and tell what came of it; None if it broke a promise."""
    schedule, began = drawn(seed), time.monotonic()
    say(str(schedule))
    try:
        with place_for(schedule) as place:
            result = run(place, schedule)
    except Exception:  # noqa: BLE001 - it is told with its seed
        say(f"seed {seed} of commit {commit()} failed:\n{traceback.format_exc()}")
        return None
    waited = ", ".join(f"{name}: {n}" for name, n in result.away_told.items())
    slowest, seconds = max(result.recoveries, key=lambda one: one[1])
    say(
        f"  kept: {result.acknowledged} events acknowledged, {result.lost} of them taken by a "
        f"rollback, recovered within {seconds:.2f} s "
        f"({slowest}), readers waited {1_000 * result.away_s:.0f} ms at most ({waited}); "
        f"{time.monotonic() - began:.0f} s"
    )
    return result


def main() -> int:
    """Run what the arguments ask for."""
    parser = argparse.ArgumentParser(prog="python -m tests.chaos", description=__doc__)
    parser.add_argument("--seed", type=int, default=1, help="the first one (default: 1)")
    parser.add_argument("--schedules", type=int, default=20, help="how many (default: 20)")
    asked = parser.parse_args()
    say(f"commit {commit()}")
    seeds = range(asked.seed, asked.seed + asked.schedules)
    results = {seed: one(seed) for seed in seeds}
    kept = [result for result in results.values() if result is not None]
    statuses = sum((result.statuses for result in kept), Counter[str]())
    times = [seconds for result in kept for _, seconds in result.recoveries]
    late = sum(seconds > RECOVERY_S for seconds in times)
    away = sum(result.away_s > AWAY_S for result in kept)
    say(f"{len(results)} schedules, {len(results) - len(kept)} broke a promise")
    acknowledged, lost = (
        sum(result.acknowledged for result in kept),
        sum(result.lost for result in kept),
    )
    say(f"{acknowledged} events acknowledged, {lost} of them taken by rollbacks")
    faults = Counter(name for result in kept for name, _ in result.recoveries)
    say(", ".join(f"{name}: {n}" for name, n in faults.most_common()))
    say(", ".join(f"{name}: {n}" for name, n in statuses.most_common()))
    say(f"{len(times)} recoveries, {late} took more than {RECOVERY_S:.0f} s")
    say(f"readers waited for more than {1_000 * AWAY_S:.0f} ms in {away} schedules")
    return len(kept) < len(results)


if __name__ == "__main__":
    sys.exit(main())
