"""No slate mixes two versions while models are promoted, rolled back and pruned under load."""

import itertools
import threading
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest

from core.batch.snapshot import of_objective
from core.mixture import SMOOTH
from core.mixture_weights import DEPTH
from service.processes.child import ServiceProcess
from service.store.connection import connect
from service.store.models.records import LEAD
from service.store.models.registry import Registry
from service.store.server.embedded import running_server
from tests.models import objective, published
from tests.server import wait_until
from tests.service.running import activations, service

pytestmark = pytest.mark.flow

N, FACTORS, K = 200, 8, 12
LIKED = {3: 5.0, 5: 4.0, 8: 5.0}
PROCESSES, MODELS, SWAPS, CLIENTS = 2, 4, 12, 4
MIXED_SWAPS = 6
PATH = "/v1/users/ada/recommendations"


@pytest.fixture
def running(room: Path) -> Iterator[ServiceProcess]:
    with service(room, api_processes=PROCESSES, trainer=False) as whole:
        with whole.client() as client:
            client.wait_until_ready()
            rows = [{"user": "everybody", "item": f"i{n}", "rating": 5} for n in range(N)]
            rows += [{"user": "ada", "item": f"i{n}", "rating": r} for n, r in LIKED.items()]
            client.wait_until_learned(client.post("/v1/ratings", rows)["sequence"])
        yield whole


@pytest.fixture
def registry(running: ServiceProcess) -> Iterator[Registry]:
    with connect(str(running_server(running.log.parent)), role="test") as client:
        yield Registry(client, "main")


class Shelf:
    """The published models and the answer expected of each: all items for ada, best first."""

    def __init__(self, registry: Registry) -> None:
        self._registry, self._seeds = registry, itertools.count()
        self.versions: list[str] = []
        self.answers: dict[str, list[tuple[str, float]]] = {}

    def add(self) -> str:
        """Publish one more model and return its version."""
        model = objective(N, FACTORS, seed=next(self._seeds))
        cuts = {"trained_through": {"0": 1}}
        made = of_objective("fbgd", model, settings={}, metrics={}, cuts=cuts)
        scores = model.item_factors @ model.vector(np.array(sorted(LIKED), np.int32))
        order = sorted(set(range(N)) - LIKED.keys(), key=lambda item: -scores[item])
        self.answers[made.version] = [(f"i{item}", float(scores[item])) for item in order]
        self.versions.append(published(self._registry, made).version)
        return made.version


class Reader(threading.Thread):
    """Reads two pages again and again and compares them with the model that they name."""

    def __init__(self, url: str, shelf: Shelf) -> None:
        super().__init__()
        self._url, self._shelf = url, shelf
        self.stop = threading.Event()
        self.seen: Counter[str] = Counter()
        self.pages: Counter[str] = Counter()
        self.wrong: list[str] = []

    def run(self) -> None:
        # a new connection for each pair of pages, so that either process may answer
        while not self.stop.is_set():
            with httpx.Client(base_url=self._url, timeout=180) as client:
                first = self._page(client)
            with httpx.Client(base_url=self._url, timeout=180) as client:
                self._page(client, after=first)

    def _page(self, client: httpx.Client, after: Any = None) -> Any:
        parameters: dict[str, Any] = {"model": "fbgd", "k": K}
        if after is not None:
            parameters["cursor"] = after["next_cursor"]
        answer = client.get(PATH, params=parameters)
        slate = answer.json()
        if after is not None and answer.status_code == 410:
            self.pages[slate["code"]] += 1
            return None
        if answer.status_code != 200:
            self.wrong.append(answer.text)
            return None
        self._compare(slate, after)
        return slate

    def _compare(self, slate: Any, after: Any) -> None:
        version = slate["model_version"]
        self.seen[version] += 1
        start = 0 if after is None else K
        expected = self._shelf.answers[version][start : start + K]
        got = [(entry["item"], entry["score"]) for entry in slate["items"]]
        if [item for item, _ in got] != [item for item, _ in expected] or not np.allclose(
            [score for _, score in got], [score for _, score in expected], atol=1e-4
        ):
            self.wrong.append(f"{version}: {got} instead of {expected}")
        if slate["models"] != {"fbgd": version}:
            self.wrong.append(f"{version} comes with {slate['models']}")
        if after is not None:
            self.pages["same" if version == after["model_version"] else "other"] += 1


def test_no_slate_mixes_two_models_while_they_are_swapped(
    running: ServiceProcess, registry: Registry
) -> None:
    shelf = Shelf(registry)
    with running.client() as client:
        client.post(f"/v1/models/{shelf.add()}/promote", {"why": "the first"})
        wait_until(lambda: activations(running) == PROCESSES)
        readers = [Reader(running.url, shelf) for _ in range(CLIENTS)]
        for reader in readers:
            reader.start()
        try:
            for swap in range(1, SWAPS + 1):
                before = registry.active()["fbgd"]
                if swap % 4:
                    version = shelf.add() if len(shelf.versions) < MODELS else other(shelf, before)
                    client.post(f"/v1/models/{version}/promote", {"why": f"swap {swap}"})
                else:
                    version = client.post("/v1/models/rollback", {"why": f"swap {swap}"})["version"]
                asked = seen_by(readers, version)
                # the version answers under load before the next swap
                wait_until(lambda: seen_by(readers, version) > asked + CLIENTS)  # noqa: B023
        finally:
            for reader in readers:
                reader.stop.set()
            for reader in readers:
                reader.join()
    assert [wrong for reader in readers for wrong in reader.wrong] == []
    pages = sum((reader.pages for reader in readers), Counter())
    assert pages["other"] == 0
    assert pages["same"] > SWAPS
    assert len(registry.changes(100)) == SWAPS + 1
    files = {path.name for path in (running.log.parent / "snapshots").iterdir()}
    assert files - {".lock"} <= shelf.answers.keys()


class Mixed:
    """Models of two strategies, and the default slate expected of any two with equal weights."""

    def __init__(self, registry: Registry) -> None:
        self._registry = registry
        self._ranks: dict[str, dict[str, int]] = {}
        self.versions: dict[str, list[str]] = {"fbgd": [], "ocmf": []}

    def add(self, strategy: str) -> str:
        """Publish one more model of a strategy and return its version."""
        seed = 100 + len(self._ranks)
        model, cuts = objective(N, FACTORS, seed=seed), {"trained_through": {"0": 1}}
        made = of_objective(strategy, model, settings={}, metrics={LEAD: 0.1}, cuts=cuts)
        scores = model.item_factors @ model.vector(np.array(sorted(LIKED), np.int32))
        order = sorted(set(range(N)) - LIKED.keys(), key=lambda item: -scores[item])
        self._ranks[made.version] = {f"i{y}": rank for rank, y in enumerate(order[:DEPTH], 1)}
        self.versions[strategy].append(published(self._registry, made, strategy=strategy).version)
        return made.version

    def fault(self, slate: Any) -> str | None:
        """Return the fault of a slate that names its two models, None if there is none."""
        if slate["models"].keys() != self.versions.keys():
            return f"made of {slate['models']}"
        sums: Counter[str] = Counter()
        for version in slate["models"].values():
            for item, rank in self._ranks[version].items():
                sums[item] += 1 / (SMOOTH + rank)  # type: ignore[assignment]
        got = {entry["item"]: entry["score"] for entry in slate["items"]}
        first = max(got.values()) / max(sums.values())
        alike = all(abs(score / first - sums[item]) < 1e-5 for item, score in got.items())
        best = sorted(sums.values())[-K:]
        same = np.allclose(sorted(sums[item] for item in got), best, atol=1e-6)
        return None if alike and same else f"{slate['models']}: {got}"


def test_no_mixture_holds_two_versions_of_a_strategy_while_both_are_swapped(
    running: ServiceProcess, registry: Registry
) -> None:
    mixed, seen, wrong = Mixed(registry), Counter[str](), list[str]()
    stop = threading.Event()

    def slate() -> Any:
        return httpx.get(f"{running.url}{PATH}", params={"k": K}, timeout=180).json()

    def read() -> None:
        while not stop.is_set():
            made = slate()
            seen.update(made["models"].values())
            if (fault := mixed.fault(made)) is not None:
                wrong.append(fault)

    with running.client() as client:
        for strategy in mixed.versions:
            client.post(f"/v1/models/{mixed.add(strategy)}/promote", {"why": "the first"})

        def weighed() -> set[str]:
            return {one["name"] for one in client.get("/v1/rankers")["rankers"]}

        wait_until(lambda: mixed.versions.keys() <= weighed())
        # each process has both models and their equal weights
        wait_until(lambda: all(mixed.fault(slate()) is None for _ in range(8 * PROCESSES)))
        readers = [threading.Thread(target=read) for _ in range(CLIENTS)]
        for reader in readers:
            reader.start()
        try:
            for swap in range(MIXED_SWAPS):
                strategy = ("fbgd", "ocmf")[swap % 2]
                version = mixed.add(strategy) if swap < 4 else mixed.versions[strategy][0]
                client.post(f"/v1/models/{version}/promote", {"why": f"swap {swap}"})
                asked = seen[version]
                wait_until(lambda: seen[version] > asked + CLIENTS)  # noqa: B023
        finally:
            stop.set()
            for reader in readers:
                reader.join()
    assert wrong == []


def seen_by(readers: list[Reader], version: str) -> int:
    """Return how many pages of this version the readers have seen."""
    return sum(reader.seen[version] for reader in readers)


def other(shelf: Shelf, active: str) -> str:
    """Return the version after this one; after the last comes the first."""
    at = shelf.versions.index(active)
    return shelf.versions[(at + 1) % len(shelf.versions)]
