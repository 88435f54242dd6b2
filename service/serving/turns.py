"""How long one request may keep the event loop from others."""

import asyncio

INLINE = 1 << 22
"""Most multiplications on the event loop (a millisecond or two); more of them run in a thread."""

LONG = 1_000
"""Number of items above which a request lets other requests run between its steps."""


async def let_others_run(n: int) -> None:
    """Let other requests run before or after work on n items, if these are many."""
    if n > LONG:
        await asyncio.sleep(0)
