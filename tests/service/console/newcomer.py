"""What a newcomer does first: a fresh clone, `make demo`, the console, three ratings, a training.

python -m tests.service.console.newcomer    do it, and say how long each step took
"""

import os
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from time import monotonic

from playwright.sync_api import expect

from service.client import ServiceClient
from service.settings_loading import without_hedgerow
from tests.service.console.chromium import PATIENCE_MS, Visit, browser

ROOT = Path(__file__).parents[3]
STARTS_S = 300.0


@contextmanager
def demo(clone: Path, port: int) -> Iterator[str]:
    """Run `make demo` in a clone, and yield its address once it is ready."""
    given = without_hedgerow(os.environ) | {"HEDGEROW_PORT": str(port)}
    with (clone / "demo.log").open("wb") as log:
        process = subprocess.Popen(
            ["make", "demo", f"PYTHON={sys.executable}"],
            cwd=clone,
            env=given,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )
    url = f"http://127.0.0.1:{port}"
    try:
        with ServiceClient(url) as client:
            client.wait_until_ready(STARTS_S, alive=lambda: process.poll() is None)
        yield url
    finally:
        os.killpg(process.pid, signal.SIGINT)
        process.wait(180)


def walk(url: str) -> list[tuple[str, float]]:
    """Rate three items, see the list change, watch a training; return when each step was done."""
    done, began = [], monotonic()

    def note(step: str) -> None:
        done.append((step, monotonic() - began))

    with browser() as chromium, Visit(chromium, url) as visit:
        page = visit.page
        visit.open("try", "Try it")
        note("the console is open")
        page.get_by_role("button", name="Invent a user").click()
        page.locator(".slate-row").first.wait_for()
        shown = page.locator(".slate-row .title")
        before = shown.all_text_contents()
        for n in range(3):
            page.locator(".rate-row").nth(n).locator("label").nth(4).click()
            expect(page.locator(".events li")).to_have_count(n + 1)
        expect(shown).not_to_have_text(before)
        note("three ratings have changed the list")
        visit.open("models", "Models")
        page.get_by_role("button", name="Train now").click()
        page.get_by_label("Seconds for the search of settings").fill("1")
        page.get_by_role("button", name="Train", exact=True).click()
        training = page.locator(".job", has_text="1 s for the search")
        expect(training.get_by_text("succeeded")).to_be_visible(timeout=3 * PATIENCE_MS)
        note("a training has been watched to its end")
        visit.check()
    return done


def try_it(room: Path, port: int) -> list[tuple[str, float]]:
    """Do all of it in an empty folder; return the steps with the seconds since `make demo`.

    What is done once for each clone, to install and to compile, is done before.
    """
    clone = room / "hedgerow"
    subprocess.run(["git", "clone", "-q", str(ROOT), str(clone)], check=True)
    subprocess.run(["make", "-s", "install", f"PYTHON={sys.executable}"], cwd=clone, check=True)
    subprocess.run([".venv/bin/hedgerow", "doctor", "--compile"], cwd=clone, check=True)
    began = monotonic()
    with demo(clone, port) as url:
        ready = monotonic() - began
        return [("the service is ready", ready), *((step, ready + s) for step, s in walk(url))]


def main() -> None:
    """Print the steps and when each was done."""
    with tempfile.TemporaryDirectory(prefix="hr-") as room:
        for step, seconds in try_it(Path(room), free_port()):
            sys.stdout.write(f"{seconds:6.1f} s  {step}\n")


def free_port() -> int:
    """Return a port of loopback that nobody listens on."""
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


if __name__ == "__main__":
    main()
