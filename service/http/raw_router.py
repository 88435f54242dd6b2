"""Routing without the framework: finds the raw route of a request by its path alone.

Routing and middleware of the framework cost more than ranking for a user. Nothing is lost: raw
routes check callers, parameters and bodies themselves.
"""

from collections.abc import Iterable
from typing import NamedTuple

from starlette.types import ASGIApp, Scope

from service.http.routing import RawRoute


class _WithId(NamedTuple):
    """A path with one id in the middle."""

    method: str
    before: str
    after: str
    name: str
    app: ASGIApp


class RawRouter:
    """Finds the raw route of a request."""

    def __init__(self, routes: Iterable[object]) -> None:
        self._exact: dict[tuple[str, str], ASGIApp] = {}
        self._with_id: list[_WithId] = []
        for route in routes:
            if isinstance(route, RawRoute):
                for method in route.methods or ():
                    self._add(method, route)

    def _add(self, method: str, route: RawRoute) -> None:
        before, has_id, rest = route.path_format.partition("{")
        name, _, after = rest.partition("}")
        if not has_id:
            self._exact[method, route.path] = route.handle
        elif "{" not in after:
            one = _WithId(method=method, before=before, after=after, name=name, app=route.handle)
            self._with_id.append(one)

    def find(self, scope: Scope, path: str) -> ASGIApp | None:
        """Return the app for a raw path, with its id in the scope; None: ask the framework."""
        method = scope["method"]
        app = self._exact.get((method, path))
        if app is not None:
            return app
        for one in self._with_id:
            if path.startswith(one.before) and path.endswith(one.after) and method == one.method:
                segment = path[len(one.before) : len(path) - len(one.after)]
                if "/" not in segment:
                    scope["path_params"] = {one.name: segment}
                    return one.app
        return None
