"""Build the documentation as a site of plain files that ask no other host: ``make site``.

The pages are copied as they stand, at the same places, so their links hold. The navigation follows
the tables of docs/README.md: a page that is linked there is in it.
"""

import json
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from string import Template

ROOT = Path(__file__).parents[1]
SOURCES = (
    *("README.md", "CHANGELOG.md", "CONTRIBUTING.md", "LICENSE", "llms.txt"),
    *("docs/**/*.md", "docs/**/*.png", "openapi/openapi.json", "clients/*/README.md"),
    *("bench/*.md", "bench/results/*.md", "bench/tables/**/*"),
)
KINDS = ("Tutorial", "How-to", "Reference", "Explanation")


def build(folder: Path) -> Path:
    """Write the site into ``folder``/site and return that."""
    for old in (folder / "site-pages", folder / "site"):
        if old.exists():
            shutil.rmtree(old)
    gather(folder / "site-pages")
    settings = Template(Path(__file__).with_name("zensical.toml").read_text())
    (folder / "zensical.toml").write_text(settings.substitute(nav=navigation()))
    run_zensical(folder)
    return folder / "site"


def gather(pages: Path) -> None:
    """Copy all pages, and the files that they link."""
    found = {path for pattern in SOURCES for path in ROOT.glob(pattern) if path.is_file()}
    for source in sorted(found):
        copy = pages / source.relative_to(ROOT)
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source, copy)


def run_zensical(folder: Path) -> None:
    """Make the site of a folder as its zensical.toml says; a warning (a dead link) is an error."""
    command = Path(sys.executable).with_name("zensical")
    arguments = ("build", "--strict", "--clean", "--config-file", "zensical.toml")
    subprocess.run([command, *arguments], cwd=folder, check=True)  # noqa: S603


def navigation() -> str:
    """Return the pages by kind, then decisions and figures, as an array of TOML."""
    first = (ROOT / "docs" / "README.md").read_text()
    groups = {
        "Start": [ROOT / "README.md", ROOT / "docs/README.md", ROOT / "CHANGELOG.md"],
        **{kind: pages_of(kind, first) for kind in KINDS},
        "Decisions": sorted(ROOT.glob("docs/adr/*.md"), key=lambda page: page.name != "README.md"),
        "Figures": [ROOT / "bench/README.md", *sorted(ROOT.glob("bench/results/*.md"))],
    }
    return _array({name: _array(dict(map(_entry, pages))) for name, pages in groups.items()})


def pages_of(kind: str, first: str) -> list[Path]:
    """Return the pages of docs that the section of this kind in docs/README.md links."""
    section = first.partition(f"\n## {kind}\n")[2].partition("\n## ")[0]
    links = re.findall(r"\]\(([\w-]+/[\w-]+\.md)\)", section)
    return [ROOT / "docs" / link for link in dict.fromkeys(links)]


def _entry(page: Path) -> tuple[str, str]:
    title = page.read_text().partition("\n")[0].removeprefix("# ").replace("`", "")
    return title, json.dumps(str(page.relative_to(ROOT)))


def _array(tables: Mapping[str, str]) -> str:
    """Return inline tables of one key each; a string of JSON is one of TOML."""
    return f"[{', '.join(f'{{ {json.dumps(name)} = {value} }}' for name, value in tables.items())}]"


if __name__ == "__main__":
    print(f"the site is in {build(ROOT / 'build')}")  # noqa: T201
