"""Who the users are, whichever route asks."""

import heapq

from service.errors import NotFound
from service.runtime.api import ApiRuntime
from service.store.catalogue.documents import Document


async def users_after(runtime: ApiRuntime, after: str | None, limit: int) -> list[str]:
    """Return up to ``limit`` users with a document or learned feedback, by the bytes of ids."""
    profiles, partitions = runtime.profiles, range(runtime.namespace.partitions)
    lists = [await profiles.users(partition, after, limit) for partition in partitions]
    lists.append(await runtime.catalogue.user_ids(after, limit))
    return list(dict.fromkeys(heapq.merge(*lists, key=str.encode)))[:limit]


async def known_user(runtime: ApiRuntime, user: str) -> Document:
    """Return the document of a user; NotFound if nothing was ever said of them."""
    [document] = await runtime.catalogue.users([user])
    if document.body is None and not await runtime.profiles.known(user):
        raise NotFound("there is no such user: PUT them, or send feedback of theirs")
    return document
