"""The system's Chromium, driven by Playwright, and what no page of ours may do in it."""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.resources import files
from typing import Any, Self

import pytest
from playwright.sync_api import (
    Browser,
    ConsoleMessage,
    Page,
    Request,
    expect,
    sync_playwright,
)

NAMES = ("chromium", "chromium-browser", "google-chrome")
PATIENCE_MS = 120_000
"""A shared machine may take its time; nothing waits as long as that when all is well."""
DESKTOP, PHONE = (1280, 860), (390, 844)
REPORTS = """
document.addEventListener("securitypolicyviolation", (event) =>
  console.error(`policy: ${event.violatedDirective} refused ${event.blockedURI}`));
"""
RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "best-practice"]


def chromium() -> str | None:
    """Return the path of a Chromium of this machine."""
    named = os.environ.get("CHROMIUM")
    return named or next((path for name in NAMES if (path := shutil.which(name))), None)


needs_chromium = pytest.mark.skipif(
    chromium() is None,
    reason="there is no Chromium: `apt-get install chromium`, or name one in CHROMIUM",
)


@contextmanager
def browser() -> Iterator[Browser]:
    """A headless browser without its sandbox: it sees our own pages alone."""
    with sync_playwright() as playwright:
        expect.set_options(timeout=PATIENCE_MS)
        started = playwright.chromium.launch(executable_path=chromium(), args=["--no-sandbox"])
        yield started
        started.close()


class Visit:
    """One person's tab, and all that it did wrong: errors, refusals, requests that went outside."""

    def __init__(
        self,
        browser: Browser,
        url: str,
        size: tuple[int, int] = DESKTOP,
        theme: Any = "light",
    ) -> None:
        width, height = size
        self.url, self.faults, self.received = url, list[str](), dict[str, int]()
        self._context = browser.new_context(
            viewport={"width": width, "height": height},
            color_scheme=theme,
            reduced_motion="reduce",
        )
        self._context.set_default_timeout(PATIENCE_MS)
        self._context.add_init_script(REPORTS)
        self._context.on("request", self._note_request)
        self.page: Page = self._context.new_page()
        self.page.on("console", self._note_console)
        self.page.on("pageerror", lambda error: self.faults.append(f"error: {error}"))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._context.close()

    def open(self, where: str, heading: str) -> None:
        """Go to a page of the console, and wait for its heading and until nothing is loading."""
        self.page.goto(f"{self.url}/console#/{where}")
        self.page.get_by_role("heading", name=heading, level=1).wait_for()
        self.settle()

    def settle(self) -> None:
        """Wait until nothing on the page says that it is loading."""
        expect(self.page.locator(".loading")).to_have_count(0)

    def check(self) -> None:
        """Fail if the tab did something wrong so far."""
        assert self.faults == [], self.faults

    def check_accessible(self, only: str | None = None) -> None:
        """Fail where axe finds a fault in the page as it is now, by all rules or one of them."""
        script = (files("axe_playwright_python") / "axe.min.js").read_text(encoding="utf-8")
        self.page.evaluate(script)
        rules = RULES if only is None else {"type": "rule", "values": [only]}
        found = self.page.evaluate("(rules) => axe.run(document, {runOnly: rules})", rules)
        assert [
            (one["id"], [node["html"][:200] for node in one["nodes"]])
            for one in found["violations"]
        ] == [], self.page.url

    def check_width(self) -> None:
        """Fail if the page must be scrolled sideways."""
        over = self.page.evaluate("document.documentElement.scrollWidth - innerWidth")
        assert over <= 0, f"{self.page.url} is {over} pixels too wide"

    def _note_console(self, message: ConsoleMessage) -> None:
        if message.type in {"error", "warning"}:
            self.faults.append(f"{message.type}: {message.text} {message.location['url']}")

    def _note_request(self, request: Request) -> None:
        if not request.url.startswith((self.url, "data:")):
            self.faults.append(f"outside: {request.url}")
