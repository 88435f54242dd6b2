"""`hedgerow demo`: the whole service, a world streaming into it, and a view of what it learns and recommends."""

import shutil
import signal
import tempfile
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice, pairwise
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.live import Live

from service.cli import options
from service.cli.retrain import UNFINISHED, outcome
from service.client import ServiceClient, ndjson, segment
from service.demo.sample_world import SampleWorld
from service.demo.view import (
    RECENT,
    Expert,
    Progress,
    Recommended,
    Sample,
    plain_line,
    screen,
)
from service.errors import NotReady
from service.files.opening import filled_lines, is_ndjson
from service.files.ratings import read_chunks
from service.processes.child import ServiceProcess
from service.settings import Settings, load_settings

TICK_S = 0.1
"""Between two requests that send ratings."""
LOOK_S = 0.5
"""Between two looks at experts and predictions."""
LINE_S = 10.0
"""Between two lines where there is no terminal."""
USERS, ITEMS, REACH = 60, 150, 60
"""Of the sample world: small enough that learning shows within a minute; a user rates at most ``REACH`` different items,
so that there is always something to recommend."""
LEGEND = f"Every {LINE_S:.0f} s: ratings · mean error of the first {RECENT} → of the last {RECENT} · training"
FASTEST = 900
SAMPLES = 3
FIRST_TRAINING = 400
"""The ranking model is trained after so many ratings, and whenever they have doubled."""
ORDER = {"budget_s": 3.0, "promote_unjudged": True}
"""A short search; the sample world is too small for judges."""
TRAINER_NICE = 10
RECOMMENDED = 5
MOST_AWAITED = 100
"""Rows that `?wait=learned` takes."""

app = options.verb()


@dataclass(frozen=True)
class World:
    """What streams into the demo: ``titles`` of items by id, and ratings as the api takes them."""

    titles: dict[str, str]
    documents: list[dict[str, object]]
    ratings: Iterator[dict[str, object]]
    pair: tuple[str, str]
    """A user and an item to ask for."""
    scale: str = "1:5"
    total: int | None = None
    """How many ratings there are, None without end."""


@app.command()
def demo(
    ratings: Annotated[
        Path | None, typer.Option(help="Stream this CSV or NDJSON instead of the sample world.")
    ] = None,
    rate: Annotated[float, typer.Option(min=0.1, max=FASTEST, help="Ratings a second.")] = 50.0,
    port: options.Port = None,
    data_dir: options.DataDir = None,
    seed: Annotated[int, typer.Option(min=0, help="Another seed, another sample world.")] = 0,
    seconds: Annotated[
        float | None, typer.Option(min=0, help="End by itself after so long.")
    ] = None,
) -> None:
    """Watch the service learn: a sample world, or your own ratings, streams in until Ctrl-C.

    The data directory is a temporary one unless you name one.
    """
    # SIGTERM ends the demo as Ctrl-C does
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    console = Console()
    world = file_world(ratings) if ratings is not None else sample_world(seed)
    with _directory(data_dir) as directory:
        console.print("Starting the service ...")
        with (
            ServiceProcess(_settings(world, port, directory)) as service,
            service.client() as client,
        ):
            service.wait_until_ready(client)
            _say_where_to_look(console, service.url, world, rate)
            if world.documents:
                client.upload("/v1/items", ndjson(world.documents))
            Demo(service, client, world, rate, console).run(seconds)
    console.print("The demo has ended; nothing is left running.")


class Demo:
    """Streams ratings and looks at what they do, each at its own pace, until Ctrl-C."""

    def __init__(
        self,
        service: ServiceProcess,
        client: ServiceClient,
        world: World,
        rate: float,
        console: Console,
    ) -> None:
        self._service, self._client = service, client
        self._world, self._rate, self._console = world, rate, console
        self._progress = Progress(service.url, world.total)
        self._ended = threading.Event()
        self._problem: BaseException | None = None

    def run(self, seconds: float | None) -> None:
        """Run until Ctrl-C, for some seconds, or until something is wrong."""
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
        """Send ratings evenly; what the service predicted just before tells how wrong it was."""
        due = 0.0
        while not self._ended.wait(TICK_S):
            due += self._rate * TICK_S
            rows = list(islice(self._world.ratings, min(int(due), MOST_AWAITED)))
            due -= int(due)
            if not rows:
                continue
            answer = self._client.post("/v1/ratings", rows, wait="learned")
            for one in answer.get("predictions", []):
                truth = rows[one["index"]]["rating"]
                self._progress.add_error(abs(one["rating"] - float(str(truth))))
            self._add_samples(rows)

    def _add_samples(self, rows: list[dict[str, object]]) -> None:
        """Watch the first few users with the item that the next one rated."""
        samples = self._progress.samples
        for row, following in pairwise(rows):
            user, item = str(row["user"]), str(following["item"])
            known = {sample.user for sample in samples} | {sample.item for sample in samples}
            if len(samples) < SAMPLES and not known & {user, item}:
                samples.append(Sample(user, item, self._world.titles.get(item, item)))

    def _look(self) -> None:
        learned = 0
        while not self._ended.wait(LOOK_S):
            report = self._client.get("/v1/experts")
            self._progress.experts = [
                Expert(one["name"], one["part"], one["recent_loss"]) for one in report["experts"]
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
        """Ask what a user is recommended."""
        path = f"/v1/users/{segment(user)}/recommendations"
        slate = self._client.get(path, k=RECOMMENDED)
        titles = (self._world.titles.get(one["item"], one["item"]) for one in slate["items"])
        return Recommended(user, tuple(titles), slate["strategy"])

    def _train(self) -> None:
        """Order a training whenever the ratings have doubled, and say how it goes."""
        due = FIRST_TRAINING
        while not self._ended.wait(LOOK_S):
            if self._progress.learned < due:
                continue
            due = 2 * self._progress.learned
            job = self._client.post("/v1/retrain", ORDER)
            while job["status"] in UNFINISHED and not self._ended.wait(LOOK_S):
                said = job["stage"] or job["status"]
                self._progress.training = f"training: {said} {job['progress']:.0%}"
                job = self._client.get(f"/v1/jobs/{job['id']}")
            self._progress.training = _trained(job, due)

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
                raise NotReady(f"the service has ended; it says: {self._service.last_words()}")
            yield


def _trained(job: Mapping[str, Any], due: int) -> str:
    """Say how a training ended, with the reason if it made no model, and when the next begins."""
    reason = f" ({job['error']})" if job["error"] else ""
    return f"training {outcome(job)}{reason}, next at {due:,}"


def sample_world(seed: int) -> World:
    """Return the world of our own."""
    world = SampleWorld(seed, n_users=USERS, n_items=ITEMS, reach=REACH)
    ratings = (
        {"user": event.user, "item": event.item, "rating": event.rating} for event in world.events()
    )
    titles = {item.id: item.title for item in world.items}
    documents = [item.document() for item in world.items]
    return World(titles, documents, ratings, ("user-0020", "item-0000"))


def file_world(path: Path) -> World:
    """Return a file as a world; its scale is that of its first rows."""
    chunks = read_chunks(path)
    first = next(chunks)
    low, high = float(first.rating.min()), float(first.rating.max())

    def rows() -> Iterator[dict[str, object]]:
        for chunk in (first, *chunks):
            for user, item, rating in zip(
                chunk.users, chunk.items, chunk.rating.tolist(), strict=True
            ):
                yield {"user": user, "item": item, "rating": rating}

    scale = f"{low:g}:{high if high > low else low + 1:g}"
    total = filled_lines(path) - (not is_ndjson(path))
    return World({}, [], rows(), (first.users[0], first.items[0]), scale, total)


def _settings(world: World, port: int | None, directory: Path) -> Settings:
    """The demo orders its trainings itself, and somebody waits for them: they get a share of a busy machine."""
    return load_settings(
        port=port,
        data_dir=directory,
        scale=world.scale,
        retrain_after_events=0,
        trainer_nice=TRAINER_NICE,
    )


@contextmanager
def _directory(given: Path | None) -> Iterator[Path]:
    if given is not None:
        yield given
        return
    directory = Path(tempfile.mkdtemp(prefix="hedgerow-demo-"))
    try:
        yield directory
    finally:
        shutil.rmtree(directory, ignore_errors=True)


def _say_where_to_look(console: Console, url: str, world: World, rate: float) -> None:
    user, item = map(segment, world.pair)
    lines = [
        f"The service answers at {url}; {url}/docs lists every route. Try, in another terminal:",
        f"  curl {url}/v1/experts",
        f"  curl {url}/v1/users/{user}/predictions/{item}",
        f"  curl {url}/v1/users/{user}/ratings",
        f"  curl {url}/v1/users/{user}/recommendations",
        f"  curl {url}/v1/topics",
    ]
    if world.total is not None:
        minutes = world.total / rate / 60.0
        lines.append(
            f"{world.total:,} ratings, {rate:g} a second, take {minutes:,.0f} min; "
            f"--rate changes that, up to {FASTEST}."
        )
    console.print("\n".join(lines), highlight=False, soft_wrap=True, markup=False)
