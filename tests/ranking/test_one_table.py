"""Families are listed in one table: no other file names one as a text."""

import ast
from pathlib import Path

import pytest

from service.ranking.families import FAMILIES
from service.ranking.strategies import DEFAULT_RECIPE

ROOT = Path(__file__).parents[2]
TABLE = {"service/ranking/families.py", "service/ranking/strategies.py"}
RECIPES = {
    "core/batch/fbgd/config.py",
    "core/labels/config.py",
    "core/ordinal/config.py",
    "service/training/recipes/popular.py",
}
"""They name their own recipe, and the table has it from there."""
OTHER_MEANINGS = {
    # an array of popular items
    "core/batch/contexts/ranker.py": {"popular"},
    "core/batch/contexts/snapshot.py": {"popular"},
    # parts of a snapshot, a folder, a group of keys
    "core/ordinal/snapshot.py": {"ordinal"},
    "service/runtime.py": {"online"},
    "service/store/profiles/reader.py": {"online"},
    # verbs of the command line
    "service/cli/eval/main.py": {"online", "ordinal"},
    # the answer of the online model says so in its type
    "service/api/slates/prediction_schemas.py": {"online"},
    "service/api/slates/predictions.py": {"online"},
    # the baseline of a report
    "service/cli/eval/next.py": {"popular"},
    "service/cli/eval/topk.py": {"popular"},
    "service/cli/retrain.py": {"popular"},
    "service/evaluation/next.py": {"popular"},
    "service/evaluation/topk.py": {"popular"},
    "service/training/work.py": {"popular"},
}
"""Files in which the name of a family means something else, or is a promise of the API."""


def named(path: Path) -> set[str]:
    """Return the families that a module names in a text of its own."""
    constants = (node for node in ast.walk(ast.parse(path.read_text())))
    texts = {node.value for node in constants if isinstance(node, ast.Constant)}
    return {name for name in FAMILIES if name in texts}


MODULES = sorted(
    path.relative_to(ROOT).as_posix()
    for top in ("core", "service")
    for path in (ROOT / top).rglob("*.py")
)


@pytest.mark.parametrize("module", sorted({*MODULES} - TABLE - RECIPES))
def test_no_other_file_names_a_family(module: str) -> None:
    assert named(ROOT / module) == OTHER_MEANINGS.get(module, set())


def test_the_default_recipe_is_one_of_the_table() -> None:
    assert DEFAULT_RECIPE in {one.name for family in FAMILIES.values() for one in family.recipes}
