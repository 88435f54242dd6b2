"""A new family takes three files and no other change: a copy of the source tree gets one.

The files are a module with the ranker, a module with the recipe, and the table of families with one
more entry.
"""

import filecmp
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
TOY = Path(__file__).parent / "toy_family"
TREES = ("core", "service", "hedgerow")
THREE = {
    "service/ranking/families.py",
    "service/ranking/price.py",
    "service/training/recipes/by_price.py",
}
IMPORT = "from service.ranking.price import RECIPES, read_prices\n"
ENTRY = """\
        Family(
            strategy="price",
            number=11,
            title="Price",
            about="Lists items that cost about as much as those that somebody liked.",
            recipes=RECIPES,
            read=read_prices,
        ),
    )
)
"""


@pytest.fixture(scope="module")
def grown(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the source tree with one more family."""
    root = tmp_path_factory.mktemp("grown")
    for tree in (*TREES, "tests"):
        # with the compiled kernels
        shutil.copytree(ROOT / tree, root / tree)
    shutil.copy(ROOT / "pyproject.toml", root)
    shutil.copy(TOY / "price.py", root / "service/ranking/price.py")
    shutil.copy(TOY / "by_price.txt", root / "service/training/recipes/by_price.py")
    table = root / "service/ranking/families.py"
    before, end, after = table.read_text().partition("    )\n)\n")
    start, first, rest = before.partition("from service.ranking.starred import")
    assert first, "the imports have changed"
    assert end, "the table has changed"
    table.write_text(start + IMPORT + first + rest + ENTRY + after)
    return root


def differing(root: Path) -> set[str]:
    """Return the source files that are not the same in the repository."""
    found = {path.relative_to(root) for tree in TREES for path in (root / tree).rglob("*.py")}
    found |= {path.relative_to(ROOT) for tree in TREES for path in (ROOT / tree).rglob("*.py")}
    same, _, _ = filecmp.cmpfiles(root, ROOT, [str(one) for one in found], shallow=False)
    return {one.as_posix() for one in found} - set(same)


def run(root: Path, *arguments: str) -> None:
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *arguments]
    done = subprocess.run(command, check=False, cwd=root, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-5_000:] + done.stderr[-2_000:]


def test_three_files_are_all_that_differs(grown: Path) -> None:
    assert differing(grown) == THREE


def test_it_keeps_the_contract_of_all_families(grown: Path) -> None:
    run(grown, "tests/ranking/test_contract.py", "-k", "by-price")


def test_it_is_ordered_trained_and_served(grown: Path) -> None:
    run(grown, "tests/ranking/toy_family/checks.py")
