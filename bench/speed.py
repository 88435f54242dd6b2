"""`make bench`: speed, each figure beside its bar, with the rivals measured in the same run.

    python -m bench.speed [--quick] [--json] [--only kernels,learner,ingest,posts,bytes]

Uses ML-1M if it is in ../shared/data, otherwise the sample world. The bars are meant for ML-1M,
whose file is sorted by user; the sample world is not sorted and therefore much slower to commit.
"""

import argparse
import sys
from collections.abc import Callable

import numpy as np

from bench import data, footprint, ingest, kernels, learner, posts
from bench.data import Ratings
from bench.neighbours import Neighbours
from bench.report import Figure, publish

SECTIONS: dict[str, Callable[[Ratings, bool], list[Figure]]] = {
    "kernels": lambda ratings, quick: kernels.figures(ratings, quick=quick),
    "learner": lambda ratings, quick: learner.figures(ratings, quick=quick),
    "ingest": lambda ratings, quick: ingest.figures(ratings, quick=quick),
    "posts": lambda ratings, quick: posts.figures(ratings, quick=quick),
    "bytes": lambda ratings, _quick: footprint.figures(ratings),
}
QUICK_ROWS = 200_000


def ratings_to_use(*, quick: bool) -> Ratings:
    """Return ML-1M or the sample world, truncated for a quick run."""
    ratings = data.read("ML-1M") if data.available("ML-1M") else data.sample_world()
    return ratings.rows(np.arange(min(len(ratings), QUICK_ROWS))) if quick else ratings


def main() -> int:
    """Run the chosen sections and print their tables."""
    parser = argparse.ArgumentParser(prog="python -m bench.speed", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="fewer ratings, one round")
    parser.add_argument("--json", action="store_true", help="one JSON object instead of tables")
    parser.add_argument("--only", default=",".join(SECTIONS), help="sections, joined by commas")
    options = parser.parse_args()
    chosen = options.only.split(",")
    if unknown := set(chosen) - SECTIONS.keys():
        parser.error(f"no section {', '.join(unknown)}; there are {', '.join(SECTIONS)}")
    ratings = ratings_to_use(quick=options.quick)
    figures: list[Figure] = []
    quiet: list[Figure] = []
    for name in chosen:
        print(f"{name}: {len(ratings)} ratings of {ratings.name} ...", file=sys.stderr, flush=True)
        neighbours = Neighbours()
        figures += SECTIONS[name](ratings, options.quick)
        quiet.append(
            Figure("Neighbours", f"other processes during {name}", neighbours.cores(), "cores")
        )
    return publish(
        figures + quiet, as_json=options.json, data=f"{len(ratings)} ratings of {ratings.name}"
    )


if __name__ == "__main__":
    sys.exit(main())
