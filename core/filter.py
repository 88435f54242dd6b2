"""Filters over what is said of items: ``year >= 2020 and not (tags has 'slow' or category = 'film')``.

``parse`` reads the text once, ``Filter.mask`` decides about all items of some ``Columns`` at once. A term holds for
an item if one of its values of that feature satisfies it (a list has several); a feature that an item lacks, or has
with values of another type, makes the term false.
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
CATEGORY = "category"
"""The name that stands for an item's categories."""

Mask = NDArray[np.bool_]
Value = bool | int | float | str
Facts = Mapping[str, Value | Sequence[str]]
"""What is said of one item: feature -> value or list of strings."""

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

# --- what filters look at -----------------------------------------------------------------------------


@dataclass(frozen=True)
class Column:
    """Values of one feature and one type: ``value[j]`` is one of item ``owner[j]``, owners rising. Both (m,)."""

    owner: I32
    value: NDArray[Any]


@dataclass(frozen=True)
class Columns:
    """The facts of items 0 .. n - 1, of some features: columns by (feature, bool | float | str)."""

    n: int
    columns: Mapping[tuple[str, type], Column]

    @classmethod
    def of(cls, facts: Sequence[Facts], names: Iterable[str]) -> "Columns":
        """Return the named features of n items.

        >>> Columns.of([{"year": 2024}, {"tags": ["a", "b"]}], ["tags"]).columns["tags", str].owner
        array([1, 1], dtype=int32)
        """
        columns = {}
        for name in names:
            said = [one.get(name) for one in facts]
            for kind, column in _typed(enumerate(said)).items():
                columns[name, kind] = column
        return cls(len(facts), columns)

    def replaced(self, facts: Mapping[int, Facts], names: Iterable[str]) -> "Columns":
        """Return the columns after some items, by their number, have new facts; ``names`` as in ``of``."""
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


def _typed(values: Iterable[tuple[int, Value | Sequence[str] | None]]) -> dict[type, Column]:
    """Sort (item, value or list) pairs by the type of the value."""
    found: dict[type, tuple[list[int], list[Value]]] = {}
    for number, said in values:
        if said is None:
            continue
        each: Sequence[Value] = said if isinstance(said, list | tuple) else (said,)
        for value in each:
            owners, own = found.setdefault(_kind(value), ([], []))
            owners.append(number)
            own.append(value)
    return {
        kind: Column(np.array(owners, np.int32), np.array(own, _TYPES[kind]))
        for kind, (owners, own) in found.items()
    }


def _kind(value: Value) -> type:
    return float if type(value) is int else type(value)


def _joined(parts: list[Column], changed: Mask, *, fresh: bool) -> Column:
    """Return what is left of the old values with the new ones, the last of ``parts``, in the order of owners."""
    kept = [(p.owner, p.value) for p in parts[-1:] if fresh]
    for old in parts[: len(parts) - fresh]:
        stays = ~changed[old.owner]
        kept.append((old.owner[stays], old.value[stays]))
    owner = np.concatenate([own for own, _ in kept])
    order = np.argsort(owner, kind="stable")
    return Column(owner[order], np.concatenate([value for _, value in kept])[order])


# --- filters ------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Term:
    """``name op value``; ``in`` has several values, every other comparison one."""

    name: str
    op: str
    values: tuple[Value, ...]

    def mask(self, columns: Columns) -> Mask:
        """Mark the items (n,) for which it holds."""
        out = np.zeros(columns.n, np.bool_)
        for value in self.values:
            column = columns.columns.get((self.name, _kind(value)))
            if column is not None:
                # an array: a plain str would lose NULs at its end
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
    """Every item for which ``part`` does not hold."""

    part: "Expression"

    def mask(self, columns: Columns) -> Mask:
        """Mark the items (n,) for which it holds."""
        return ~self.part.mask(columns)


@dataclass(frozen=True)
class Joined:
    """All of the ``parts`` hold, or ``any`` of them."""

    parts: tuple["Expression", ...]
    any: bool

    def mask(self, columns: Columns) -> Mask:
        """Mark the items (n,) for which it holds."""
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
    """A filter that was read."""

    expression: Expression
    compared: frozenset[tuple[str, type]]
    """The features that it looks at, each with the types of the values that it compares them with."""

    @cached_property
    def names(self) -> frozenset[str]:
        """The features that it looks at."""
        return frozenset(name for name, _ in self.compared)

    def mask(self, columns: Columns) -> Mask:
        """Mark the items (n,) that pass; what ``columns`` lack counts as said of no item.

        >>> parse("tags has 'b' or not year > 2000").mask(Columns.of([{"year": 2024}, {}], ["year"]))
        array([False,  True])
        """
        return self.expression.mask(columns)


@lru_cache(maxsize=1_024)
def parse(text: str) -> Filter:
    """Read a filter; FilterSyntax says where it cannot be read, and what was expected there."""
    if len(text) > MAX_LENGTH:
        raise FilterSyntax(f"a filter has at most {MAX_LENGTH} characters, not {len(text)}")
    reader = _Reader(text)
    expression = reader.expression()
    reader.end()
    return Filter(expression, frozenset(reader.compared))


# --- reading ------------------------------------------------------------------------------------------

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
    """Reads a filter by recursive descent; it looks at one token: its ``kind``, its ``text``, where it is ``at``."""

    def __init__(self, text: str) -> None:
        self._source = text
        self._next = 0
        self._depth = self._terms = 0
        self.compared: set[tuple[str, type]] = set()
        self._advance("a feature, `not` or `(`")

    def expression(self) -> Expression:
        """``conjunction or conjunction ...``"""
        return self._chain("or", lambda: self._chain("and", self._negation))

    def end(self) -> None:
        """Nothing follows."""
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
            found: Expression = Not(self._negation())
        else:
            found = self.expression()
            self._take(")", "`and`, `or` or `)`")
        self._depth -= 1
        return found

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
        found = _TOKEN.match(self._source, self._next)
        if found is None:
            rest = self._source[self._next :]
            self.at = self._next + len(rest) - len(rest.lstrip())
            self._fail(f"{expected}; strings stand between single quotes, '' is a quote in one")
        self.kind = str(found.lastgroup)
        self.text = found[self.kind]
        self.at = found.start(self.kind) - (self.kind == "text")
        self._next = found.end()

    def _fail(self, expected: str) -> NoReturn:
        raise FilterSyntax(f"at character {self.at + 1} of the filter: expected {expected}")
