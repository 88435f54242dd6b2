"""The documentation as a site: all pages in it, no dead link, no request to another host."""

import json
import re
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache, partial
from html import unescape
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from importlib.util import find_spec
from pathlib import Path
from urllib.parse import unquote

import pytest

from tests.docs.pages import DOCS, ROOT
from tests.service.console.chromium import Visit, browser, needs_chromium
from website.build import build, navigation, run_zensical

pytestmark = pytest.mark.skipif(
    find_spec("zensical") is None, reason="zensical is not installed: `make .venv/installed-site`"
)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The whole site; that it is built at all says that no check of Zensical warned."""
    return build(tmp_path_factory.mktemp("site"))


def links_of(page: Path) -> list[str]:
    """Return what a page links or loads."""
    found = re.findall(r'\s(?:href|src)="?([^"\s>]+)', page.read_text())
    return [unescape(link) for link in found]


@cache
def ids_of(page: Path) -> frozenset[str]:
    """Return the anchors of a page."""
    return frozenset(re.findall(r'\sid="?([^"\s>]+)', page.read_text()))


def is_dead(page: Path, link: str, site: Path) -> bool:
    """Whether a link leads to no file of the site, or to no anchor of a page."""
    path, _, anchor = link.partition("#")
    start = site if path.startswith("/") else page.parent
    target = start / unquote(path.partition("?")[0]).lstrip("/") if path else page
    if target.is_dir():
        target /= "index.html"
    if not target.is_file():
        return True
    return bool(anchor) and target.suffix == ".html" and unquote(anchor) not in ids_of(target)


def test_every_page_of_the_documentation_is_in_the_navigation() -> None:
    named = navigation()
    pages = [str(page.relative_to(ROOT)) for page in DOCS.rglob("*.md")]
    assert [page for page in pages if json.dumps(page) not in named] == []


def test_every_page_is_built_and_no_link_is_dead(site: Path) -> None:
    built = {str(page.relative_to(site)) for page in site.rglob("*.html")}
    pages = {str(page.relative_to(ROOT).with_suffix(".html")) for page in DOCS.glob("*/*.md")}
    assert {page.replace("README", "index") for page in pages} <= built
    local = [
        (page, link)
        for page in site.rglob("*.html")
        for link in set(links_of(page))
        if not re.match(r"[a-z]+:|//", link)
    ]
    assert len(local) > 1_000
    assert [(str(page), link) for page, link in local if is_dead(page, link, site)] == []


def test_a_page_loads_nothing_from_another_host(site: Path) -> None:
    loads = re.compile(r"<(?:script|img|iframe|source)\b[^>]*src=\"?(?:https?:)?//|<link\b[^>]*//")
    pages = list(site.rglob("*.html"))
    assert [str(page) for page in pages if loads.search(page.read_text())] == []
    styles = [sheet.read_text() for sheet in site.rglob("*.css")]
    assert styles
    assert not any(re.search(r"@import|url\(['\"]?(?:https?:)?//", sheet) for sheet in styles)


def test_a_dead_link_ends_the_build_with_an_error(tmp_path: Path) -> None:
    (tmp_path / "site-pages").mkdir()
    (tmp_path / "site-pages" / "index.md").write_text("# A page\n\n[dead](nowhere.md)\n")
    (tmp_path / "zensical.toml").write_text(
        '[project]\nsite_name = "A site"\ndocs_dir = "site-pages"\n'
    )
    with pytest.raises(subprocess.CalledProcessError):
        run_zensical(tmp_path)


@contextmanager
def served(folder: Path) -> Iterator[str]:
    """Serve a folder on loopback as any web server would, and yield its address."""
    handler = partial(QuietHandler, directory=str(folder))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()


class QuietHandler(SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        """Print nothing."""


@needs_chromium
def test_a_reader_without_the_internet_finds_a_page_by_words(site: Path) -> None:
    with served(site) as url, browser() as chromium, Visit(chromium, url) as visit:
        visit.page.goto(f"{url}/index.html")
        for kind in ("Tutorial", "How-to", "Reference", "Explanation"):
            assert visit.page.get_by_role("link", name=kind, exact=True).count() > 0
        visit.page.get_by_role("button", name="Search").click()
        visit.page.get_by_role("combobox", name="Search").fill("idempotency")
        visit.page.locator("a[href*='/docs/reference/feedback.html?h=']").first.click()
        visit.page.get_by_role("heading", name="Feedback", level=1).wait_for()
        visit.check()
