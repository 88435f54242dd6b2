"""The pages hang together: links, routes, options, and a length that can be read."""

import json
import re
from pathlib import Path

import pytest

from service.api.feedback.socket import PATH as WEBSOCKET
from service.api.roles import ROLES
from service.cli.main import load
from tests.docs.pages import DOCS, PAGES, ROOT, all_code, anchors, blocks, name_of

REFERENCE = sorted((DOCS / "reference").glob("*.md"))
MOST_WORDS = 1_800


def leads_nowhere(page: Path, path: str, fragment: str) -> bool:
    """Whether a link of a page leads to no file, or to no heading of it."""
    target = page.parent / path if path else page
    return not target.exists() or (bool(fragment) and fragment not in anchors(target))


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_every_link_of_a_page_leads_somewhere(page: Path) -> None:
    text = re.sub(r"^```.*?^```", "", page.read_text(), flags=re.MULTILINE | re.DOTALL)
    links = re.findall(r"\]\((?!https?:)([^)#\s]*)(?:#([^)\s]+))?\)", text)
    assert [link for link in links if leads_nowhere(page, *link)] == []


def test_every_page_that_the_code_names_exists() -> None:
    tops = ("bench", "core", "hedgerow", "service", "tests", "website")
    sources = [source for top in tops for source in (ROOT / top).rglob("*.py")]
    named = {
        (source.name, *link)
        for source in [*sources, ROOT / "Makefile", ROOT / "pyproject.toml"]
        for link in re.findall(r"\b((?:docs|bench)/[\w/-]+\.md)(?:#([\w-]+))?", source.read_text())
    }
    assert len(named) > 5
    assert [link for link in named if leads_nowhere(ROOT / "README.md", *link[1:])] == []


def test_every_page_can_be_found_from_the_first_one() -> None:
    first = (DOCS / "README.md").read_text()
    pages = {str(page.relative_to(DOCS)) for page in DOCS.glob("*/*.md")}
    assert {page for page in pages if f"({page})" not in first and "adr/" not in page} == set()


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_a_page_of_the_documentation_is_short_enough_to_read(page: Path) -> None:
    generated = page.parent.name == "tables" or page.name in {"settings.md", "metrics.md"}
    by_hand = page.is_relative_to(DOCS) or page.is_relative_to(ROOT / "bench")
    assert generated or not by_hand or len(page.read_text().split()) <= MOST_WORDS


@pytest.mark.parametrize("page", REFERENCE, ids=name_of)
def test_the_json_of_a_reference_page_is_json(page: Path) -> None:
    for block in blocks(page, "json"):
        json.loads(block)


@pytest.mark.parametrize("route", sorted({route for _, route in ROLES}))
def test_every_route_is_in_the_reference(route: str) -> None:
    assert any(route in page.read_text() for page in REFERENCE)


def test_every_path_of_the_api_that_a_page_names_is_a_route() -> None:
    openapi = json.loads((ROOT / "openapi" / "openapi.json").read_text())
    paths = [*openapi["paths"], WEBSOCKET]
    shapes = [re.compile(re.sub(r"\{\w+\}", "[^/]+", path)) for path in paths]
    named = set(re.findall(r"(?:(?<=[\s`'\"])|(?<=:8000))(/v1/[\w/{}%.-]+)", all_code()))
    assert len(named) > 40
    assert {path for path in named if not any(shape.fullmatch(path) for shape in shapes)} == set()


def test_every_option_of_a_verb_that_a_page_names_exists() -> None:
    lines = re.findall(r"\bhedgerow ([a-z]+ [^\n`]*)", all_code())
    assert len(lines) > 20
    assert [line for line in lines if unknown_options(line)] == []


def unknown_options(line: str) -> set[str]:
    """Return the options in a line of the command line that its verb does not have."""
    words = line.partition("#")[0].partition("|")[0].split()
    verb = load(words[0])
    for word in words[1:]:
        verb = getattr(verb, "commands", {}).get(word) or verb
    known = {option for parameter in verb.params for option in parameter.opts}
    return {word.partition("=")[0] for word in words if word.startswith("--")} - known - {"--help"}
