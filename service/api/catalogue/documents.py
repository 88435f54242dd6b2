"""Items and users: their documents, their lists, and their complete deletion."""

from typing import Annotated

from fastapi import APIRouter, Body, Header, Query
from starlette.requests import Request
from starlette.responses import Response

from service.api.catalogue.listing import known_user, users_after
from service.api.catalogue.patches import ItemPatch, UserPatch, patched
from service.api.catalogue.schemas import (
    Item,
    ItemBody,
    ItemPage,
    User,
    UserBody,
    UserPage,
    stored,
)
from service.api.feedback.deletions import SAFE, Receipt
from service.api.feedback.deletions import delete_item as deleted_item
from service.api.feedback.deletions import delete_user as deleted_user
from service.api.routing import ItemId, Route, Runtime, UserId
from service.api.schemas import Cursor, Limit
from service.api.times import in_one_format, rfc3339_or_none
from service.errors import NotFound
from service.http.acts import note_about
from service.http.cursors import InvalidCursor, make_cursor, read_cursor, read_number
from service.http.documentation import problems
from service.http.faults import ETAG
from service.runtime.api import ApiRuntime
from service.serving.item_search import Found
from service.store.catalogue.documents import Document

router = APIRouter(route_class=Route)

IfMatch = Annotated[
    str | None,
    Header(
        pattern=ETAG,
        description="Write only if the document is still at this version (its ETag).",
    ),
]
Question = Annotated[
    str | None,
    Query(
        max_length=200,
        description="Words that must all be in the `title`, `name` or `comment` of an item, "
        "whatever their case and accents.",
        examples=["toy story"],
    ),
]
_ITEM = {
    "categories": ["film", "drama"],
    "features": {"title": "The Long Hedge", "year": 2024, "languages": ["en", "fr"]},
    "available_from": "2026-11-01T00:00:00Z",
}
_EMPTY_ITEM = ItemBody().model_dump()
_TIMES = ("available_from", "available_until")
_USER = {"features": {"age": 31, "plan": "family"}, "links": [{"user": "grace", "weight": 0.5}]}
ItemInput = Annotated[ItemBody, Body(openapi_examples={"film": {"value": _ITEM}})]
UserInput = Annotated[UserBody, Body(openapi_examples={"user": {"value": _USER}})]
ItemPatchInput = Annotated[
    ItemPatch,
    Body(openapi_examples={"hide": {"value": {"hidden": True, "features": {"year": None}}}}),
]
UserPatchInput = Annotated[
    UserPatch, Body(openapi_examples={"forget": {"value": {"features": {"age": None}}}})
]


# --- items ----------------------------------------------------------------------------------


@router.get("/v1/items", tags=["items"], summary="List or search items")
async def list_items(
    runtime: Runtime, limit: Limit = 100, cursor: Cursor = None, q: Question = None
) -> ItemPage:
    """All items with a document or feedback, the oldest first; deleted items are left out.

    So a page may be shorter than `limit`: the list ends where `next_cursor` is null. With `q` only
    the items that it finds, the best first.
    """
    if q is not None:
        return await _found(runtime, q, limit, cursor)
    first = 0 if cursor is None else read_number("items", cursor)
    ids = await runtime.numbers.page(first, limit)
    documents = await runtime.catalogue.items(range(first, first + len(ids)))
    pairs = zip(ids, documents, strict=True)
    return ItemPage(
        items=[_item(item, document) for item, document in pairs if not document.deleted],
        next_cursor=make_cursor("items", first + limit) if len(ids) == limit else None,
    )


async def _found(runtime: ApiRuntime, question: str, limit: int, cursor: str | None) -> ItemPage:
    of = f"items {question}"
    after = None if cursor is None else _place_in(read_cursor(of, cursor))
    found = await runtime.item_search.find(question, limit + 1, after)
    numbers = [number for _, number in found[:limit]]
    documents = await runtime.catalogue.items(numbers)
    pairs = zip(await runtime.numbers.ids(numbers), documents, strict=True)
    return ItemPage(
        items=[_item(item, document) for item, document in pairs if not document.deleted],
        next_cursor=make_cursor(of, _place_of(found[limit - 1])) if found[limit:] else None,
    )


def _place_of(found: Found) -> str:
    return f"{found.fit!r} {found.item}"


def _place_in(position: str) -> Found:
    fit, _, item = position.partition(" ")
    try:
        return Found(float(fit), int(item))
    except ValueError:
        raise InvalidCursor from None


@router.get(
    "/v1/items/{item:id}",
    tags=["items"],
    summary="Read an item",
    responses=problems("not_found"),
)
async def get_item(runtime: Runtime, item: ItemId, response: Response) -> Item:
    """The item's document; version 0 if it is known from feedback alone."""
    number = await _number(runtime, item)
    [document] = await runtime.catalogue.items([number])
    if document.deleted:
        raise _deleted_item()
    return _item(item, document, response)


@router.put(
    "/v1/items/{item:id}",
    tags=["items"],
    summary="Write an item",
    responses=problems("version_conflict", "item_limit"),
)
async def write_item(
    runtime: Runtime, item: ItemId, body: ItemInput, response: Response, if_match: IfMatch = None
) -> Item:
    """Create or replace the item's document."""
    # before the number is looked up: the store refuses a number that another one gave
    token = runtime.known.token
    [number] = await runtime.numbers.numbers([item])
    new, if_version = stored(body), _version(if_match)
    document = await runtime.catalogue.change_item(number, new, if_version, token=token)
    return _item(item, document, response)


@router.patch(
    "/v1/items/{item:id}",
    tags=["items"],
    summary="Change an item",
    responses=problems("not_found", "version_conflict"),
)
async def change_item(
    runtime: Runtime,
    item: ItemId,
    patch: ItemPatchInput,
    response: Response,
    if_match: IfMatch = None,
) -> Item:
    """Change the given members of the item's document and keep the others."""
    token = runtime.known.token
    number = await _number(runtime, item)
    [current] = await runtime.catalogue.items([number])
    if current.deleted:
        raise _deleted_item()
    document = await runtime.catalogue.change_item(
        number, lambda old: patched(ItemBody, old, patch.root), _version(if_match), token=token
    )
    return _item(item, document, response)


@router.delete(
    "/v1/items/{item:id}",
    tags=["items"],
    summary="Delete an item",
    responses=SAFE | problems("not_found", "backlogged", "version_conflict"),
)
async def delete_item(runtime: Runtime, item: ItemId, response: Response) -> Receipt:
    """Forget the item: its document, what was learned about it, its events in all histories.

    Feedback sent afterwards counts from zero; the item is listed again once it is written again.
    """
    token = runtime.known.token
    receipt = await deleted_item(runtime, item, await _number(runtime, item), token)
    response.status_code = 200 if receipt.learned else 202
    return receipt


async def _number(runtime: ApiRuntime, item: str) -> int:
    [number] = await runtime.numbers.lookup([item])
    if number is None:
        raise NotFound("there is no such item: PUT it, or send feedback for it")
    return number


def _deleted_item() -> NotFound:
    return NotFound(
        "this item was deleted: PUT it to restore it, feedback alone does not bring it back"
    )


# --- users ----------------------------------------------------------------------------------


@router.get("/v1/users", tags=["users"], summary="List users")
async def list_users(runtime: Runtime, limit: Limit = 100, cursor: Cursor = None) -> UserPage:
    """All users with a document or learned feedback, ordered by the bytes of their ids."""
    after = None if cursor is None else read_cursor("users", cursor)
    users = await users_after(runtime, after, limit + 1)
    shown = users[:limit]
    documents = await runtime.catalogue.users(shown)
    return UserPage(
        items=[_user(user, document) for user, document in zip(shown, documents, strict=True)],
        next_cursor=make_cursor("users", shown[-1]) if len(users) > limit else None,
    )


@router.get(
    "/v1/users/{user:id}",
    tags=["users"],
    summary="Read a user",
    responses=problems("not_found"),
)
async def get_user(runtime: Runtime, user: UserId, response: Response) -> User:
    """The user's document; version 0 if they are known from feedback alone."""
    return _user(user, await known_user(runtime, user), response)


@router.put(
    "/v1/users/{user:id}",
    tags=["users"],
    summary="Write a user",
    responses=problems("version_conflict"),
)
async def write_user(
    runtime: Runtime, user: UserId, body: UserInput, response: Response, if_match: IfMatch = None
) -> User:
    """Create or replace the user's document: features and links to other users."""
    new = stored(body)
    document = await runtime.catalogue.change_user(user, new, _version(if_match))
    return _user(user, document, response)


@router.patch(
    "/v1/users/{user:id}",
    tags=["users"],
    summary="Change a user",
    responses=problems("not_found", "version_conflict"),
)
async def change_user(
    runtime: Runtime,
    user: UserId,
    patch: UserPatchInput,
    response: Response,
    if_match: IfMatch = None,
) -> User:
    """Change the given members of the user's document and keep the others."""
    await known_user(runtime, user)
    document = await runtime.catalogue.change_user(
        user, lambda old: patched(UserBody, old, patch.root), _version(if_match)
    )
    return _user(user, document, response)


@router.delete(
    "/v1/users/{user:id}",
    tags=["users"],
    summary="Delete a user",
    responses=SAFE | problems("backlogged"),
)
async def delete_user(
    request: Request, runtime: Runtime, user: UserId, response: Response
) -> Receipt:
    """Delete everything of a user: document, history, what was learned. The answer is the receipt.

    Feedback acknowledged before cannot come back. Others' links to the user, and the private
    server's file on the disk, follow soon: `erasure` names the receipt. What other users' rows and
    the experts' weights have learned from these ratings stays, as in any trained model; `hedgerow
    rebuild` learns everything without them.
    """
    receipt = await deleted_user(runtime, user)
    note_about(request, erasure=str(receipt.erasure))
    response.status_code = 200 if receipt.learned else 202
    return receipt


# --- documents ------------------------------------------------------------------------------


def _item(item: str, document: Document, response: Response | None = None) -> Item:
    _tag(document, response)
    said = _EMPTY_ITEM | (document.body or {})
    times = {name: in_one_format(said[name]) for name in _TIMES if said[name] is not None}
    created = rfc3339_or_none(document.created_ms)
    return Item(item=item, version=document.version, created=created, **(said | times))


def _user(user: str, document: Document, response: Response | None = None) -> User:
    _tag(document, response)
    body = UserBody.model_validate(document.body or {})
    return User(user=user, version=document.version, **dict(body))


def _tag(document: Document, response: Response | None) -> None:
    if response is not None:
        response.headers["etag"] = f'"{document.version}"'


def _version(if_match: str | None) -> int | None:
    return None if if_match is None else int(if_match.strip('"'))
