"""Watching a training from the command line: a bar on a terminal, lines in a log."""

import threading
from time import monotonic
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeElapsedColumn

from service.cli.options import say
from service.client import UNFINISHED, ServiceClient

LOOK_S = 0.3
"""Seconds between two looks at the job."""
LINE_S = 2.0
"""Seconds between two lines of one stage where there is no terminal."""
PATIENCE_S = 5.0
"""Seconds that a job is queued while none is running before the user is pace why."""


def watch(client: ServiceClient, job: dict[str, Any]) -> dict[str, Any]:
    """Return the job when it has ended; show its progress as a bar, or as lines in a log."""
    console, pause, queued = Console(stderr=True), threading.Event(), Queued(client)
    columns = (
        TextColumn("{task.description:<21}"),
        BarColumn(),
        TaskProgressColumn(),
        TimeElapsedColumn(),
    )
    pace = LogPace()
    with Progress(*columns, console=console, disable=not console.is_terminal) as progress:
        bar = progress.add_task("queued", total=1.0)
        while job["status"] in UNFINISHED:
            says = " ".join(filter(None, (job["stage"] or job["status"], job["recipe"])))
            progress.update(bar, description=says, completed=job["progress"])
            far = f"{job['progress']:.0%}"
            if not console.is_terminal and pace.is_due(says, far):
                say(f"job {job['id']}: {says}, {far}")
            if job["status"] == "queued" and (waits := queued.reason()):
                say(waits)
            pause.wait(LOOK_S)
            job = client.get(f"/v1/jobs/{job['id']}")
        progress.update(bar, description=job["status"], completed=job["progress"])
    return job


class LogPace:
    """Decides which lines a log gets: each stage at once, its progress every LINE_S seconds."""

    def __init__(self) -> None:
        self._stage, self._far, self._at = "", "", 0.0

    def is_due(self, stage: str, far: str) -> bool:
        """Return whether to print a line now, and remember it as printed."""
        moved = far != self._far and monotonic() - self._at >= LINE_S
        if stage == self._stage and not moved:
            return False
        self._stage, self._far, self._at = stage, far, monotonic()
        return True


class Queued:
    """Explains once why a job may be waiting."""

    def __init__(self, client: ServiceClient) -> None:
        self._client, self._since, self._said = client, monotonic(), False

    def reason(self) -> str:
        """Return why the job still waits, "" if it is too early or was said before."""
        if self._said or monotonic() - self._since < PATIENCE_S:
            return ""
        self._said = True
        running = [
            job["id"] for job in self._client.get("/v1/jobs")["items"] if job["status"] == "running"
        ]
        if running:
            return f"queued: job {running[0]} is running first"
        return (
            "queued: no trainer seems to be running (`hedgerow serve` starts one unless "
            "HEDGEROW_TRAINER=false, or run `hedgerow trainer`); Ctrl-C leaves the job in the queue"
        )
