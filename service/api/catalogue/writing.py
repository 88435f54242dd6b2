"""Writes of many documents at once, whichever route asks."""

from collections.abc import Collection, Mapping

from service.runtime.api import ApiRuntime
from service.store.catalogue.documents import Body


async def write_items(runtime: ApiRuntime, bodies: Mapping[str, Body]) -> Collection[str]:
    """Replace the documents of items; return the ids for which there is no number left."""
    token = runtime.known.token
    numbers = await runtime.numbers.give(bodies)
    documents = {numbers[item]: bodies[item] for item in numbers}
    await runtime.catalogue.replace_items(documents, token=token)
    return bodies.keys() - numbers.keys()


async def write_users(runtime: ApiRuntime, bodies: Mapping[str, Body]) -> Collection[str]:
    """Replace the documents of users; there is room for all."""
    await runtime.catalogue.replace_users(bodies)
    return ()
