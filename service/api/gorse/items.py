"""Items of Gorse."""

from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

from service.api.catalogue.writing import write_items
from service.api.feedback.deletions import delete_item
from service.api.gorse.call import Call, Missing, Refused, Success, id_of, success
from service.api.gorse.documents import item_body, item_of
from service.api.gorse.sorted_items import SortedItems
from service.http.cursors import make_cursor, read_cursor
from service.store.catalogue.documents import Body, Document

_LIST = "gorse items"


async def write(call: Call) -> Success:
    given = await call.object()
    await _write(call, {id_of(given, "ItemId"): item_body(given)})
    return success(1)


async def write_many(call: Call) -> Success:
    rows, bodies = await call.objects(), dict[str, Body]()
    for row in rows:
        bodies.setdefault(id_of(row, "ItemId"), item_body(row))
    await _write(call, bodies)
    return success(len(rows))


async def list_page(call: Call) -> Any:
    if question := call.value("q"):
        found = await call.runtime.item_search.find(question, call.n)
        ids = await call.runtime.numbers.ids([one.item for one in found])
        return {"Cursor": "", "Items": await described(call, ids)}
    every: SortedItems = call.request.app.state.gorse_items
    given, n = call.value("cursor"), call.n
    after = read_cursor(_LIST, given) if given else None
    items = await every.after(call.runtime, after, n + 1)
    shown = items[:n]
    cursor = make_cursor(_LIST, shown[-1]) if items[n:] else ""
    return {"Cursor": cursor, "Items": await described(call, shown)}


async def described(call: Call, items: Sequence[str]) -> list[dict[str, Any]]:
    """Return items as Gorse writes them, without deleted ones."""
    numbers = await call.runtime.numbers.lookup(items)
    known = [
        (item, number) for item, number in zip(items, numbers, strict=True) if number is not None
    ]
    documents = await call.runtime.catalogue.items([number for _, number in known])
    pairs = zip(known, documents, strict=True)
    return [item_of(item, one.body) for (item, _), one in pairs if not one.deleted]


async def read(call: Call) -> Any:
    _, document = await _known(call)
    return item_of(call.item, document.body)


async def change(call: Call) -> Success:
    given = await call.object()
    # checked before anything is looked up
    item_body(given, {})
    with suppress(Missing):
        await _change(call, lambda old: item_body(given, old or {}))
    return success(1)


async def delete(call: Call) -> Success:
    token = call.runtime.known.token
    [number] = await call.runtime.numbers.lookup([call.item])
    if number is not None:
        await delete_item(call.runtime, call.item, number, token)
    return success(1)


async def add_category(call: Call) -> Success:
    name = call.path["category"]
    await _change_categories(call, lambda names: names if name in names else [*names, name])
    return success(1)


async def remove_category(call: Call) -> Success:
    name = call.path["category"]
    await _change_categories(call, lambda names: [one for one in names if one != name])
    return success(1)


async def _change_categories(call: Call, edit: Callable[[list[str]], list[str]]) -> None:
    def edited(old: Body | None) -> Body:
        names = edit((old or {}).get("categories", []))
        return item_body({"categories": names}, {**(old or {}), "categories": names})

    await _change(call, edited)


async def _change(call: Call, edit: Callable[[Body | None], Body | None]) -> None:
    token = call.runtime.known.token
    number, _ = await _known(call)
    await call.runtime.catalogue.change_item(number, edit, token=token)


async def _known(call: Call) -> tuple[int, Document]:
    [number] = await call.runtime.numbers.lookup([call.item])
    if number is not None:
        [document] = await call.runtime.catalogue.items([number])
        if not document.deleted:
            return number, document
    raise Missing(f"item {call.item} not found")


async def _write(call: Call, bodies: dict[str, Body]) -> None:
    if await write_items(call.runtime, bodies):
        raise Refused(call.runtime.numbers.exhausted)
