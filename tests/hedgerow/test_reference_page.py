"""The reference page lists exactly the public names, each under its module."""

import importlib
import re

import hedgerow
from tests.docs.pages import DOCS


def listed() -> dict[str, set[str]]:
    """Return the names in the first columns of the tables, by module."""
    found: dict[str, set[str]] = {}
    for section in (DOCS / "reference/python.md").read_text().split("\n## ")[1:]:
        module = section.split("`")[1]
        cells = re.findall(r"^\| (`.*?) \|", section, re.MULTILINE)
        found[module] = set(re.findall(r"`(\w+)`", " ".join(cells)))
    return found


def test_the_page_lists_what_is_public() -> None:
    modules = {f"hedgerow.{name}" for name in hedgerow._MODULES}
    public = {name: set(importlib.import_module(name).__all__) for name in modules}
    assert listed() == public | {"hedgerow": set(hedgerow.__all__) - set(hedgerow._MODULES)}
