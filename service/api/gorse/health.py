"""Whether the process is alive, and whether its store answers."""

from typing import Any

import msgspec
from starlette.responses import PlainTextResponse

from service.api.gorse.call import Call


async def live(call: Call) -> Any:
    return _status(call)


async def ready(call: Call) -> Any:
    status = _status(call)
    if status["Ready"]:
        return status
    return PlainTextResponse(msgspec.json.encode(status), 503)


def _status(call: Call) -> dict[str, Any]:
    runtime = getattr(call.request.app.state, "runtime", None)
    answers = runtime is not None and runtime.pulse.away_s is None
    error = None if answers else {"Error": "the store does not answer"}
    return {
        "Ready": answers,
        "DataStoreError": error,
        "CacheStoreError": error,
        "DataStoreConnected": answers,
        "CacheStoreConnected": answers,
    }
