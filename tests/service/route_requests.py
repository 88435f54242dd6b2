"""A request that each route accepts."""

import re
from collections.abc import Callable
from typing import Any

import httpx

from tests.api import NDJSON

IDS = {"key": "0123456789ab", "job": "0123456789abcdef", "erasure": "0123456789abcdef0123"}
"""Where not any text will do."""
BODIES: dict[str, Any] = {
    "/v1/events": {"user": "a", "item": "b", "rating": 3},
    "/v1/ratings": {"user": "a", "item": "b", "rating": 3},
    "/v1/predictions": {"pairs": [{"user": "a", "item": "b"}]},
    "/v1/recommendations": {"user": "a"},
    "/v1/recommendations/batch": {"users": ["a"]},
    "/v1/rank": {"user": "a", "candidates": ["b"]},
    "/v1/items/audience": {"item": "some-item"},
    "/v1/users/{user}/merge": {"source": "somebody"},
    "/v1/admin/keys": {"role": "read", "name": "n"},
}
NO_BODY_NEEDED = {"/v1/models/{version}/pin"}
LINES = {
    ("POST", "/v1/events/stream"): b'{"user": "a", "item": "b", "rating": 3}',
    ("POST", "/v1/ratings/stream"): b'{"user": "a", "item": "b", "rating": 3}',
    ("POST", "/v1/items"): b'{"item": "b"}',
    ("POST", "/v1/users"): b'{"user": "a"}',
}


def call(
    api: Callable[..., httpx.Response], method: str, route: str, suffix: str = "", **headers: str
) -> httpx.Response:
    """Call a route with a request that it would accept."""
    path = re.sub(r"{(\w+)}", lambda m: IDS.get(m[1], f"some-{m[1]}"), route) + suffix
    more: dict[str, Any] = {"headers": headers}
    if (method, route) in LINES:
        more = {"content": LINES[method, route], "headers": NDJSON | headers}
    elif method in {"POST", "PUT", "PATCH"}:
        more["json"] = BODIES.get(route, {})
    return api(method, path, **more)
