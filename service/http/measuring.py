"""Counts requests and how long they took, by route template: a path may name anything."""

from http import HTTPStatus

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
TEMPLATE = "template"
"""Where in the scope an application of its own, below a prefix, says which of its routes it is."""
FAILED = str(int(HTTPStatus.INTERNAL_SERVER_ERROR))
"""The status of a fault of ours."""
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
        # a rise from 0 shows that there was a first one; a series that begins with it shows none
        self._meters.count(REQUESTS, name, route, FAILED)
        if name is not OTHER:
            self._known[method, route, status] = one
        return one


def template(scope: Scope) -> str:
    """Return the path of the route that the framework found, with names in place of ids."""
    route = scope.get("route")
    if isinstance(route, APIRoute):
        return route.path_format
    named: str | None = scope.get(TEMPLATE)
    if named is not None:
        return named
    return PAGE if "endpoint" in scope else UNKNOWN
