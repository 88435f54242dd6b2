"""Users of Gorse."""

from typing import Any

from service.api.catalogue.listing import known_user, users_after
from service.api.catalogue.writing import write_users
from service.api.feedback.deletions import delete_user
from service.api.gorse.call import Call, Missing, Success, id_of, success
from service.api.gorse.documents import user_body, user_of
from service.errors import NotFound
from service.http.acts import note_about
from service.http.cursors import make_cursor, read_cursor

_LIST = "gorse users"


async def write(call: Call) -> Success:
    given = await call.object()
    user, body = id_of(given, "UserId"), user_body(given)
    await call.runtime.catalogue.change_user(user, body)
    return success(1)


async def write_many(call: Call) -> Success:
    rows, bodies = await call.objects(), dict[str, dict[str, Any]]()
    for row in rows:
        bodies.setdefault(id_of(row, "UserId"), user_body(row))
    await write_users(call.runtime, bodies)
    return success(len(rows))


async def list_page(call: Call) -> Any:
    given, n = call.value("cursor"), call.n
    after = read_cursor(_LIST, given) if given else None
    users = await users_after(call.runtime, after, n + 1)
    shown = users[:n]
    documents = await call.runtime.catalogue.users(shown)
    listed = [user_of(user, one.body) for user, one in zip(shown, documents, strict=True)]
    return {"Cursor": make_cursor(_LIST, shown[-1]) if users[n:] else "", "Users": listed}


async def read(call: Call) -> Any:
    try:
        document = await known_user(call.runtime, call.user)
    except NotFound:
        raise Missing(f"user {call.user} not found") from None
    return user_of(call.user, document.body)


async def change(call: Call) -> Success:
    given = await call.object()
    try:
        await known_user(call.runtime, call.user)
    except NotFound:
        return success(1)
    # checked before anything is written
    user_body(given, {})
    await call.runtime.catalogue.change_user(call.user, lambda old: user_body(given, old or {}))
    return success(1)


async def delete(call: Call) -> Success:
    receipt = await delete_user(call.runtime, call.user)
    note_about(call.request, erasure=str(receipt.erasure))
    return success(1)
