"""Counts requests and how long they took, by route template: a path may name anything."""

from fastapi.routing import APIRoute
from starlette.types import Scope

from service.metrics.catalogue import REQUEST_SECONDS, REQUESTS
from service.metrics.meters import Count, Meters, Spread

METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
OTHER = "other"
"""Every method that no route has."""
PAGE = "page"
"""Every page of the documentation, and its files."""
UNKNOWN = "unknown"
"""Every path that is no route's."""
UNANSWERED = "none"
"""The status of a request whose client left before an answer began."""


class RequestMeters:
    """Counts the requests of a process."""

    def __init__(self, meters: Meters) -> None:
        self._meters = meters
        self._known: dict[tuple[str, str, int], tuple[Count, Spread]] = {}

    def note(self, method: str, route: str, status: int, seconds: float) -> None:
        """Count a request; ``status`` is 0 if no answer began."""
        one = self._known.get((method, route, status)) or self._make(method, route, status)
        one[0].add()
        one[1].note(seconds)

    def _make(self, method: str, route: str, status: int) -> tuple[Count, Spread]:
        name = method if method in METHODS else OTHER
        count = self._meters.count(REQUESTS, name, route, str(status or UNANSWERED))
        one = count, self._meters.spread(REQUEST_SECONDS, name, route)
        if name is not OTHER:
            self._known[method, route, status] = one
        return one


def template(scope: Scope) -> str:
    """Return the path of the route that the framework found, with names in place of ids."""
    route = scope.get("route")
    if isinstance(route, APIRoute):
        return route.path_format
    return PAGE if "endpoint" in scope else UNKNOWN
