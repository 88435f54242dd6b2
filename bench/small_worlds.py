"""Small communities through the whole service: what the default lists find, and popularity.

    python -m bench.small_worlds [--only 80] [--seeds 2] [--second] [--json]

Each world is sent to an empty service, with the documents of its items; then nothing is ordered.
The last item of each user is held out. With ``--second``, as many events as before follow, and the
second training is waited for. Takes about a minute a world.
"""

import argparse
import sys
import threading
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any, Literal

import numpy as np

from bench import service
from bench.report import Figure, publish
from core.mixture_weights import ndcg10
from core.types import F64
from service.cli.clients.next_training import wait_for_lists
from service.client import ServiceClient, ndjson, segment

Kinds = Literal["mixed", "views", "ratings"]
GOODS = ("shoes", "lamps", "teas", "games", "ropes")
COLOURS = ("red", "blue", "green")
BEGAN = datetime(2026, 3, 1, tzinfo=UTC)
LOYALTY = 0.9
"""Share of a user's items that are of the own taste, where there is another one."""
SETTLE_S = 5.0
"""Seconds until the follower has read what a training foretells."""
_PAUSE = threading.Event()
SKEW = 0.5
"""Exponent by which items of one taste differ in popularity."""


@dataclass(frozen=True)
class SmallWorld:
    """Users of some tastes, each of whom likes one kind of goods, as the seed determines."""

    n_users: int
    n_items: int
    n_tastes: int
    kinds: Kinds = "mixed"
    each: float = 4.5
    """Mean number of different items of a user, at least three; the last one is held out."""
    seed: int = 0
    loyalty: float = LOYALTY

    @property
    def name(self) -> str:
        return f"{self.n_users} users, {self.n_tastes} tastes, {self.kinds}"

    @property
    def users(self) -> list[str]:
        return [f"user-{n:03}" for n in range(self.n_users)]

    def documents(self) -> list[dict[str, Any]]:
        """Return the documents of all items: the category tells the taste."""
        rng = np.random.default_rng([self.seed, 1])
        return [
            {
                "item": f"item-{n:03}",
                "categories": [GOODS[n % self.n_tastes]],
                "features": {
                    "price": int(rng.integers(5, 100)),
                    "colour": COLOURS[int(rng.integers(len(COLOURS)))],
                },
            }
            for n in range(self.n_items)
        ]

    def told(self) -> "Told":
        """Return the events in the order of time, and the items that are held out."""
        rng = np.random.default_rng([self.seed, 2])
        rows: list[tuple[float, dict[str, Any]]] = []
        held: dict[str, str] = {}
        for at, user in enumerate(self.users):
            items = self._items_of(at % self.n_tastes, rng)
            held[user] = f"item-{items.pop():03}"
            for day, item in zip(np.sort(rng.uniform(0, 30, len(items))), items, strict=True):
                rows += [
                    (day + n / 1_000, {"user": user, "item": f"item-{item:03}", **event})
                    for n, event in enumerate(self._events(item % self.n_tastes, at, rng))
                ]
        rows.sort(key=lambda row: row[0])
        return Told([row | {"timestamp": _moment(day)} for day, row in rows], held)

    def chances(self, taste: int) -> F64:
        """Return how likely each item is to be the first of a user with this taste."""
        items = np.arange(self.n_items)
        likely: F64 = 1.0 / (1 + items // self.n_tastes) ** SKEW
        own = items % self.n_tastes == taste
        if self.n_tastes > 1:
            likely = np.where(own, self.loyalty, 1.0 - self.loyalty) * likely
            likely[own] /= likely[own].sum() / self.loyalty
            likely[~own] /= likely[~own].sum() / (1.0 - self.loyalty)
        return likely / likely.sum()

    def share_of(self, taste: int, of: int) -> float:
        """Return how likely the first item of a user with a taste is of this or another one."""
        if self.n_tastes == 1:
            return 1.0
        return self.loyalty if taste == of else (1.0 - self.loyalty) / (self.n_tastes - 1)

    def _items_of(self, taste: int, rng: np.random.Generator) -> list[int]:
        likely = self.chances(taste)
        n = min(3 + int(rng.poisson(self.each - 3)), self.n_items)
        return rng.choice(self.n_items, n, replace=False, p=likely).tolist()

    def _events(self, taste: int, user: int, rng: np.random.Generator) -> list[dict[str, Any]]:
        if self.kinds == "ratings":
            likes = taste == user % self.n_tastes
            return [{"rating": int(rng.integers(4, 6) if likes else rng.integers(1, 4))}]
        kinds = ["view"]
        if self.kinds == "mixed":
            kinds += ["click"] * bool(rng.random() < 0.4) + ["purchase"] * bool(rng.random() < 0.2)
        return [{"kind": kind} for kind in kinds]


@dataclass(frozen=True)
class Told:
    """What a service is told of a world, and what it is not."""

    events: list[dict[str, Any]]
    held: dict[str, str] = field(default_factory=dict)
    """The held-out item of each user."""


def _moment(day: float) -> str:
    return (BEGAN + timedelta(days=day)).isoformat()


WORLDS = (
    SmallWorld(6, 12, 2, "ratings", 5),
    SmallWorld(6, 12, 1),
    SmallWorld(20, 24, 2),
    SmallWorld(20, 24, 2, "ratings", 6),
    SmallWorld(80, 36, 2),
    SmallWorld(80, 36, 1),
    SmallWorld(80, 60, 5, "views", 6),
    SmallWorld(80, 36, 2, "ratings", 6),
    SmallWorld(200, 60, 2, "views"),
    SmallWorld(200, 100, 5, "mixed", 6),
)


def slates_ndcg(client: ServiceClient, held: dict[str, str], **parameters: Any) -> float:
    """Return ndcg@10 of lists of ten for the held-out items."""
    gains = []
    for user, item in held.items():
        path = f"/v1/users/{segment(user)}/recommendations"
        found = [one["item"] for one in client.get(path, k=10, **parameters)["items"]]
        gains.append(ndcg10(found.index(item) + 1 if item in found else 0))
    return float(np.mean(gains))


def send(client: ServiceClient, events: list[dict[str, Any]]) -> None:
    """Send events, and wait until they are learned and the training that follows has ended."""
    client.wait_until_learned(client.upload("/v1/ratings/stream", ndjson(events)).sequence)


def figures(worlds: Iterable[SmallWorld], *, second: bool) -> Iterator[Figure]:
    for world in worlds:
        told = world.told()
        with (
            service.hedgerow({"HEDGEROW_TRAINER_NICE": "0"}) as server,
            ServiceClient(f"http://{server.host}:{server.port}") as client,
        ):
            client.upload("/v1/items", ndjson(world.documents()))
            send(client, told.events)
            job = wait_for_lists(client)
            yield from _measured(client, world, told, job, "first training")
            if second:
                for n in (1, 2):
                    more = SmallWorld(**{**vars(world), "seed": world.seed + 1_000 * n}).told()
                    send(client, [row | {"user": f"{row['user']}-{n}"} for row in more.events])
                yield from _measured(client, world, told, wait_for_lists(client), "second training")


def _measured(
    client: ServiceClient, world: SmallWorld, told: Told, job: dict[str, Any] | None, when: str
) -> Iterator[Figure]:
    _PAUSE.wait(SETTLE_S)
    popular = slates_ndcg(client, told.held, model="popular")
    default = slates_ndcg(client, told.held)
    section, n = f"{world.name}, seed {world.seed}", len(told.events)
    yield Figure(section, f"popularity after the {when}", popular, note=f"{n} events")
    yield Figure(section, f"default lists after the {when}", default, note=_says(client, job))
    for one in (job or {"tried": []})["tried"]:
        if one["version"]:
            own = slates_ndcg(client, told.held, model=one["strategy"])
            decision = one["decision"]
            yield Figure(section, one["model"], own, note=f"{decision['outcome']}: {one['why']}")


def _says(client: ServiceClient, job: dict[str, Any] | None) -> str:
    """Return what answers, and what the training said."""
    rankers = client.get("/v1/rankers")
    weights = ", ".join(f"{one['name']} {one['weight']:.2f}" for one in rankers["rankers"])
    arms = ", ".join(f"{one['name']} {one['weight']:.2f}" for one in rankers["arms"])
    reason = "nothing trained" if job is None else job["error"] or job["decision"]["reason"]
    return f"{reason}; weights {weights}; arms {arms}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", type=int, help="worlds of so many users")
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--second", action="store_true", help="go on to a second training")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    worlds = [
        SmallWorld(**{**vars(world), "seed": seed})
        for world in WORLDS
        for seed in range(options.seeds)
        if options.only in {None, world.n_users}
    ]
    found = list(figures(worlds, second=options.second))
    return publish(found, as_json=options.json, data="generated worlds")


if __name__ == "__main__":
    sys.exit(main())
