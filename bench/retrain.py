"""A training on MovieLens 1M through the whole service, from the order to the published model.

    python -m bench.retrain [--model fbgd] [--rounds 2]

The ratings are imported first. The seconds run from POST /v1/retrain until the job has ended and
include the fork of the process, reading, search, fits, validation and publication. Memory is the
largest resident set of that process.
"""

import argparse
import sys
from collections.abc import Iterator
from time import perf_counter
from typing import Any

from bench import data, service
from bench.report import Figure, publish
from service.cli.clients.watching import watch
from service.client import ServiceClient
from service.files.sending import send

SECTION = "Training"
MOST_S = 30.0


def trainings(model: str, rounds: int) -> list[dict[str, Any]]:
    """Return the ended jobs, each with its ``elapsed`` seconds."""
    environment = {"HEDGEROW_RETRAIN_AFTER_EVENTS": "0"}
    jobs = []
    with (
        service.hedgerow(environment) as server,
        ServiceClient(f"http://{server.host}:{server.port}") as client,
    ):
        summary = send(client, data.FILES["ML-1M"])
        client.wait_until_learned(summary.sequence)
        for _ in range(rounds):
            started = perf_counter()
            job = watch(client, client.post("/v1/retrain", {"model": model}))
            jobs.append({**job, "elapsed": perf_counter() - started})
    return jobs


def figures(jobs: list[dict[str, Any]]) -> Iterator[Figure]:
    """Yield the figures of the jobs."""
    for number, job in enumerate(jobs, 1):
        metrics, decision = job["metrics"], job["decision"]
        section = f"{SECTION} {number}: {decision['outcome']}, {decision['reason']}"
        stages = ", ".join(f"{name} {seconds:.1f}" for name, seconds in metrics["seconds"].items())
        yield Figure(section, "order to end", job["elapsed"], "s", bar=MOST_S, note=stages)
        yield Figure(section, "largest memory", metrics["peak_bytes"] / 1e6, "MB")
        yield Figure(section, f"ndcg@10 on {metrics['judges']} held-out users", metrics["ndcg@10"])
        for name in ("rival", "popular"):
            if metrics[name]:
                yield Figure(section, f"ndcg@10 of the {name} model", metrics[name]["ndcg@10"])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", default="fbgd")
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    data.require("ML-1M")
    jobs = trainings(given.model, given.rounds)
    ended = [job for job in jobs if job["status"] == "succeeded"]
    for job in jobs:
        if job not in ended:
            print(f"job {job['id']} {job['status']}: {job['error']}", file=sys.stderr)
    code = publish(list(figures(ended)), as_json=given.json, data="ML-1M")
    sys.exit(code if ended == jobs else 1)


if __name__ == "__main__":
    main()
