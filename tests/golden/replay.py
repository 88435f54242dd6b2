"""Replays MovieLens 100K through a whole service and digests all results.

    python -m tests.golden.replay            print the figures of this commit as JSON
    python -m tests.golden.replay --record   write them to figures.json

Uses only interfaces that every version has: the command line, HTTP and the keys of
``service/store/keys.py``.
"""

import contextlib
import csv
import gzip
import hashlib
import json
import os
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterable, Iterator, Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any

import httpx
import llvmlite.binding as llvm
import numpy as np
import redis

from tests.server import PrivateServer

DATA = Path(__file__).resolve().parents[3] / "shared" / "data" / "ml-100k"
FIGURES = Path(__file__).with_name("figures.json")
SETTINGS = {
    "HEDGEROW_TRAINER_THREADS": "1",
    "HEDGEROW_TRAINER_NICE": "0",
    "HEDGEROW_JUDGED_PER_S": "0",
    "HEDGEROW_ONLINE_SNAPSHOT_S": "0.2",
    "HEDGEROW_RETRAIN_AFTER_EVENTS": "0",
    "HEDGEROW_MIN_SEQUENCE_WAIT_MS": "60000",
    "HEDGEROW_EXPLORATION_SHARE": "0",
    "HEDGEROW_STORE_PATIENCE_MS": "5000",
}
"""Settings for reproducible bits: one thread, no search, no judge that depends on the time, and no
new items, which depend on the hour. A store that waits for a processor is not away."""
ORDERS: Mapping[str, Mapping[str, Any]] = {
    "fbgd": {"factors": 32, "epochs": 4, "shrinkage": 1.0},
    "ocmf-lr-wsq": {"factors": 16, "rounds": 2, "shrinkage": 0.0},
    "exmlds": {"factors": 16},
    "ordinal": {"labelled": 500, "unlabelled": 200, "frequencies": 32},
}
"""Models to train, each with the settings that are not searched."""
STRATEGIES = ("fbgd", "ocmf", "exmlds", "ordinal", "online", "mixture", "popular", "trending")
USERS_EACH = 25
"""Users per strategy; 200 slates in all."""
EVALUATED = {
    "fbgd": ("factors=16", "epochs=3", "shrinkage=0"),
    "mf": ("factors=8", "epochs=3"),
    "svdfeature": ("factors=8", "epochs=2"),
    "pitf": ("factors=8", "epochs=2"),
    "cp": ("factors=8", "epochs=2"),
    "ocmf-lr-wsq": ("factors=8", "rounds=2", "shrinkage=0"),
    "ocmf-sq-sq": ("factors=8", "rounds=2", "shrinkage=0"),
    "popular": (),
}
PATIENCE_S = 300.0


def machine() -> str:
    """Return the processor and the compiling libraries, which decide the last bits of a sum."""
    libraries = " ".join(f"{name} {version(name)}" for name in ("numba", "numpy", "scipy"))
    return f"{llvm.get_host_cpu_name()} {libraries}"


def figures() -> dict[str, Any]:
    """Return digests of all results of the service, and slates to compare on other machines."""
    with tempfile.TemporaryDirectory(prefix="hr-") as room, _store(Path(room)) as url:
        environment = _environment() | {"HEDGEROW_REDIS_URL": url, "HEDGEROW_DATA_DIR": room}
        with _service(environment, Path(room)) as client:
            _write_data(client)
            versions = [_train(client, model, stated) for model, stated in ORDERS.items()]
            _until_weighed(client, versions)
        # a new process has read the weights of the mixture before its first answer
        with _service(environment, Path(room)) as client:
            _wait(lambda: all(_serves(client, name) for name in STRATEGIES if name != "mixture"))
            slates = _slates(client)
        with redis.Redis.from_url(url) as store:
            digests = _state(store) | _models(store)
    digests["slates"] = _digest([json.dumps(slates, sort_keys=True).encode()])
    evaluated = _evaluated()
    digests["evaluated"] = _digest([json.dumps(evaluated, sort_keys=True).encode()])
    shown = {name: [" ".join(row["items"]) for row in rows] for name, rows in slates.items()}
    return {"digests": digests, "slates": shown, "evaluated": evaluated}


def _write_data(client: httpx.Client) -> None:
    """Write documents of all items and users, then all ratings in file order."""
    ndjson = {"content-type": "application/x-ndjson"}
    movies = [
        {
            "item": row["item"],
            "categories": [name for name in row["genres"].split("|") if name],
            "features": {"year": int(row["release_date"][-4:] or 0)},
        }
        for row in _rows("movies")
    ]
    users = [
        {
            "user": row["user"],
            "features": {
                "age": int(row["age"]),
                "gender": row["gender"],
                "occupation": row["occupation"],
            },
        }
        for row in _rows("users")
    ]
    for path, documents in (("/v1/items", movies), ("/v1/users", users)):
        body = "\n".join(map(json.dumps, documents))
        client.post(path, content=body, headers=ndjson).raise_for_status()
    ratings = [
        {
            "user": row["user"],
            "item": row["item"],
            "rating": int(row["rating"]),
            "timestamp": int(row["timestamp"]),
        }
        for row in _rows("ratings")
    ]
    answer: Any = None
    for at in range(0, len(ratings), 10_000):
        answer = client.post("/v1/ratings", json=[_dated(row) for row in ratings[at : at + 10_000]])
        answer.raise_for_status()
    _until_learned(client, answer.json()["sequence"])


def _dated(row: dict[str, Any]) -> dict[str, Any]:
    moment = np.datetime64(row["timestamp"], "s").item()
    return {**row, "timestamp": f"{moment.isoformat()}Z"}


def _until_learned(client: httpx.Client, sequence: str) -> None:
    """Wait until the learner and the lists of the online model have seen the last event."""
    path = "/v1/users/1/recommendations"
    client.get(path, params={"min_sequence": sequence}).raise_for_status()

    def seen() -> bool:
        answer = client.get(path, params={"model": "online", "k": 1}).json()
        return bool(
            answer["strategy"] == "online" and answer["trained_through"] == answer["seen_through"]
        )

    _wait(seen)


def _train(client: httpx.Client, model: str, parameters: Mapping[str, Any]) -> str:
    """Train a model and wait until it serves; return its version."""
    order = {"model": model, "parameters": parameters, "budget_s": 0, "promote_unjudged": True}
    answer = client.post("/v1/retrain", json=order)
    answer.raise_for_status()
    job = answer.json()["id"]
    _wait(lambda: _job(client, job)["status"] in {"succeeded", "failed", "cancelled"})
    ended = _job(client, job)
    if ended["status"] != "succeeded" or ended["decision"]["outcome"] != "promoted":
        raise RuntimeError(f"{model}: {ended['error'] or ended['decision']}")
    strategy = model.split("-", maxsplit=1)[0]

    def serves() -> bool:
        answer = client.get("/v1/users/1/recommendations", params={"model": strategy, "k": 1})
        return bool(answer.json()["model_version"] == ended["version"])

    _wait(serves)
    return str(ended["version"])


def _until_weighed(client: httpx.Client, versions: Iterable[str]) -> None:
    """Wait until the follower has written weights for all of these models that it judges."""
    judged = set(versions[:2]) | {versions[-1]}
    _wait(
        lambda: (
            judged <= {one["model_version"] for one in client.get("/v1/rankers").json()["rankers"]}
        )
    )


def _serves(client: httpx.Client, strategy: str) -> bool:
    path = "/v1/users/1/recommendations"
    answer = client.get(path, params={"model": strategy, "k": 1}).json()
    return bool(answer["strategy"] == strategy and answer["items"])


def _job(client: httpx.Client, job: str) -> Any:
    return client.get(f"/v1/jobs/{job}").json()


def _slates(client: httpx.Client) -> dict[str, list[Any]]:
    """Return explained slates of each strategy, and the items similar to some items."""
    users = [row["user"] for row in _rows("users")][:: 943 // USERS_EACH][:USERS_EACH]
    found: dict[str, list[Any]] = {}
    for strategy in STRATEGIES:
        wanted = {"model": strategy, "k": "10", "explain": "true"}
        found[strategy] = [
            _shown(client.get(f"/v1/users/{user}/recommendations", params=wanted)) for user in users
        ]
    found["default"] = [_shown(client.get(f"/v1/users/{user}/recommendations")) for user in users]
    found["described"] = [
        _shown(client.post("/v1/recommendations", json={"features": one, "k": 10}))
        for one in ({"age": 24, "gender": "M"}, {"occupation": "artist"})
    ]
    found["similar"] = [_shown(client.get(f"/v1/items/{item}/similar")) for item in range(1, 26)]
    return found


def _shown(answer: httpx.Response) -> dict[str, Any]:
    body = answer.raise_for_status().json()
    rows = body["items"]
    return {
        "items": [row["item"] for row in rows],
        "rows": [[row["score"], row["strategy"], row.get("because")] for row in rows],
        "strategy": body["strategy"],
    }


def _state(store: Any) -> dict[str, str]:
    """Return digests of the state that the learner has committed."""
    families = {
        "histories": "history:",
        "user rows": "user:0:",
        "item rows": "item:0:",
        "counts": "counts:0",
    }
    found = {
        name: _digest(_pairs(store, f"hr:{{main.0}}:{prefix}*"))
        for name, prefix in families.items()
    }
    shared = store.hgetall("hr:{main.0}:online:0")
    parts = (part for name in sorted(shared) for part in (name, shared[name]))
    found["online state"] = _digest(parts)
    return found


def _pairs(store: Any, pattern: str) -> Iterator[bytes]:
    for key in sorted(store.scan_iter(pattern, count=1_000)):
        yield key
        yield store.get(key)


def _models(store: Any) -> dict[str, str]:
    """Return a digest of each trained model's arrays."""
    found = {}
    for model in store.zrange("hr:{main}:models", 0, -1):
        stored = store.hgetall(f"hr:{{main}}:model:{model.decode()}")
        chunks = range(int(stored[b"chunks"]))
        keys = [f"hr:{{main}}:model-chunk:{stored[b'upload'].decode()}:{at}" for at in chunks]
        strategy = stored[b"strategy"].decode()
        found[f"{strategy} arrays"] = _digest(store.mget(keys))
    return found


def _evaluated() -> dict[str, Any]:
    """Return the metrics of ``hedgerow eval topk`` for models with fixed settings."""
    with tempfile.TemporaryDirectory() as room:
        train, test = Path(room) / "train.csv", Path(room) / "test.csv"
        rows = ["{user},{item},{rating},{timestamp}".format(**row) for row in _rows("ratings")]
        header = "user,item,rating,timestamp"
        train.write_text("\n".join([header, *[r for at, r in enumerate(rows) if at % 10]]))
        test.write_text("\n".join([header, *rows[::10]]))
        return {name: _eval_topk(name, stated, train, test) for name, stated in EVALUATED.items()}


def _eval_topk(model: str, settings: Iterable[str], train: Path, test: Path) -> dict[str, Any]:
    stated = [word for one in settings for word in ("--set", one)]
    words = ["eval", "topk", str(train), str(test), "--model", model, "--budget-s", "0", "--json"]
    done = subprocess.run(
        [sys.executable, "-m", "service.cli", *words, *stated],
        env=_environment() | {"NUMBA_NUM_THREADS": "1"},
        capture_output=True,
        check=True,
        text=True,
    )
    report = json.loads(done.stdout)
    return {name: value for name, value in report.items() if "@" in name}


def _digest(parts: Iterable[bytes]) -> str:
    digest = hashlib.sha256()
    for part in parts:
        digest.update(len(part).to_bytes(8))
        digest.update(part)
    return digest.hexdigest()[:16]


def _rows(name: str) -> list[dict[str, str]]:
    with gzip.open(DATA / f"{name}.csv.gz", "rt", encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def _environment() -> dict[str, str]:
    others = {name: value for name, value in os.environ.items() if not name.startswith("HEDGEROW_")}
    return others | SETTINGS


@contextlib.contextmanager
def _store(room: Path) -> Iterator[str]:
    with PrivateServer(room / "store", "os") as server:
        yield server.url


@contextlib.contextmanager
def _service(environment: Mapping[str, str], room: Path) -> Iterator[httpx.Client]:
    """Run the whole service on a port that the system chooses."""
    command = [sys.executable, "-m", "service.cli", "serve", "--port", "0"]
    with (room / "serve.log").open("wb") as log:
        process = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=log)
        assert process.stdout is not None
        try:
            url = process.stdout.readline().decode().split()[-1]
            with httpx.Client(base_url=url, timeout=PATIENCE_S) as client:
                _wait(lambda: client.get("/readyz").is_success)
                yield client
        except BaseException:
            sys.stderr.write((room / "serve.log").read_text()[-3_000:])
            raise
        finally:
            process.terminate()
            process.wait(180)
            process.stdout.close()


def _wait(condition: Any) -> None:
    pause = threading.Event()
    for _ in range(int(PATIENCE_S / 0.05)):
        if condition():
            return
        pause.wait(0.05)
    raise TimeoutError(f"the condition was not met within {PATIENCE_S:.0f} s")


def record() -> None:
    """Write the figures of this commit to figures.json, next to the digests of other machines."""
    known = json.loads(FIGURES.read_text()) if FIGURES.exists() else {"digests": {}}
    made = figures()
    known["digests"][machine()] = made.pop("digests")
    FIGURES.write_text(json.dumps({**known, **made}, indent=1) + "\n")


if __name__ == "__main__":
    if "--record" in sys.argv:
        record()
    else:
        print(json.dumps({"machine": machine(), **figures()}, indent=1))  # noqa: T201
