"""Filters beside deciding document by document, and texts that are no filters."""

import operator
from contextlib import suppress

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.errors import FilterSyntax
from core.filter import MAX_DEPTH, MAX_TERMS, Columns, Joined, Not, parse

ORDER = {"<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge}


def kind(value):
    return float if type(value) is int else type(value)


def holds(expression, facts):
    """Decide about one document, as the columns must."""
    if isinstance(expression, Not):
        return not holds(expression.part, facts)
    if isinstance(expression, Joined):
        each = [holds(part, facts) for part in expression.parts]
        return any(each) if expression.any else all(each)
    said = facts.get(expression.name, [])
    own = list(said) if isinstance(said, list) else [said]
    for literal in expression.values:
        comparable = [value for value in own if kind(value) is kind(literal)]
        if expression.op == "!=":
            if comparable and literal not in comparable:
                return True
        elif expression.op in ORDER:
            if any(ORDER[expression.op](value, literal) for value in comparable):
                return True
        elif literal in comparable:
            return True
    return False


NAMES = st.sampled_from(["year", "tags", "new", "category"])
TEXT = st.sampled_from(["", "a", "b", "it's", "\0", "a\0", "é", "\U0001f33f", "\uffee", "(", "="])
NUMBER = st.sampled_from([0, 1, -1, 2.5, 2024, 2**53, 1e-9])
VALUE = st.one_of(TEXT, NUMBER, st.booleans(), st.lists(TEXT, max_size=3))
FACTS = st.dictionaries(NAMES, VALUE, max_size=4)


def written(value):
    if isinstance(value, bool):
        return "true" if value else "false"
    return "'" + value.replace("'", "''") + "'" if isinstance(value, str) else repr(value)


@st.composite
def terms(draw):
    op = draw(st.sampled_from(["=", "!=", "<", "<=", ">", ">=", "in", "has"]))
    scalar = st.one_of(TEXT, NUMBER) if op in ORDER else st.one_of(TEXT, NUMBER, st.booleans())
    if op != "in":
        return f"{draw(NAMES)} {op} {written(draw(scalar))}"
    values = draw(st.lists(scalar, min_size=1, max_size=3))
    return f"{draw(NAMES)} in ({', '.join(map(written, values))})"


FILTERS = st.recursive(
    terms(),
    lambda inner: st.one_of(
        inner.map(lambda one: f"not {one}"),
        inner.map(lambda one: f"( {one})"),
        st.tuples(inner, st.sampled_from(["and", "or"]), inner).map(" ".join),
    ),
    max_leaves=6,
)


@given(FILTERS, st.lists(FACTS, max_size=6))
def test_columns_decide_like_document_by_document(text, facts):
    read = parse(text)
    mask = read.mask(Columns.of(facts, read.names))
    assert mask.tolist() == [holds(read.expression, one) for one in facts]


@given(
    FILTERS,
    st.lists(FACTS, min_size=1, max_size=6),
    st.dictionaries(st.integers(0, 5), FACTS, max_size=3),
)
def test_replaced_facts_equal_facts_set_at_once(text, facts, changes):
    changes = {number % len(facts): new for number, new in changes.items()}
    read = parse(text)
    columns = Columns.of(facts, read.names).replaced(changes, read.names)
    now = [changes.get(number, one) for number, one in enumerate(facts)]
    assert read.mask(columns).tolist() == read.mask(Columns.of(now, read.names)).tolist()
    for column in columns.columns.values():
        assert (np.diff(column.owner) >= 0).all()
        assert column.owner.size == column.value.size


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("year = 2000 or year = 2001 and new = true", [True, False, True]),
        ("(year = 2000 or year = 2001) and new = true", [False, False, True]),
        ("not year = 2000 and new = true", [False, False, True]),
        ("not (year = 2000 and new = true)", [True, True, True]),
        ("not not year=2000", [True, False, False]),
        ("category = 'film'", [True, False, True]),
        ("category!='film'", [False, True, False]),
        ("category has 'drama' and category has 'film'", [False, False, True]),
        ("category in ('drama', 'series')", [False, True, True]),
        ("category >= 'film'", [True, True, True]),
        ("year <= 2e3", [True, False, False]),
        ("year > -.5", [True, False, True]),
        ("year = 'x'", [False, False, False]),
        ("nothing != 1", [False, False, False]),
        ("\tyear\n=  2000 ", [True, False, False]),
    ],
)
def test_filters_select_the_expected_items(text, expected):
    facts = [
        {"year": 2000, "category": ["film"]},
        {"category": ["series"]},
        {"year": 2001, "new": True, "category": ["film", "drama"]},
    ]
    read = parse(text)
    assert read.mask(Columns.of(facts, read.names)).tolist() == expected


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("", "at character 1 of the filter: expected a feature"),
        ("   ", "at character 4 of the filter: expected a feature"),
        ("year", "at character 5 of the filter: expected one of = != < <= > >= in has"),
        ("year ~ 3", "at character 6 of the filter: expected a comparison"),
        ("year '=' 3", "at character 6 of the filter: expected one of ="),
        ("year =", "at character 7 of the filter: expected a number"),
        ("year = nan", "at character 8 of the filter: expected a number"),
        ("year = 1e999", "at character 8 of the filter: expected a number"),
        ('year = "x"', "single quotes"),
        ("year = 'x", "single quotes"),
        ("year = '\ud800'", "single quotes"),
        ("year < true", "expected a number or a string"),
        ("year = 3 year = 4", "at character 10 of the filter: expected `and`, `or` or the end"),
        ("year = 12b", "at character 10 of the filter"),
        ("(year = 3", r"at character 10 of the filter: expected `and`, `or` or `\)`"),
        ("year = 3)", "at character 9 of the filter"),
        ("year in 'x'", r"expected `\(`"),
        ("year in ()", "expected a number"),
        ("year in (1 2)", r"expected `,` or `\)`"),
        ("year in (1, )", "expected a number"),
        ("'(' = 1", "at character 1 of the filter: expected a feature"),
        ("and = 1", "expected a feature"),
        ("2000 = year", "expected a feature"),
        ("a = 1 and", "expected a feature"),
        ("jahr_\u00fc = 1", "expected a comparison"),
        ("(" * 500, f"at most {MAX_DEPTH} levels"),
        ("not " * 200 + "a = 1", f"at most {MAX_DEPTH} levels"),
        (" or ".join(["a = 1"] * (MAX_TERMS + 1)), f"at most {MAX_TERMS} comparisons"),
        ("a = 1" + " " * 1_000, "at most 1000 characters"),
    ],
)
def test_an_error_names_the_position_and_the_expected_token(text, place):
    with pytest.raises(FilterSyntax, match=place):
        parse(text)


@given(st.text(max_size=40) | st.text("ab='()<>! ,.0123andortinhs", max_size=40))
def test_any_text_is_a_filter_or_an_invalid_filter(text):
    with suppress(FilterSyntax):
        parse(text)


def test_the_bounds_themselves_are_allowed():
    parse(" or ".join(["a = 1"] * MAX_TERMS))
    parse("(" * MAX_DEPTH + "a=1" + ")" * MAX_DEPTH)
    parse("a = 1".ljust(1_000))
