"""Notes what operators do: the answer leaves once the act is in the audit log.

An act whose note cannot be written has happened all the same; then the log of the process has it.
"""

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping
from urllib.parse import unquote

from starlette.requests import Request
from starlette.types import Message, Receive, Scope, Send

from service.http.auth import caller
from service.store.audit import DONE, Act, Audit

UNNAMED = {"user", "user-id"}
"""Parameters of paths that stay out of the audit log: it must not name who was deleted."""
_ABOUT = "audited"
"""Where handlers leave what an act is about, in the scope of its request."""

Answer = Callable[[Scope, Receive, Send], Awaitable[None]]


def note_about(request: Request, **about: str) -> None:
    """Add to what the act of this request is about."""
    request.scope.setdefault(_ABOUT, {}).update(about)


async def noted(act: str, answer: Answer, scope: Scope, receive: Receive, send: Send) -> None:
    """Answer a request and note it as an act; ``scope`` has the application's audit log."""
    messages: list[Message] = []

    async def keep(message: Message) -> None:
        messages.append(message)

    result = "internal"
    try:
        await answer(scope, receive, keep)
        result = _result(messages)
    finally:
        done = Act(caller(scope), act, _about(scope), result)
        audit: Audit = scope["app"].state.runtime.audit
        await asyncio.to_thread(audit.note_or_log, done)
    for message in messages:
        await send(message)


def _about(scope: Scope) -> Mapping[str, str]:
    path: Mapping[str, str] = scope.get("path_params", {})
    named = {name: unquote(text) for name, text in path.items() if name not in UNNAMED}
    return {**named, **scope.get(_ABOUT, {})}


def _result(messages: list[Message]) -> str:
    """Return how an answer says that it went: ``done``, or the code of its problem."""
    status = next((m["status"] for m in messages if m["type"] == "http.response.start"), 500)
    if status < 400:
        return DONE
    body = b"".join(m.get("body", b"") for m in messages if m["type"] == "http.response.body")
    try:
        return str(json.loads(body).get("code", status))
    except ValueError:
        # the routes of Gorse answer in plain text
        return str(status)
