"""What is typical of a group of items: the categories and words that set it apart from others."""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import chain
from typing import Any

from core.batch.content.words import texts_of
from core.batch.words.tokens import words_of

MOST_TERMS = 3
"""Most terms of a name."""
FEWEST_ITEMS = 2
"""Fewest items of a group that a term must describe."""
LEAST_SHARE = 0.15
"""Least share of the described items of a group that a term must describe."""

Body = Mapping[str, Any]


def typical_terms(groups: Sequence[Sequence[Body]]) -> list[list[str]]:
    """Return the terms that are typical of each group of items with these documents.

    Categories and members of lists are named as they are written, words of texts in lower case;
    the former come first, since somebody chose them. A group that nothing sets apart has no terms.

    Equation   of the terms with p / P > 1 those with the largest p log(p / P); p share of the
               group's documents with the term, P share of the documents of all groups

    >>> typical_terms([[{"categories": ["tea"]}] * 2, [{"categories": ["rope", "new"]}] * 2])
    [['tea'], ['new', 'rope']]
    """
    written = [[body for body in group if body] for group in groups]
    categories, words = (
        _typical([[terms(body) for body in group] for group in written])
        for terms in (_categories, _words)
    )
    return [_distinct([*first, *then]) for first, then in zip(categories, words, strict=True)]


def _categories(body: Body) -> list[str]:
    lists = (value for value in body.get("features", {}).values() if isinstance(value, list))
    return list(dict.fromkeys([*body.get("categories", ()), *chain.from_iterable(lists)]))


def _words(body: Body) -> list[str]:
    said = (word for text in texts_of(body) for word in words_of(text))
    # numbers, and letters that stand alone, say nothing by themselves
    return list(dict.fromkeys(word for word in said if len(word) > 1 and not word.isdigit()))


def _typical(groups: Sequence[Sequence[Sequence[str]]]) -> list[list[str]]:
    """Return the typical terms of each group of lists of terms, the most typical first."""
    overall = Counter(term for group in groups for terms in group for term in terms)
    return [_most_typical(group, overall, sum(map(len, groups))) for group in groups]


def _most_typical(
    group: Sequence[Sequence[str]], overall: Mapping[str, int], n_all: int
) -> list[str]:
    often = Counter(term for terms in group for term in terms)
    fewest = max(FEWEST_ITEMS, LEAST_SHARE * len(group))
    worth = {
        term: n / len(group) * math.log(n * n_all / (len(group) * overall[term]))
        for term, n in often.items()
        if n >= fewest
    }
    telling = [term for term in worth if worth[term] > 0.0]
    return sorted(telling, key=lambda term: (-worth[term], term))[:MOST_TERMS]


def _distinct(terms: Sequence[str]) -> list[str]:
    """Return the first terms; a word that a category says already is left out."""
    kept: dict[str, str] = {}
    for term in terms:
        kept.setdefault(term.casefold(), term)
    return list(kept.values())[:MOST_TERMS]
