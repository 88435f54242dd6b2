"""Filters of items: ``year >= 2020 and not (tags has 'slow' or category = 'film')``.

``parse`` reads a text once; ``Filter.mask`` evaluates it for all items of some ``Columns`` at once.
A comparison is true for an item if any of the item's values of that feature satisfies it (a list
has several values). It is false if the item lacks the feature or has values of another type.
"""

import operator
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from core.errors import FilterSyntax
from core.types import I32

MAX_LENGTH, MAX_TERMS, MAX_DEPTH = 1_000, 50, 50
"""Bounds of a filter: characters, comparisons, levels of nesting."""
CATEGORY = "category"
"""Name of an item's categories in filters."""

Mask = NDArray[np.bool_]
Value = bool | int | float | str
Facts = Mapping[str, Value | Sequence[Value]]
"""Features of one item: name -> value or list of values."""

TEXT = np.dtypes.StringDType()
_TYPES: dict[type, Any] = {bool: np.dtype(np.bool_), float: np.dtype(np.float64), str: TEXT}
_COMPARISONS: dict[str, Callable[[Any, Any], Any]] = {
    "=": operator.eq,
    "has": operator.eq,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
_OPERATORS = {*_COMPARISONS, "!=", "in"}
_ORDERED = {"<", "<=", ">", ">="}
_WORDS = {"and", "or", "not", "in", "has", "true", "false"}

# --- columns ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Column:
    """Values of one feature and one type: item ``owner[j]`` has ``value[j]``.

    Both arrays are (m,), sorted by owner.
    """

    owner: I32
    value: NDArray[Any]


@dataclass(frozen=True)
class Columns:
    """Some features of items 0 .. n - 1: columns by (feature, bool | float | str)."""

    n: int
    columns: Mapping[tuple[str, type], Column]

    @classmethod
    def of(cls, facts: Sequence[Facts], names: Iterable[str]) -> "Columns":
        """Return the columns of these features of n items.

        >>> Columns.of([{"year": 2024}, {"tags": ["a", "b"]}], ["tags"]).columns["tags", str].owner
        array([1, 1], dtype=int32)
        """
        columns = {}
        for name in names:
            values = (item.get(name) for item in facts)
            for kind, column in _typed(enumerate(values)).items():
                columns[name, kind] = column
        return cls(len(facts), columns)

    def replaced(self, facts: Mapping[int, Facts], names: Iterable[str]) -> "Columns":
        """Return the columns after an update of some items, by number; ``names`` as in ``of``."""
        numbers = sorted(facts)
        changed = np.zeros(self.n, np.bool_)
        changed[numbers] = True
        columns = {}
        for name in names:
            new = _typed((number, facts[number].get(name)) for number in numbers)
            for kind in _TYPES:
                parts = [p for p in (self.columns.get((name, kind)), new.get(kind)) if p]
                if parts:
                    columns[name, kind] = _joined(parts, changed, fresh=kind in new)
        return Columns(self.n, columns)


def _typed(values: Iterable[tuple[int, Value | Sequence[Value] | None]]) -> dict[type, Column]:
    """Return the columns of (item, value or list) pairs by the type of the value."""
    by_type: dict[type, tuple[list[int], list[Value]]] = {}
    for number, given in values:
        if given is None:
            continue
        members: Sequence[Value] = given if isinstance(given, list | tuple) else (given,)
        for value in members:
            owners, owned = by_type.setdefault(_kind(value), ([], []))
            owners.append(number)
            owned.append(value)
    return {
        kind: Column(np.array(owners, np.int32), np.array(owned, _TYPES[kind]))
        for kind, (owners, owned) in by_type.items()
    }


def _kind(value: Value) -> type:
    return float if type(value) is int else type(value)


def _joined(parts: list[Column], changed: Mask, *, fresh: bool) -> Column:
    """Return the remaining old values with the new ones, sorted by owner.

    The new ones, if there are any (``fresh``), are the last of ``parts``.
    """
    kept = [(p.owner, p.value) for p in parts[-1:] if fresh]
    for old in parts[: len(parts) - fresh]:
        stays = ~changed[old.owner]
        kept.append((old.owner[stays], old.value[stays]))
    owner = np.concatenate([owners for owners, _ in kept])
    order = np.argsort(owner, kind="stable")
    return Column(owner[order], np.concatenate([value for _, value in kept])[order])


# --- filters ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Term:
    """A comparison ``name op value``; ``in`` has several values, all other operators one."""

    name: str
    op: str
    values: tuple[Value, ...]

    def mask(self, columns: Columns) -> Mask:
        """Return the items (n,) for which it is true."""
        out = np.zeros(columns.n, np.bool_)
        for value in self.values:
            column = columns.columns.get((self.name, _kind(value)))
            if column is not None:
                # as an array: a plain str would lose trailing NULs
                self._mark(column, np.array(value, column.value.dtype), out)
        return out

    def _mark(self, column: Column, value: NDArray[Any], out: Mask) -> None:
        if self.op == "!=":
            out[column.owner] = True
            out[column.owner[column.value == value]] = False
        else:
            compare = operator.eq if self.op == "in" else _COMPARISONS[self.op]
            out[column.owner[compare(column.value, value)]] = True


@dataclass(frozen=True)
class Not:
    """The negation of ``part``."""

    part: "Expression"

    def mask(self, columns: Columns) -> Mask:
        """Return the items (n,) for which it is true."""
        return ~self.part.mask(columns)


@dataclass(frozen=True)
class Joined:
    """The conjunction of ``parts``, or with ``any`` their disjunction."""

    parts: tuple["Expression", ...]
    any: bool

    def mask(self, columns: Columns) -> Mask:
        """Return the items (n,) for which it is true."""
        out = self.parts[0].mask(columns)
        for part in self.parts[1:]:
            if self.any:
                out |= part.mask(columns)
            else:
                out &= part.mask(columns)
        return out


Expression = Term | Not | Joined


@dataclass(frozen=True)
class Filter:
    """A parsed filter."""

    expression: Expression
    compared: frozenset[tuple[str, type]]
    """Features in the filter, each with the types of the values it is compared with."""

    @cached_property
    def names(self) -> frozenset[str]:
        """The features in the filter."""
        return frozenset(name for name, _ in self.compared)

    def mask(self, columns: Columns) -> Mask:
        """Return the items (n,) that pass; a feature without a column is missing from all items.

        >>> columns = Columns.of([{"year": 2024}, {}], ["year"])
        >>> parse("tags has 'b' or not year > 2000").mask(columns)
        array([False,  True])
        """
        return self.expression.mask(columns)


@lru_cache(maxsize=1_024)
def parse(text: str) -> Filter:
    """Return the filter of a text; raise FilterSyntax, which says where and what was expected."""
    if len(text) > MAX_LENGTH:
        raise FilterSyntax(f"a filter has at most {MAX_LENGTH} characters, not {len(text)}")
    reader = _Reader(text)
    expression = reader.expression()
    reader.end()
    return Filter(expression, frozenset(reader.compared))


# --- parsing ------------------------------------------------------------------------------------

_TOKEN = re.compile(
    r"""\s*(?:
    (?P<word>[A-Za-z_][A-Za-z0-9_]*)
    | (?P<number>[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?)
    | '(?P<text>(?:[^'\ud800-\udfff]|'')*)'
    | (?P<sign><=|>=|!=|[=<>(),])
    | (?P<end>$)
    )""",
    re.VERBOSE | re.ASCII,
)
_VALUE = "a number, a string in single quotes, true or false"


class _Reader:
    """Parses a filter by recursive descent.

    The current token has a ``kind``, a ``text`` and a position ``at``.
    """

    def __init__(self, text: str) -> None:
        self._source = text
        self._next = 0
        self._depth = self._terms = 0
        self.compared: set[tuple[str, type]] = set()
        self._advance("a feature, `not` or `(`")

    def expression(self) -> Expression:
        """Parse ``conjunction or conjunction ...``."""
        return self._chain("or", lambda: self._chain("and", self._negation))

    def end(self) -> None:
        """Refuse anything after the expression."""
        if self.kind != "end":
            self._fail("`and`, `or` or the end")

    def _chain(self, word: str, part: Callable[[], Expression]) -> Expression:
        parts = [part()]
        while self._is("word", word):
            self._advance("a feature, `not` or `(`")
            parts.append(part())
        return parts[0] if len(parts) == 1 else Joined(tuple(parts), any=word == "or")

    def _negation(self) -> Expression:
        negated = self._is("word", "not")
        if not negated and not self._is("sign", "("):
            return self._term()
        self._depth += 1
        if self._depth > MAX_DEPTH:
            self._fail(f"at most {MAX_DEPTH} levels of `not` and brackets")
        self._advance("a feature, `not` or `(`")
        if negated:
            expression: Expression = Not(self._negation())
        else:
            expression = self.expression()
            self._take(")", "`and`, `or` or `)`")
        self._depth -= 1
        return expression

    def _term(self) -> Term:
        if self.kind != "word" or self.text in _WORDS:
            self._fail("a feature, `not` or `(`")
        self._terms += 1
        if self._terms > MAX_TERMS:
            self._fail(f"at most {MAX_TERMS} comparisons")
        name = self.text
        self._advance("a comparison")
        op = self.text
        if self.kind not in {"word", "sign"} or op not in _OPERATORS:
            self._fail("one of = != < <= > >= in has")
        self._advance("a value")
        values = self._list() if op == "in" else (self._value(op),)
        self.compared.update((name, _kind(value)) for value in values)
        return Term(name, op, values)

    def _list(self) -> tuple[Value, ...]:
        self._take("(", "`(` and values with commas between them")
        values = [self._value("in")]
        while self._is("sign", ","):
            self._advance("a value")
            values.append(self._value("in"))
        self._take(")", "`,` or `)`")
        return tuple(values)

    def _value(self, op: str) -> Value:
        kind, text, value = self.kind, self.text, None
        if kind == "text":
            value = text.replace("''", "'")
        elif kind == "number" and np.isfinite(float(text)):
            value = float(text)
        elif kind == "word" and text in {"true", "false"} and op not in _ORDERED:
            value = text == "true"
        if value is None:
            ordered = "a number or a string in single quotes"
            self._fail(ordered if op in _ORDERED else _VALUE)
        self._advance("`and`, `or` or the end")
        return value

    def _is(self, kind: str, text: str) -> bool:
        return (self.kind, self.text) == (kind, text)

    def _take(self, sign: str, expected: str) -> None:
        if not self._is("sign", sign):
            self._fail(expected)
        self._advance("`and`, `or` or the end")

    def _advance(self, expected: str) -> None:
        token = _TOKEN.match(self._source, self._next)
        if token is None:
            rest = self._source[self._next :]
            self.at = self._next + len(rest) - len(rest.lstrip())
            self._fail(f"{expected}; strings stand between single quotes, '' is a quote in one")
        self.kind = str(token.lastgroup)
        self.text = token[self.kind]
        self.at = token.start(self.kind) - (self.kind == "text")
        self._next = token.end()

    def _fail(self, expected: str) -> NoReturn:
        raise FilterSyntax(f"at character {self.at + 1} of the filter: expected {expected}")
