"""The pages of the documentation and their content."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PAGES = [
    *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md", "bench/README.md")),
    *sorted((ROOT / "clients").glob("*/README.md")),
    *sorted((ROOT / "bench" / "results").glob("*.md")),
    *sorted(DOCS.rglob("*.md")),
]

SERVICE = "localhost:8000"
"""Where the examples of the pages expect a service."""


def name_of(page: Path) -> str:
    """Return the page's path inside the repository: the id of its tests."""
    return str(page.relative_to(ROOT))


def blocks(page: Path, language: str) -> list[str]:
    """Return the fenced blocks of a page that are in this language."""
    return re.findall(rf"^```{language}\n(.*?)^```", page.read_text(), re.MULTILINE | re.DOTALL)


def code(text: str) -> list[str]:
    """Return the text of code blocks and between backticks."""
    return re.findall(r"```.*?```|`[^`\n]+`", text, re.DOTALL)


def all_code() -> str:
    """Return the code of all pages."""
    return "\n".join("\n".join(code(page.read_text())) for page in PAGES)


def anchors(page: Path) -> set[str]:
    """Return the anchors that GitHub gives the headings of a page."""
    text = re.sub(r"^```.*?^```", "", page.read_text(), flags=re.MULTILINE | re.DOTALL)
    return {anchor(heading) for heading in re.findall(r"^#+ (.*)$", text, re.MULTILINE)}


def anchor(heading: str) -> str:
    """Return the anchor of one heading: lower case, no punctuation, hyphens for spaces."""
    plain = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).lower()
    return re.sub(r"[^\w\- ]", "", plain).replace(" ", "-")
