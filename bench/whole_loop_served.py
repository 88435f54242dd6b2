"""The whole loop through the running service, in order of time: 80 % trained on, the rest streamed.

    python -m bench.whole_loop_served [--rate 200] [--json]

MovieLens 100K with the documents of users and movies. Three models are trained after the import.
Those that read histories are retrained after every 5 % of the ratings, while the stream goes on.
The metrics come from `GET /v1/rankers`: the learner's follower judges all rankers on a sample of
the arriving positives, each before it is learned. Takes about four minutes.
"""

import argparse
import csv
import gzip
import sys
import threading
import time
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any

import httpx

from bench import service
from bench.data import FOLDER
from bench.report import Figure, publish
from service.cli.clients.watching import watch
from service.client import ServiceClient, ndjson, segment

SECTION = "Whole loop through the service, ML-100K"
IMPORTED, RETRAINED = 0.8, 0.05
MODELS = {"fbgd": "fbgd", "ocmf-sq-wsq": "ocmf", "ordinal": "ordinal"}
"""Trained models, each with the name of its ranker."""
AGAIN = ("fbgd", "ocmf-sq-wsq")
BUDGETS_S = 5.0, 1.0
"""Seconds of the search after the import, and of the searches during the stream."""
TOGETHER = 10
"""Ratings per request."""
PERIOD_S = 0.5
"""Seconds between two reads of the rankers, which the service updates every two seconds."""
SETTLE_S, RANKING_S = 5.0, 60.0

_PAUSE = threading.Event()

Row = dict[str, Any]


def table(name: str) -> list[Row]:
    with gzip.open(FOLDER / "ml-100k" / f"{name}.csv.gz", "rt") as lines:
        return list(csv.DictReader(lines))


def ratings() -> list[Row]:
    """Return all ratings in order of time, as they are posted."""
    rows = sorted(table("ratings"), key=lambda row: int(row["timestamp"]))
    return [
        {
            "user": row["user"],
            "item": row["item"],
            "rating": float(row["rating"]),
            "timestamp": datetime.fromtimestamp(int(row["timestamp"]), UTC).isoformat(),
        }
        for row in rows
    ]


def write_documents(client: ServiceClient) -> None:
    """Write the documents of all users and movies."""
    movies = [
        {
            "item": row["item"],
            "categories": row["genres"].split("|"),
            "features": {"year": int(row["release_date"][-4:] or 0)},
        }
        for row in table("movies")
    ]
    client.upload("/v1/items", ndjson(movies))
    with httpx.Client(base_url=client.url) as http:
        for row in table("users"):
            features = {"age": int(row["age"])} | {n: row[n] for n in ("gender", "occupation")}
            answer = http.put(f"/v1/users/{segment(row['user'])}", json={"features": features})
            answer.raise_for_status()


class Judgements:
    """Judgements since its construction, by ranker.

    Only periods in which no ranker changed its version count, so that the rankers are comparable.
    """

    def __init__(self, client: ServiceClient) -> None:
        self._client = client
        self._sums: dict[str, list[float]] = defaultdict(lambda: [0.0, 0.0, 0.0])
        self.weights: dict[str, float] = {}
        self._latest = self._read()

    def update(self) -> None:
        """Add the judgements since the last call, unless a model was replaced meanwhile."""
        before, self._latest = self._latest, self._read()
        if before.keys() == self._latest.keys():
            for key, now in self._latest.items():
                past = zip(self._sums[key[0]], now, before[key], strict=True)
                self._sums[key[0]] = [total + after - then for total, after, then in past]

    def judged(self) -> dict[str, tuple[int, float, float]]:
        """Return the number of judgements, mean ndcg@10 and mean reciprocal rank of each ranker."""
        counted = {name: sums for name, sums in self._sums.items() if sums[0]}
        return {name: (round(n), ndcg / n, mrr / n) for name, (n, ndcg, mrr) in counted.items()}

    def _read(self) -> dict[tuple[str, str], tuple[float, float, float]]:
        body = self._client.get("/v1/rankers")
        self.weights = {one["name"]: one["weight"] for one in body["rankers"]}
        mixture = [body["mixture"]] if body["mixture"] is not None else []
        return {
            (one["name"], one["model_version"]): _sums(one) for one in [*body["rankers"], *mixture]
        }


def _sums(one: Row) -> tuple[float, float, float]:
    # Below 10 000 judgements the means are plain ones.
    return (
        one["judged"],
        one["judged"] * (one["ndcg_at_10"] or 0.0),
        one["judged"] * (one["mrr"] or 0.0),
    )


def train(client: ServiceClient, models: Iterable[str], budget_s: float) -> None:
    """Train the models one after the other."""
    for model in models:
        job = watch(client, client.post("/v1/retrain", {"model": model, "budget_s": budget_s}))
        if job["status"] != "succeeded":
            raise RuntimeError(f"the training {job['status']}: {job['error']}")
        says = job["decision"]
        print(f"{model}: {says['outcome']}, {says['reason']}", file=sys.stderr)


def wait_for_rankers(client: ServiceClient) -> None:
    """Wait until all models are among the follower's rankers."""
    deadline, ranking = time.perf_counter() + RANKING_S, set[str]()
    while time.perf_counter() < deadline:
        ranking = {one["name"] for one in client.get("/v1/rankers")["rankers"]}
        if ranking.issuperset(MODELS.values()):
            return
        _PAUSE.wait(PERIOD_S)
    raise RuntimeError(f"after {RANKING_S:.0f} s not all models are among the rankers: {ranking}")


def stream(client: ServiceClient, rows: Sequence[Row], rate: float) -> str:
    """Post the ratings at the given rate; return the sequence of the last one."""
    began, sequence = time.perf_counter(), ""
    for first in range(0, len(rows), TOGETHER):
        _PAUSE.wait(max(0.0, began + first / rate - time.perf_counter()))
        sequence = client.post("/v1/ratings", rows[first : first + TOGETHER])["sequence"]
    return sequence


@contextmanager
def updating(judgements: Judgements) -> Iterator[None]:
    """Read the rankers periodically while the block runs."""
    stop = threading.Event()

    def look() -> None:
        while not stop.wait(PERIOD_S):
            judgements.update()

    thread = threading.Thread(target=look)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()


def run(client: ServiceClient, rate: float) -> Judgements:
    rows = ratings()
    start, step = int(IMPORTED * len(rows)), int(RETRAINED * len(rows))
    client.wait_until_learned(client.upload("/v1/ratings/stream", ndjson(rows[:start])).sequence)
    write_documents(client)
    train(client, MODELS, BUDGETS_S[0])
    wait_for_rankers(client)
    judgements = Judgements(client)
    with updating(judgements):
        for cut in range(start, len(rows), step):
            training = threading.Thread(target=train, args=(client, AGAIN, BUDGETS_S[1]))
            if cut > start:
                training.start()
            sequence = stream(client, rows[cut : cut + step], rate)
            if cut > start:
                training.join()
        client.wait_until_learned(sequence)
        wait_for_rankers(client)
        _PAUSE.wait(SETTLE_S)
    return judgements


def figures(judgements: Judgements) -> list[Figure]:
    """Return the metrics of each ranker, and of the mixture over the best."""
    judged = judgements.judged()
    missing = set(MODELS.values()) - judged.keys()
    if missing:
        raise RuntimeError(f"never judged: {', '.join(sorted(missing))}")
    found = []
    for name, (n, ndcg, mrr) in sorted(judged.items(), key=lambda one: -one[1][1]):
        weight = judgements.weights.get(name)
        note = f"{n} judged" + ("" if weight is None else f", weight {weight:.2f} at the end")
        found += [
            Figure(SECTION, f"{name}: ndcg@10", ndcg, note=note),
            Figure(SECTION, f"{name}: MRR (0 beyond 100)", mrr),
        ]
    single = {name: ndcg for name, (_, ndcg, _) in judged.items() if name != "mixture"}
    best = max(single, key=lambda name: single[name])
    ratio = judged["mixture"][1] / single[best]
    what = f"mixture : best single ({best}), ndcg@10"
    return [*found, Figure(SECTION, what, ratio, bar=0.98, better="higher")]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rate", type=float, default=200.0, help="ratings a second")
    parser.add_argument("--json", action="store_true")
    asked = parser.parse_args()
    settings = {"HEDGEROW_RETRAIN_AFTER_EVENTS": "0"}
    with (
        service.hedgerow(settings) as server,
        ServiceClient(f"http://{server.host}:{server.port}") as client,
    ):
        judgements = run(client, asked.rate)
    return publish(figures(judgements), as_json=asked.json, data="ML-100K")


if __name__ == "__main__":
    sys.exit(main())
