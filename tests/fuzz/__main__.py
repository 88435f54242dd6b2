"""Feed every parser with damaged inputs: ``python -m tests.fuzz [--inputs 100000] [--seed 0]``.

Prints for each parser how many inputs it accepted, and each input that it failed on.
The exit code is 1 if there was one.
"""

import argparse
import random
import sys
from time import perf_counter

from tests.fuzz.mutations import mutated
from tests.fuzz.parsers import Parser, parsers

SHOWN = 3
"""Failures of a parser that are printed."""


def failures(name: str, parser: Parser, inputs: int, seed: int) -> tuple[int, list[str]]:
    """Return how many inputs a parser accepts, and what it fails on."""
    rng, accepted, failed = random.Random(f"{name} {seed}"), 0, []  # noqa: S311 - reproducible
    for _ in range(inputs):
        data = mutated(rng, parser.samples)
        try:
            accepted += parser.accepts(data)
        except Exception as error:  # noqa: BLE001 - whatever it is, it is what we look for
            failed.append(f"{type(error).__name__}: {error} for {data!r}")
    return accepted, failed


def main() -> int:
    """Run what the arguments ask for."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--inputs", type=int, default=100_000, help="of each parser")
    arguments.add_argument("--seed", type=int, default=0)
    arguments.add_argument("--only", default="", help="a part of the parser's name")
    asked = arguments.parse_args()
    n_failed = 0
    with parsers() as known:
        for name, parser in known.items():
            if asked.only not in name:
                continue
            begun = perf_counter()
            accepted, failed = failures(name, parser, asked.inputs, asked.seed)
            rate = asked.inputs / (perf_counter() - begun)
            print(f"{name}: {accepted} of {asked.inputs} accepted, {rate:.0f}/s")  # noqa: T201
            for failure in failed[:SHOWN]:
                print(f"  {failure}")  # noqa: T201
            n_failed += len(failed)
    print(f"{n_failed} inputs failed")  # noqa: T201
    return 1 if n_failed else 0


if __name__ == "__main__":
    sys.exit(main())
