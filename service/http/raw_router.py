"""Routing of raw routes without the framework, by method and path alone.

The framework's routing and middleware take longer than ranking for a user. Raw routes do not need
them: they check callers, parameters and bodies themselves.
"""

from collections.abc import Iterable
from typing import NamedTuple

from starlette.types import Scope

from service.http.routing import RawRoute


class _WithId(NamedTuple):
    """A path with one id in the middle."""

    method: str
    before: str
    after: str
    name: str
    route: RawRoute


class RawRouter:
    """Finds the raw route of a request."""

    def __init__(self, routes: Iterable[object]) -> None:
        self._exact: dict[tuple[str, str], RawRoute] = {}
        self._with_id: list[_WithId] = []
        for route in routes:
            if isinstance(route, RawRoute):
                for method in route.methods or ():
                    self._add(method, route)

    def _add(self, method: str, route: RawRoute) -> None:
        before, has_id, rest = route.path_format.partition("{")
        name, _, after = rest.partition("}")
        if not has_id:
            self._exact[method, route.path] = route
        elif "{" not in after:
            self._with_id.append(
                _WithId(method=method, before=before, after=after, name=name, route=route)
            )

    def find(self, scope: Scope, path: str) -> RawRoute | None:
        """Return the route for a raw path, and put the id into the scope; None for other paths."""
        method = scope["method"]
        exact = self._exact.get((method, path))
        if exact is not None:
            return exact
        for one in self._with_id:
            before, after = one.before, one.after
            if path.startswith(before) and path.endswith(after) and method == one.method:
                segment = path[len(before) : len(path) - len(after)]
                if "/" not in segment:
                    scope["path_params"] = {one.name: segment}
                    return one.route
        return None
