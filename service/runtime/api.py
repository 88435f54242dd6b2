"""The composition root of an api process: it creates, connects and closes all objects."""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass

from service import configs
from service.errors import NotReady
from service.runtime.answering import Answering, answering
from service.runtime.followed import Followed, followed
from service.runtime.opened import Opened, opened
from service.runtime.store_access import StoreAccess, store_access
from service.serving.users import Users
from service.settings import Settings


@dataclass(frozen=True)
class ApiRuntime(Opened, StoreAccess, Followed, Answering):
    """Everything that the routes use: the store, the copies in memory, and what answers."""


@asynccontextmanager
async def api_runtime(settings: Settings, redis_url: str) -> AsyncIterator[ApiRuntime]:
    """Open everything that an api process needs; raise Misconfigured or StoreUnavailable."""
    async with AsyncExitStack() as stack:
        base = await opened(stack, settings, redis_url)
        stored = store_access(stack, base)
        users = Users(
            base.redis,
            base.namespace,
            configs.meanings(settings, base.namespace),
            base.model.layout,
            settings.user_cache_mb << 20,
        )
        kept = followed(stack, base, stored, users)
        answers = answering(stack, base, stored, kept, users)
        stack.push_async_callback(kept.watch.close)
        await kept.watch.start(stored.numbers, *kept.keepers)
        stack.push_async_callback(stored.pulse.close)
        await stored.pulse.start()
        yield ApiRuntime(**vars(base), **vars(stored), **vars(kept), **vars(answers))


@asynccontextmanager
async def no_runtime() -> AsyncIterator[ApiRuntime]:
    """Stand in for the runtime of an application that only generates its OpenAPI document."""
    raise NotReady("this application only describes itself; it has no store")
    yield
