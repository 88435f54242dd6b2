"""Users and items without a history through the whole service, on MovieLens 1M sent over HTTP.

    python -m bench.cold_service [--budget-s 15] [--json]

A fifth of the users and a tenth of the movies have documents but no ratings. The service's answers
for them are compared with the ratings that were held out: slates of ``exmlds`` beside the most
popular items, and stars of ``ordinal`` for unrated movies.
"""

import argparse
import sys
import tempfile
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import httpx
import msgspec
import numpy as np

from bench import service
from bench.movielens import Movielens, folds, movielens
from bench.ordinal import judged_items
from bench.report import Figure, publish
from core.interactions import from_pairs
from core.ranking_metrics import hits, ndcg
from core.types import F64, I64
from service.cli.clients.watching import watch
from service.client import ServiceClient
from service.files.sending import send

USERS, STARS = "Cold users through the service, ML-1M", "New items through the service, ML-1M"
DEPTH, MOST_JUDGES, MOST_PAIRS, PAGE = 10, 1_000, 20_000, 1_000
SEEN_S = 2.0


class Shop:
    """A running service with the documents of all users and items, and the ratings of some."""

    def __init__(self, client: ServiceClient, world: Movielens) -> None:
        self.client, self.world = client, world
        [(self.users, _), *_] = folds(len(world.users), 5)
        [(self.items, _), *_] = folds(len(world.items), 10)
        self.cold = np.isin(world.user_ix, self.users)
        self.unrated = np.isin(world.item_ix, self.items)

    def fill(self) -> None:
        lines = [
            {
                "item": f"i{at}",
                "categories": movie["categories"],
                "features": {"year": movie["year"]},
            }
            for at, movie in enumerate(self.world.items)
        ]
        self.client.upload("/v1/items", b"\n".join(map(msgspec.json.encode, lines)))
        with ThreadPoolExecutor(4) as pool, httpx.Client(base_url=self.client.url) as http:
            for answer in pool.map(partial(self._put_features, http), range(len(self.world.users))):
                answer.raise_for_status()
        training = np.flatnonzero(~self.cold & ~self.unrated)
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "ratings.csv"
            path.write_text(
                "user,item,rating,timestamp\n" + "\n".join(map(self._row, training.tolist())) + "\n"
            )
            self.client.wait_until_learned(send(self.client, path).sequence)

    def train(self, model: str, budget: float) -> dict[str, Any]:
        order = {"model": model, "budget_s": budget, "promote_unjudged": True}
        job = watch(self.client, self.client.post("/v1/retrain", order))
        if job["status"] != "succeeded":
            raise RuntimeError(f"{model}: {job['error']}")
        # An api process sees a promotion a moment later.
        threading.Event().wait(SEEN_S)
        return job

    def slates(self, users: I64, **asked: Any) -> list[Any]:
        def ask(user: int) -> Any:
            return self.client.get(f"/v1/users/u{user}/recommendations", k=DEPTH, **asked)

        with ThreadPoolExecutor(4) as pool:
            return list(pool.map(ask, users.tolist()))

    def stars(self, rows: I64) -> F64:
        expected: list[float] = []
        for at in range(0, rows.size, PAGE):
            part = rows[at : at + PAGE]
            users, items = self.world.user_ix[part].tolist(), self.world.item_ix[part].tolist()
            pairs = [{"user": f"u{u}", "item": f"i{i}"} for u, i in zip(users, items, strict=True)]
            body = {"pairs": pairs, "strategy": "ordinal"}
            answer = self.client.post("/v1/predictions", body)
            expected += [prediction["expected"] for prediction in answer["predictions"]]
        return np.array(expected)

    def _put_features(self, http: httpx.Client, user: int) -> httpx.Response:
        return http.put(f"/v1/users/u{user}", json={"features": self.world.users[user]})

    def _row(self, at: int) -> str:
        world = self.world
        return f"u{world.user_ix[at]},i{world.item_ix[at]},{world.value[at]:g},{world.seconds[at]}"


def users_figures(shop: Shop) -> Iterator[Figure]:
    """Yield the quality of slates for users without a history, against the items they like.

    Movies without ratings are excluded from what counts as liked.
    """
    world = shop.world
    liked = np.flatnonzero(shop.cold & ~shop.unrated & (world.value >= 4.0))
    truth = from_pairs(
        world.user_ix[liked],
        world.item_ix[liked],
        n_users=len(world.users),
        n_items=len(world.items),
    )
    held_out = shop.users[truth.user_counts[shop.users] > 0][:MOST_JUDGES]
    scores = {}
    for name in ("exmlds", "popular"):
        slates = shop.slates(held_out, model=name)
        ids = [[int(entry["item"][1:]) for entry in slate["items"]] for slate in slates]
        scores[name] = ndcg(hits(np.array(ids, np.int32), truth.rows(held_out)), DEPTH)
        served = sorted({slate["strategy"] for slate in slates})
        note = f"{held_out.size} users; strategy {', '.join(served)}"
        yield Figure(USERS, f"{name}: ndcg@{DEPTH}", float(scores[name].mean()), note=note)
    gain = 100.0 * (scores["exmlds"] - scores["popular"]) / scores["popular"].mean()
    low = float(gain.mean() - 1.96 * gain.std() / gain.size**0.5)
    yield Figure(USERS, "gain", float(gain.mean()), "%", 3.0, "higher")
    yield Figure(USERS, "low end of its 95 % interval", low, "%", 0.0, "higher")


def item_figures(shop: Shop) -> Iterator[Figure]:
    """Yield the quality of stars for unrated movies, and the size of such a movie's audience."""
    world = shop.world
    rows = np.flatnonzero(shop.unrated & ~shop.cold)
    rows = np.random.default_rng(0).permutation(rows)[:MOST_PAIRS]
    found = judged_items(shop.stars(rows), world.value[rows].astype(np.int64), world.user_ix[rows])
    for what in ("AUC of all ratings", "AUC within a user"):
        yield Figure(STARS, what, found[what], "", 0.5, "higher", f"{rows.size} pairs")
    item = int(shop.items[0])
    audience = shop.client.post("/v1/items/audience", {"item": f"i{item}", "k": DEPTH})
    yield Figure(STARS, "users found for an unrated movie", len(audience["users"]))


def figures(budget: float) -> Iterator[Figure]:
    environment = {"HEDGEROW_RETRAIN_AFTER_EVENTS": "0"}
    with (
        service.hedgerow(environment) as server,
        ServiceClient(f"http://{server.host}:{server.port}") as client,
    ):
        shop = Shop(client, movielens())
        shop.fill()
        for section, model in ((USERS, "exmlds"), (STARS, "ordinal")):
            job = shop.train(model, budget)
            note = f"{job['decision']['outcome']}: {job['decision']['reason']}"
            largest = job["metrics"]["peak_bytes"] / 1e6
            yield Figure(section, f"{model}: memory of its training", largest, "MB", note=note)
            yield from users_figures(shop) if model == "exmlds" else item_figures(shop)
            unasked = ", ".join({slate["strategy"] for slate in shop.slates(shop.users[:20])})
            what = "strategies of cold users when none is asked for"
            yield Figure(section, what, unasked.count(",") + 1, note=unasked)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--budget-s", type=float, default=15.0, help="seconds of each search")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    return publish(list(figures(options.budget_s)), as_json=options.json, data="ML-1M")


if __name__ == "__main__":
    sys.exit(main())
