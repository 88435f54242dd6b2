"""A story in which every operation answers, and most errors happen: a film shop's first day.

The first act is played by a whole service with its learner and trainer, the second by an api
process in the situations that a healthy service hides.
"""

import contextlib
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import msgspec

from service.limits import Limits
from service.settings import Settings
from service.store.connection import connect
from tests.api import JSON, NDJSON, Api, learning
from tests.openapi.recording import Recording
from tests.server import PrivateServer, wait_until
from tests.service.running import service
from tests.service.shop import activate

HEDGE, GATE = "tt0111161", "tt0068646"
"""The two films that the examples of requests name, too."""
FILMS = [
    {
        "item": (HEDGE, GATE)[n] if n < 2 else f"tt{n:07d}",
        "categories": ["film", "drama" if n % 2 else "comedy"],
        "features": {"title": f"The {name} Hedge", "year": 1984 + n},
        "available_from": "2026-11-01T00:00:00Z",
    }
    for n, name in enumerate(
        f"{a} {b}".strip()
        for b in ("", "Old", "Wild")
        for a in (
            "Long",
            "Green",
            "Last",
            "Low",
            "Wet",
            "High",
            "Far",
            "Red",
            "Thin",
            "Other",
            "First",
            "Grey",
        )
    )
]
USERS = [
    {"user": "ada" if n == 0 else f"user-{n:02}", "features": {"age": 20 + n, "likes": taste}}
    for n in range(60)
    for taste in [("comedy", "drama")[n % 2]]
]
FBGD = {"model": "fbgd", "parameters": {"factors": 8, "epochs": 2}, "budget_s": 0}
OTHERS = (
    {"model": "fbgd", "parameters": {"factors": 6, "epochs": 2}, "budget_s": 0},
    {"model": "exmlds", "parameters": {"factors": 4}, "budget_s": 0},
    {"model": "ordinal", "parameters": {"labelled": 500, "frequencies": 32}, "budget_s": 0},
)


def told(room: Path) -> Recording:
    """Live through the whole story; return what was received."""
    recording = Recording()
    patient: Any = {"wait_timeout_ms": 60_000, "min_sequence_wait_ms": 60_000}
    with service(room, limits=Limits(header_bytes=16_384), **patient) as running:
        hooks: Any = {"response": [recording.note]}
        with httpx.Client(base_url=running.url, timeout=180, event_hooks=hooks) as shop:
            wait_until(lambda: _plain(shop, "/readyz").is_success)
            for act in (_open, _describe, _rate, _train, _choose_models, _recommend, _look_back):
                act(shop)
            for act in (_experiment, _be_told, _wrong_requests, _delete, _lock):
                act(shop)
    _lonely_api(recording)
    return recording


def _plain(shop: httpx.Client, path: str) -> httpx.Response:
    """Ask without recording."""
    return httpx.get(f"{shop.base_url}".rstrip("/") + path, timeout=180)


def _until(shop: httpx.Client, path: str, holds: Callable[[Any], object]) -> None:
    wait_until(lambda: holds(_plain(shop, path).json()))


def _lines(rows: Any) -> bytes:
    return b"".join(msgspec.json.encode(row) + b"\n" for row in rows)


def _good(answer: httpx.Response, status: int = 200) -> Any:
    assert answer.status_code == status, answer.text
    return answer.json() if answer.headers["content-type"] == "application/json" else answer.text


# --- the first act: a whole service ---------------------------------------------------------------


def _open(shop: httpx.Client) -> None:
    _good(shop.get("/healthz"))
    _until(shop, "/readyz", lambda ready: ready["learning"])
    _good(shop.get("/readyz"))


def _describe(shop: httpx.Client) -> None:
    _good(shop.post("/v1/items", content=_lines([*FILMS, {"item": ""}]), headers=NDJSON))
    _good(shop.post("/v1/users", content=_lines(USERS), headers=NDJSON))
    _good(shop.put(f"/v1/items/{HEDGE}", json={k: v for k, v in FILMS[0].items() if k != "item"}))
    _good(shop.patch(f"/v1/items/{GATE}", json={"features": {"year": 1972}}))
    links = {"features": USERS[0]["features"], "links": [{"user": "user-02", "weight": 0.5}]}
    _good(shop.put("/v1/users/ada", json=links))
    _good(shop.patch("/v1/users/ada", json={"features": {"age": 31}}))
    _until(shop, "/v1/categories", lambda found: len(found["items"]) == 3)
    _good(shop.get("/v1/categories?limit=2"))
    for path in (f"/v1/items/{HEDGE}", "/v1/items?limit=2", "/v1/users/ada", "/v1/users?limit=2"):
        _good(shop.get(path))


def _rate(shop: httpx.Client) -> None:
    first = {"user": "ada", "item": HEDGE, "rating": 4.5, "timestamp": "2026-11-18T12:00:00Z"}
    _good(shop.post("/v1/events", json=[first, {**first, "rating": 11}]), 202)
    # each user knows half of the films, and likes those of one category
    rows = [
        {"user": user["user"], "item": film["item"], "rating": 5 if (u + f) % 2 == 0 else 2}
        for u, user in enumerate(USERS)
        for f, film in enumerate(FILMS[2:-2], 2)
        if (u * 7 + f * 3) % 5 < 3
    ]
    _good(shop.post("/v1/events/stream", content=_lines(rows), headers=NDJSON), 202)
    seen = {"user": "ada", "item": GATE, "rating": 4}
    _good(shop.post("/v1/events?wait=learned", json=seen))
    # by the earlier names
    _good(shop.post("/v1/ratings", json=first), 202)
    _good(shop.post("/v1/ratings?wait=learned", json=seen))
    _good(shop.post("/v1/ratings/stream", content=_lines(rows[:2]), headers=NDJSON), 202)
    _good(shop.get("/v1/users/ada/ratings?limit=3"))
    _good(shop.get(f"/v1/users/ada/predictions/{FILMS[-1]['item']}"))
    pairs = [{"user": "ada", "item": HEDGE}, {"user": "ada", "item": "new"}]
    _good(shop.post("/v1/predictions", json={"pairs": pairs}))


def _train(shop: httpx.Client) -> None:
    job = _good(shop.post("/v1/retrain", json=FBGD | {"promote_unjudged": True}), 202)["id"]
    assert _good(shop.post("/v1/retrain", json=FBGD | {"promote_unjudged": True}))["id"] == job
    _until_ended(shop, job)
    assert _good(shop.get(f"/v1/jobs/{job}"))["status"] == "succeeded"
    _good(shop.get(f"/v1/jobs/{job}/events"))
    for order in OTHERS:
        other = _good(shop.post("/v1/retrain", json=order | {"promote_unjudged": True}), 202)["id"]
        _until_ended(shop, other)
    spare = _good(shop.post("/v1/retrain", json=FBGD), 202)["id"]
    _good(shop.delete(f"/v1/jobs/{spare}"))
    _until_ended(shop, spare)
    _good(shop.get("/v1/jobs?limit=2"))
    _good(shop.get("/v1/retrain/schedule"))
    _good(shop.put("/v1/retrain/schedule", json={"cron": "0 4 * * *", "after_events": 100_000}))
    _good(shop.delete("/v1/retrain/schedule"))


def _until_ended(shop: httpx.Client, job: str) -> None:
    _until(shop, f"/v1/jobs/{job}", lambda one: one["ended"])


def _choose_models(shop: httpx.Client) -> None:
    _until(shop, "/v1/models", lambda models: len(models["served"]) == 3)
    models = _good(shop.get("/v1/models?limit=1"))
    newest = models["active"]["fbgd"]
    all_of_them = _plain(shop, "/v1/models?strategy=fbgd").json()["items"]
    older = next(one["version"] for one in all_of_them if one["version"] != newest)
    _good(shop.post(f"/v1/models/{older}/promote", json={"why": "fewer complaints"}))
    _good(shop.put(f"/v1/models/{older[:12]}/pin", json={"why": "for the weekend"}))
    assert shop.post(f"/v1/models/{newest}/promote").status_code == 409
    _good(shop.delete(f"/v1/models/{older[:12]}/pin?why=weekend"))
    _good(shop.post("/v1/models/rollback", json={"strategy": "fbgd", "why": "complaints"}))
    assert shop.post("/v1/models/rollback", json={"strategy": "ordinal"}).status_code == 409
    _good(shop.get("/v1/models/changes?limit=2"))
    _until(shop, "/v1/models", lambda now: newest in {one["version"] for one in now["served"]})


def _recommend(shop: httpx.Client) -> None:
    asked = {"model": "fbgd", "k": 2, "explain": True, "fields": "title,year"}
    asked["context"] = "device=phone"
    slate = _good(shop.get("/v1/users/ada/recommendations", params=asked))
    history = [{"item": HEDGE, "rating": 5}]
    _good(shop.post("/v1/recommendations", json={"history": history, "k": 2}))
    both = {"users": ["ada", ""], "model": "fbgd", "k": 1}
    _good(shop.post("/v1/recommendations/batch", json=both))
    _good(shop.post("/v1/rank", json={"user": "ada", "candidates": [HEDGE, GATE]}))
    for path in (f"/v1/items/{HEDGE}/similar", "/v1/users/ada/similar"):
        _good(shop.get(f"{path}?k=2"))
    _good(shop.post("/v1/items/audience", json={"item": HEDGE, "k": 2}))
    _good(shop.get("/v1/popular?k=2&fields=title"))
    _good(shop.get("/v1/trending?k=2&fields=title"))
    _good(shop.get("/v1/latest?k=2&fields=title"))
    shown = {"user": "ada", "item": slate["items"][0]["item"], "rec_id": slate["rec_id"]}
    rows = [shown | {"kind": kind} for kind in ("impression", "click")]
    _good(shop.post("/v1/events?wait=learned", json=rows))


def _experiment(shop: httpx.Client) -> None:
    arms = [
        {"name": "as-before", "share": 0.5},
        {"name": "varied", "share": 0.5, "parameters": {"diversity": 0.3}},
    ]
    begun = {"name": "more-variety", "arms": arms, "guardrail": {"kind": "click"}}
    _good(shop.post("/v1/experiments", json=begun), 201)
    rows = []
    for user in ("ada", "user-03", "user-04"):
        slate = _plain(shop, f"/v1/users/{user}/recommendations").json()
        shown = {"user": user, "item": slate["items"][0]["item"], "rec_id": slate["rec_id"]}
        rows += [shown | {"kind": kind} for kind in ("impression", "impression", "click")]
    shop.post("/v1/events?wait=learned", json=rows)
    one = "/v1/experiments/more-variety"
    _until(shop, one, lambda now: any(arm["impressions"] for arm in now["arms"]))
    _good(shop.get(one))
    _good(shop.get("/v1/experiments"))
    _good(shop.post(f"{one}/stop"))
    _good(shop.post(f"{one}/promote", json={"arm": "varied"}))
    _good(shop.delete(one))


def _be_told(shop: httpx.Client) -> None:
    wanted = {
        "url": "https://ops.example/hedgerow",
        "events": ["alarm.opened", "alarm.closed"],
        "name": "on call",
    }
    one = f"/v1/webhooks/{_good(shop.post('/v1/webhooks', json=wanted), 201)['id']}"
    _good(shop.post(f"{one}/test"), 202)
    _good(shop.get(f"{one}/deliveries"))
    _good(shop.get("/v1/webhooks"))
    _good(shop.delete(one))
    _good(shop.get("/v1/alarms"))


def _look_back(shop: httpx.Client) -> None:
    _until(
        shop, "/v1/stats/click-through", lambda now: now["slates"] and now["slates"][0]["clicks"]
    )
    _until(shop, "/v1/topics", lambda now: now["topics"])
    _until(shop, "/v1/rankers", lambda now: now["rankers"])
    for path in ("click-through", "contexts"):
        _good(shop.get(f"/v1/stats/{path}"))
    for path in ("/v1/stats", "/v1/topics", "/v1/rankers"):
        _good(shop.get(path))
    _good(shop.get("/v1/users/ada/topics"))
    _good(shop.get("/v1/experts"))
    _good(shop.get("/v1/experts/history?limit=1"))


def _wrong_requests(shop: httpx.Client) -> None:
    rating = {"user": "ada", "item": HEDGE, "rating": 4}
    recommendations = "/v1/users/ada/recommendations"
    key = {"idempotency-key": "of one body"}
    _good(shop.post("/v1/events", json=rating, headers=key), 202)
    wrong: list[tuple[str, str, dict[str, Any]]] = [
        ("GET", "/v1/items/never-seen", {}),
        ("GET", f"{recommendations}?colour=green", {}),
        ("GET", f"{recommendations}?exclude={'x' * 20_000}", {}),
        ("GET", f"{recommendations}?filter=year >", {}),
        ("GET", f"{recommendations}?cursor=x", {}),
        ("GET", f"{recommendations}?min_sequence=x", {}),
        ("GET", "/v1/items/%FF", {}),
        ("POST", "/v1/events", {"json": rating | {"rating": 11}}),
        ("POST", "/v1/events", {"json": rating | {"kind": "click"}}),
        ("POST", "/v1/events", {"json": rating | {"timestamp": "2999-01-01T00:00:00Z"}}),
        ("POST", "/v1/events", {"json": {"user": "ada", "item": HEDGE, "kind": "stared"}}),
        ("POST", "/v1/events", {"json": [rating | {"rating": 11}]}),
        ("POST", "/v1/events", {"json": rating | {"rating": 2}, "headers": key}),
        ("POST", "/v1/events", {"content": b'{"user": "ada"', "headers": JSON}),
        ("POST", "/v1/events", {"content": b"user=ada"}),
        ("PUT", f"/v1/items/{HEDGE}", {"content": b"\xff", "headers": JSON}),
        ("PUT", f"/v1/items/{HEDGE}", {"json": {}, "headers": {"if-match": '"77"'}}),
        (
            "PUT",
            f"/v1/items/{HEDGE}",
            {
                "json": {
                    "features": {f"f{n}": "x" * 1_000 for n in range(64)},
                    "categories": ["y" * 1_000],
                }
            },
        ),
        ("POST", "/v1/items", {"json": "a film"}),
        ("POST", "/v1/users/ada/merge", {"json": {"source": "ada"}}),
        ("PUT", "/v1/retrain/schedule", {"json": {"cron": "at four"}}),
        ("POST", "/v1/retrain", {"json": {"model": "crystal-ball"}}),
        ("POST", "/v1/webhooks", {"json": {"url": "https://10.0.0.1/hedgerow"}}),
    ]
    for method, path, more in wrong:
        answer = shop.request(method, path, **more)
        assert answer.is_client_error, (method, path, answer.text)


def _delete(shop: httpx.Client) -> None:
    _good(
        shop.post("/v1/events?wait=learned", json={"user": "visitor", "item": HEDGE, "rating": 5})
    )
    _good(shop.post("/v1/users/ada/merge", json={"source": "visitor"}))
    _good(shop.delete(f"/v1/users/ada/ratings/{GATE}"))
    _good(shop.delete(f"/v1/items/{GATE}"))
    _good(shop.get("/v1/users/user-02/export"))
    receipt = _good(shop.delete("/v1/users/user-02"))
    erasure = f"/v1/erasures/{receipt['erasure']}"
    _until(shop, erasure, lambda now: now["erased_from_disk"])
    _good(shop.get(erasure))


def _lock(shop: httpx.Client) -> None:
    admin = _good(shop.post("/v1/admin/keys", json={"role": "admin", "name": "operations"}), 201)
    bearer = {"authorization": f"Bearer {admin['secret']}"}
    reader = _good(
        shop.post("/v1/admin/keys", json={"role": "read", "name": "the shop"}, headers=bearer), 201
    )
    # another process reads the keys about once a second
    wait_until(lambda: shop.get("/v1/stats").status_code == 401)
    theirs = {"authorization": f"Bearer {reader['secret']}"}
    assert shop.get("/v1/admin/keys", headers=theirs).status_code == 403
    _good(shop.delete(f"/v1/admin/keys/{reader['id']}", headers=bearer))
    _good(shop.get("/v1/admin/keys", headers=bearer))
    _good(shop.get("/v1/audit?limit=3", headers=bearer))
    _good(shop.get("/v1/settings", headers=bearer))


# --- the second act: an api process alone ---------------------------------------------------------


def _lonely_api(recording: Recording) -> None:
    with tempfile.TemporaryDirectory() as room, PrivateServer(Path(room)) as store:
        for act in (_without_a_learner, _without_room, _with_other_experts, _with_many_models):
            act(recording, store.url)
        with _api(recording, store.url, "broken") as (api, ask):
            api.ready()
            api.app.state.intake = None
            ask("POST", "/v1/events", 500, json={"user": "ada", "item": HEDGE, "rating": 4})
        with (
            connect(store.url, role="story") as client,
            _api(recording, store.url, "emptied") as (api, ask),
        ):
            api.ready()
            ask("GET", "/v1/popular", 200)
            client.flushall()
            ask("POST", "/v1/events", 503, json={"user": "ada", "item": HEDGE, "rating": 4})
        with _api(recording, store.url, "gone") as (api, ask):
            api.ready()
            store.kill()
            ask("GET", "/v1/items", 503)


Ask = Callable[..., Any]


@contextlib.contextmanager
def _api(
    recording: Recording, url: str, namespace: str, **settings: Any
) -> Iterator[tuple[Api, Ask]]:
    with Api(Settings(namespace=namespace, **settings), url) as api:

        def ask(method: str, path: str, status: int, **more: Any) -> Any:
            answer = api(method, path, **more)
            recording.note(answer)
            return _good(answer, status)

        yield api, ask


def _without_a_learner(recording: Recording, url: str) -> None:
    brief = {"wait_timeout_ms": 1, "min_sequence_wait_ms": 1}
    with _api(recording, url, "alone", **brief) as (api, ask):
        for user in ("ada", "visitor"):
            sequence = api.rate(user, HEDGE, 4)
        ask("GET", f"/v1/users/ada/recommendations?min_sequence={sequence}", 503)
        ask("DELETE", f"/v1/users/ada/ratings/{HEDGE}", 202)
        ask("POST", "/v1/users/ada/merge", 202, json={"source": "visitor"})
        ask("DELETE", f"/v1/items/{HEDGE}", 202)
        ask("DELETE", "/v1/users/ada", 202)


def _without_room(recording: Recording, url: str) -> None:
    with _api(recording, url, "small", max_items=2, log_max_bytes=1 << 16) as (api, ask):
        rows = [{"user": "ada", "item": HEDGE, "rating": 4}] * 4_000
        api("POST", "/v1/items", content=_lines(FILMS[:2]), headers=NDJSON)
        ask("PUT", f"/v1/items/{FILMS[2]['item']}", 422, json={})
        api("POST", "/v1/events", json=rows)
        ask("POST", "/v1/events", 503, json=rows)


def _with_other_experts(recording: Recording, url: str) -> None:
    settings = Settings(namespace="others", min_sequence_wait_ms=60_000)
    with learning(settings, url), Api(settings, url) as api:
        sequence = api.rate("ada", HEDGE, 4)
        assert api("GET", f"/v1/users/ada/predictions/{HEDGE}?min_sequence={sequence}").is_success
    with _api(recording, url, "others", experts="paper") as (api, ask):
        wait_until(lambda: "kernels" not in api("GET", "/readyz").json()["missing"])
        ask("GET", "/readyz", 503)


def _with_many_models(recording: Recording, url: str) -> None:
    settings = Settings(namespace="many", min_sequence_wait_ms=60_000)
    with learning(settings, url), _api(recording, url, "many") as (api, ask):
        for n in range(8):
            sequence = api.rate("ada", f"i{n}", 1 + n % 5)
        path, asked = "/v1/users/ada/recommendations", {"model": "fbgd", "exclude_seen": False}
        api("GET", path, params={"min_sequence": sequence})
        activate(api, url, n_items=8)
        cursor = api("GET", path, params=asked | {"k": 2}).json()["next_cursor"]
        for seed in range(1, 10):
            activate(api, url, n_items=8, seed=seed)
            api("GET", path, params=asked)
        ask("GET", path, 410, params=asked | {"k": 2, "cursor": cursor})
