"""The first hour on ML-1M: from the end of an import to personal lists by trained models.

    python -m bench.first_hour [--users 200] [--json]

An empty service with its own settings takes 3 883 films with titles, genres and years and a million
ratings, by `hedgerow import` as anybody would type it. No other command follows. From the moment
the import ends, a sample of users is asked for lists every half second. A list is personal if
trained models ranked it. Takes a minute.
"""

import argparse
import csv
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

from bench import data, service
from bench.new_items import documents
from bench.report import Figure, publish
from service.client import ServiceClient

SECTION = "The first hour, ML-1M"
WANTED, BAR_S, PATIENCE_S, PERIOD_S = 0.95, 60.0, 600.0, 0.5
_PAUSE = threading.Event()


def write_items(path: Path) -> int:
    """Write the films as a CSV of items, and return their number."""
    films = documents()
    with path.open("w", newline="") as lines:
        table = csv.writer(lines)
        table.writerow(["item", "categories", "title", "year"])
        for film, said in films.items():
            known = said["features"]
            table.writerow([film, "|".join(said["categories"]), known["title"], known["year"]])
    return len(films)


def imported(server: service.Server, items: Path) -> tuple[float, str]:
    """Import everything by the command; return the seconds, and what it says comes next."""
    command = [service.beside_python("hedgerow"), "import", str(data.FILES["ML-1M"])]
    url = ["--url", f"http://{server.host}:{server.port}"]
    began = perf_counter()
    done = subprocess.run(
        [*command, "--items", str(items), *url], capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise SystemExit(f"the import failed: {done.stderr}")
    return perf_counter() - began, done.stderr.strip().splitlines()[-1]


def personal(client: ServiceClient, users: list[str]) -> tuple[float, set[str]]:
    """Return the share of users whose list trained models ranked, and the models' strategies."""
    slates = [client.get(f"/v1/users/{user}/recommendations", k=10) for user in users]
    ranked: list[dict[str, Any]] = [slate for slate in slates if slate["models"]]
    return len(ranked) / len(users), {name for slate in ranked for name in slate["models"]}


def until_personal(client: ServiceClient, users: list[str]) -> tuple[float, set[str]]:
    """Return the seconds until enough users have personal lists, and what ranked these."""
    began = perf_counter()
    while perf_counter() - began < PATIENCE_S:
        share, strategies = personal(client, users)
        if share >= WANTED:
            return perf_counter() - began, strategies
        _PAUSE.wait(PERIOD_S)
    raise SystemExit(f"after {PATIENCE_S:.0f} s only {share:.2f} of the users had personal lists")


def figures(n_users: int) -> Iterator[Figure]:
    ratings = data.read("ML-1M")
    drawn = np.random.default_rng(0).choice(len(ratings.user_ids), n_users, replace=False)
    users = [ratings.user_ids[at] for at in drawn.tolist()]
    with (
        tempfile.TemporaryDirectory(prefix="hedgerow-bench-") as folder,
        service.hedgerow() as server,
        ServiceClient(f"http://{server.host}:{server.port}") as client,
    ):
        items = Path(folder) / "items.csv"
        n_items = write_items(items)
        seconds, says = imported(server, items)
        note = f"{len(ratings)} ratings, {n_items} films; it says: {says}"
        yield Figure(SECTION, "`hedgerow import`", seconds, "s", note=note)
        seconds, ranked = until_personal(client, users)
        yield Figure(
            SECTION,
            f"end of the import to personal lists by trained models, {100 * WANTED:.0f} % of users",
            seconds,
            "s",
            bar=BAR_S,
            note=f"{n_users} users asked; ranked by {', '.join(sorted(ranked))}",
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--users", type=int, default=200, help="users who are asked for lists")
    parser.add_argument("--json", action="store_true")
    asked = parser.parse_args()
    data.require("ML-1M")
    sys.exit(publish([*figures(asked.users)], as_json=asked.json, data="ML-1M"))


if __name__ == "__main__":
    main()
