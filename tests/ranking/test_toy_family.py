"""A new family takes three files and no other change: a copy of the source tree gets one.

The files are a module with the ranker, a module with the recipe, and the table of families with one
more entry. A family without training has no recipe: instead, the composition root of an api process
and the states of a view hand out its state.
"""

import filecmp
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from service.ranking.families import STRATEGIES

ROOT = Path(__file__).parents[2]
TOY = Path(__file__).parent / "toy_family"
TREES = ("core", "service", "hedgerow")
THREE = {
    "service/ranking/families.py",
    "service/ranking/trained/price.py",
    "service/training/recipes/by_price.py",
}
IMPORT = "from service.ranking.trained.price import RECIPES, read_prices\n"
ENTRY = f"""\
        Family(
            strategy="price",
            number={len(STRATEGIES)},
            title="Price",
            about="Lists items that cost about as much as those that somebody liked.",
            recipes=RECIPES,
            read=read_prices,
        ),
"""
END = "    )\n)\n"
FOUR = {
    "service/learning/following/states.py",
    "service/ranking/families.py",
    "service/ranking/untrained/nearby.py",
    "service/runtime/followed.py",
}
STATE = "from service.ranking.untrained.nearby import NearbyState"
UNTRAINED_ENTRY = f"""\
        Family(
            strategy="nearby",
            number={len(STRATEGIES)},
            title="Nearby",
            about="Lists items with numbers near that of the latest item.",
            reasons=Reasons(
                unlearned="nearby has seen no items", unknown="nearby needs a latest item"
            ),
        ),
"""
FOLLOWED = {
    "from service.served_models": f"{STATE}, FollowedNearby\nfrom service.served_models",
    "self.latest]": "self.latest, FollowedNearby(NearbyState(8, {}))]",
}
VIEWED = {
    "from service.ranking.untrained.online": f"{STATE}\nfrom service.ranking.untrained.online",
    "return orders,": "return NearbyState(len(view.items), orders.seen_through), orders,",
}


@pytest.fixture(scope="module")
def grown(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the source tree with one more family."""
    root = copied(tmp_path_factory)
    shutil.copy(TOY / "price.py", root / "service/ranking/trained/price.py")
    shutil.copy(TOY / "by_price.txt", root / "service/training/recipes/by_price.py")
    first = "from service.ranking.trained.starred import"
    change(root / "service/ranking/families.py", {first: IMPORT + first, END: ENTRY + END})
    return documented(root)


@pytest.fixture(scope="module")
def grown_untrained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the source tree with one more personal family without training."""
    root = copied(tmp_path_factory)
    shutil.copy(TOY / "nearby.py", root / "service/ranking/untrained/nearby.py")
    change(root / "service/ranking/families.py", {END: UNTRAINED_ENTRY + END})
    change(root / "service/runtime/followed.py", FOLLOWED)
    change(root / "service/learning/following/states.py", VIEWED)
    return documented(root)


def copied(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a copy of the source tree, with the compiled kernels."""
    root = tmp_path_factory.mktemp("grown")
    for tree in (*TREES, "tests"):
        shutil.copytree(ROOT / tree, root / tree)
    shutil.copy(ROOT / "pyproject.toml", root)
    return root


def documented(root: Path) -> Path:
    """Write the OpenAPI document of a copy, which its answers must keep; return the copy."""
    command = [sys.executable, "-m", "service.cli", "openapi"]
    made = subprocess.run(command, check=True, cwd=root, capture_output=True, text=True)
    (root / "openapi").mkdir()
    (root / "openapi" / "openapi.json").write_text(made.stdout)
    return root


def change(path: Path, instead: dict[str, str]) -> None:
    """Replace texts that occur once in a file."""
    text = path.read_text()
    for old, new in instead.items():
        assert text.count(old) == 1, f"{path.name} has changed: {old!r}"
        text = text.replace(old, new)
    path.write_text(text)


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


def test_a_family_without_training_takes_four_files(grown_untrained: Path) -> None:
    assert differing(grown_untrained) == FOUR


def test_a_family_without_training_keeps_the_contract_and_serves(grown_untrained: Path) -> None:
    contract = "tests/ranking/test_contract.py"
    run(grown_untrained, contract, "tests/ranking/toy_family/nearby_checks.py", "-k", "nearby")
