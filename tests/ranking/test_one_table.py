"""Families are listed in one table: no other file names one as a text."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from service.ranking.families import FAMILIES
from service.ranking.strategies import DEFAULT_RECIPE

ROOT = Path(__file__).parents[2]
WORDS = {"popular", "online", "ordinal", "neighbours", "next", "sequence", "content", "here"}
"""Families whose names are words with other meanings too, such as settings, verbs and arrays."""
NAMES = {"model", "strategy"}
"""Where a text is the name of a family, even if it is one of the words."""
ALLOWED = {
    # the table and its constants
    "service/ranking/families.py",
    "service/ranking/strategies.py",
    # names of recipes, which the table has from there
    "core/batch/fbgd/config.py",
    "core/labels/config.py",
    # a promise of the API: the answer of the online model says so in its type
    "service/api/slates/prediction_schemas.py",
    "service/api/slates/predictions.py",
}


def named(tree: ast.AST) -> Iterator[str]:
    """Yield the families that a module names in texts of its own."""
    for node in ast.walk(tree):
        for text in _texts(node):
            if text in FAMILIES and (text not in WORDS or _is_name(node)):
                yield text


def _texts(node: ast.AST) -> Iterator[str]:
    """Yield the texts right inside a node, also those of a literal collection."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.Constant) and isinstance(child.value, str):
            yield child.value
        elif isinstance(child, ast.Tuple | ast.List | ast.Set):
            yield from _texts(child)


def _is_name(node: ast.AST) -> bool:
    """Whether texts in this place name families: compared, passed or assigned as such, typed."""
    match node:
        case ast.Compare(left=ast.Name(id=name) | ast.Attribute(attr=name)):
            return name in NAMES
        case ast.keyword(arg=name) | ast.AnnAssign(target=ast.Name(id=name)):
            return name in NAMES
        case ast.Subscript(value=ast.Name(id=name)):
            return name in {"FAMILIES", "Literal"}
    return False


@pytest.mark.parametrize(
    "module",
    sorted(
        path.relative_to(ROOT).as_posix()
        for top in ("core", "service")
        for path in (ROOT / top).rglob("*.py")
    ),
)
def test_no_other_file_names_a_family(module: str) -> None:
    found = set(named(ast.parse((ROOT / module).read_text())))
    assert bool(found) == (module in ALLOWED), found


@pytest.mark.parametrize(
    "text",
    [
        "model = 'fbgd'",
        "if ranker.strategy == 'online': pass",
        "if model in ('online', 'popular'): pass",
        "evaluate(strategy='popular')",
        "model: str = 'ordinal'",
        "FAMILIES['popular']",
        "strategy: Literal['online', 'popular']",
        "ABLE = {'ocmf'}",
    ],
)
def test_a_family_that_is_named_is_found(text: str) -> None:
    assert set(named(ast.parse(text)))


def test_the_default_recipe_is_one_of_the_table() -> None:
    assert DEFAULT_RECIPE in {one.name for family in FAMILIES.values() for one in family.recipes}
