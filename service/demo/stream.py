"""The demo itself: ratings stream into a service while a view shows what it learns."""

import threading
from collections.abc import Callable, Iterator, Mapping
from itertools import islice, pairwise
from typing import Any

from rich.console import Console
from rich.live import Live

from service.client import UNFINISHED, ServiceClient, outcome, segment
from service.demo.view import (
    RECENT,
    Expert,
    Progress,
    Recommended,
    Sample,
    plain_line,
    screen,
)
from service.demo.worlds import World
from service.errors import NotReady
from service.processes.child import ServiceProcess

TICK_S = 0.1
"""Seconds between two requests that send ratings."""
LOOK_S = 0.5
"""Seconds between two requests for experts and predictions."""
LINE_S = 10.0
"""Seconds between two lines if there is no terminal."""
LEGEND = (
    f"Every {LINE_S:.0f} s: ratings · mean error of the first {RECENT} → of the last {RECENT} · "
    "training"
)
SAMPLES = 3
FIRST_TRAINING = 400
"""Ratings before the first training; each time they double, another one follows."""
ORDER = {"budget_s": 3.0, "promote_unjudged": True}
"""A training with a short search; the sample world is too small for the gate."""
RECOMMENDED = 5
MOST_AWAITED = 100
"""Most rows that `?wait=learned` accepts."""


class Demo:
    """Streams ratings, shows what the service learns and trains, each in a thread, until Ctrl-C."""

    def __init__(
        self,
        service: ServiceProcess,
        client: ServiceClient,
        world: World,
        *,
        rate: float,
        console: Console,
    ) -> None:
        self._service, self._client = service, client
        self._world, self._rate, self._console = world, rate, console
        self._progress = Progress(service.url, world.total)
        self._ended = threading.Event()
        self._problem: BaseException | None = None

    def run(self, seconds: float | None) -> None:
        """Run until Ctrl-C, for some seconds, or until an error."""
        workers = [
            threading.Thread(target=self._guarded, args=(work,), daemon=True)
            for work in (self._stream, self._look, self._train)
        ]
        for worker in workers:
            worker.start()
        try:
            self._show(seconds)
        except KeyboardInterrupt:
            pass
        finally:
            self._ended.set()
            self._client.close()
            for worker in workers:
                worker.join(10.0)
        if self._problem is not None:
            raise self._problem

    def _guarded(self, work: Callable[[], None]) -> None:
        try:
            work()
        except BaseException as problem:  # noqa: BLE001 - it is raised again in the main thread
            if not self._ended.is_set():
                self._problem = problem
                self._ended.set()

    def _stream(self) -> None:
        """Send ratings at an even rate; note the errors of the predictions made before each one."""
        due = 0.0
        while not self._ended.wait(TICK_S):
            due += self._rate * TICK_S
            rows = list(islice(self._world.ratings, min(int(due), MOST_AWAITED)))
            due -= int(due)
            if not rows:
                continue
            answer = self._client.post("/v1/events", rows, wait="learned")
            for prediction in answer.get("predictions", []):
                truth = rows[prediction["index"]]["rating"]
                self._progress.add_error(abs(prediction["rating"] - float(str(truth))))
            self._add_samples(rows)

    def _add_samples(self, rows: list[dict[str, object]]) -> None:
        """Add samples from the first few users, each with the item that the next user rated."""
        samples = self._progress.samples
        for row, following in pairwise(rows):
            user, item = str(row["user"]), str(following["item"])
            taken = {sample.user for sample in samples} | {sample.item for sample in samples}
            if len(samples) < SAMPLES and not taken & {user, item}:
                samples.append(Sample(user, item, self._world.titles.get(item, item)))

    def _look(self) -> None:
        learned = 0
        while not self._ended.wait(LOOK_S):
            report = self._client.get("/v1/experts")
            self._progress.experts = [
                Expert(row["name"], row["part"], row["recent_loss"]) for row in report["experts"]
            ]
            samples = list(self._progress.samples)
            if samples:
                pairs = [{"user": sample.user, "item": sample.item} for sample in samples]
                answer = self._client.post("/v1/predictions", {"pairs": pairs})
                for sample, one in zip(samples, answer["predictions"], strict=True):
                    sample.update(one["rating"], one["low"], one["high"])
                self._progress.recommended = self._recommended(samples[0].user)
            now = self._progress.learned
            self._progress.rate += 0.3 * ((now - learned) / LOOK_S - self._progress.rate)
            learned = now

    def _recommended(self, user: str) -> Recommended:
        """Return the current recommendations for a user."""
        path = f"/v1/users/{segment(user)}/recommendations"
        slate = self._client.get(path, k=RECOMMENDED)
        titles = (self._world.titles.get(one["item"], one["item"]) for one in slate["items"])
        return Recommended(user, tuple(titles), slate["strategy"])

    def _train(self) -> None:
        """Start a training whenever the number of ratings has doubled, and note its progress."""
        due = FIRST_TRAINING
        while not self._ended.wait(LOOK_S):
            if self._progress.learned < due:
                continue
            due = 2 * self._progress.learned
            job = self._client.post("/v1/retrain", ORDER)
            while job["status"] in UNFINISHED and not self._ended.wait(LOOK_S):
                stage = job["stage"] or job["status"]
                self._progress.training = f"training: {stage} {job['progress']:.0%}"
                job = self._client.get(f"/v1/jobs/{job['id']}")
            self._progress.training = trained(job, due)

    def _show(self, seconds: float | None) -> None:
        steps = self._steps(seconds, 0.25 if self._console.is_terminal else LINE_S)
        if not self._console.is_terminal:
            self._console.print(LEGEND, highlight=False, soft_wrap=True)
            for _ in steps:
                line = plain_line(self._progress, self._console.width)
                self._console.print(line, highlight=False, soft_wrap=True, markup=False)
            return
        with Live(console=self._console, refresh_per_second=8) as live:
            for _ in steps:
                live.update(screen(self._progress))

    def _steps(self, seconds: float | None, pause_s: float) -> Iterator[None]:
        waited = 0.0
        while seconds is None or waited < seconds:
            pause = pause_s if seconds is None else min(pause_s, seconds - waited)
            if self._ended.wait(pause):
                return
            waited += pause
            if not self._service.alive:
                raise NotReady(f"the service has ended: {self._service.last_words()}")
            yield


def trained(job: Mapping[str, Any], due: int) -> str:
    """Return how a training ended, why it made no model, and the number of ratings for the next."""
    reason = f" ({job['error']})" if job["error"] else ""
    return f"training {outcome(job)}{reason}, next at {due:,}"
