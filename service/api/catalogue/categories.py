"""The categories of items, with counts: for menus, and to see what `category` may name."""

import asyncio

from fastapi import APIRouter

from service.api.routing import Route, Runtime
from service.api.schemas import Answer, Cursor, Limit, Page
from service.errors import NotReady
from service.http.cursors import InvalidCursor, make_cursor, read_cursor
from service.http.documentation import problems
from service.store.clock import now_ms

router = APIRouter(route_class=Route, tags=["items"])

LIST = "categories"


class CategoryCount(Answer):
    """A category, as documents spell it."""

    category: str
    """Its name."""
    items: int
    """How many items of it may be shown now: hidden and unavailable ones do not count."""


class CategoryPage(Page[CategoryCount]):
    """A page of the categories, the largest first."""


@router.get("/v1/categories", summary="List categories", responses=problems("not_ready"))
async def list_categories(
    runtime: Runtime, limit: Limit = 100, cursor: Cursor = None
) -> CategoryPage:
    """The categories of the items that may be shown now, the largest first."""
    after = None if cursor is None else _place_in(read_cursor(LIST, cursor))
    if not runtime.view.ready:
        raise NotReady("the documents of the items are still being read: try again")
    items = runtime.view.current
    shown = items.mask(now_ms(), items.size)
    # in a thread: a large catalogue takes a moment, once after each change
    counts = await asyncio.to_thread(items.category_counts, shown)
    places = sorted((-n, name) for name, n in counts.items())
    left = [place for place in places if after is None or place > after]
    return CategoryPage(
        items=[CategoryCount(category=name, items=-n) for n, name in left[:limit]],
        next_cursor=_cursor(left[limit - 1]) if left[limit:] else None,
    )


def _cursor(place: tuple[int, str]) -> str:
    return make_cursor(LIST, f"{-place[0]} {place[1]}")


def _place_in(position: str) -> tuple[int, str]:
    n, _, name = position.partition(" ")
    if not n.isdecimal():
        raise InvalidCursor
    return -int(n), name
