"""For how long a list is shown again: each cause that ends it, alone."""

import numpy as np
import pytest
from msgspec.structs import replace

from service.ranking.keeping import GROWTH, LONGEST_S, SHORTEST_S, Basis, Made

FIRST = Basis(1, "models", later=4, n_events=1_000)
MADE = Made(FIRST, time_ms=5_000, newcomers="some", reopened=3, patience=1.0)


def stands(made=MADE, *, after_s=0.0, newcomers="some", reopened=3, **changed):
    now = replace(FIRST, number=2, **changed) if changed else FIRST
    return made.stands(now, newcomers, reopened, 5_000 + int(1_000 * after_s))


def test_it_stands_for_ever_while_nothing_changes():
    assert stands(after_s=1e6)
    assert stands(replace(MADE, patience=0.0), after_s=1e6)


def test_other_models_end_it_at_once():
    assert not stands(models="others")


@pytest.mark.parametrize(
    "changed",
    [
        {"n_events": 1_001 + int(1_000 * GROWTH)},
        {"later": 5},
        {"number": 3, "newcomers": "others"},
        {"number": 3, "reopened": 4},
    ],
)
def test_much_evidence_and_new_items_end_it_soon(changed):
    changed.setdefault("n_events", 1_000)
    changed.pop("number", None)
    assert stands(after_s=SHORTEST_S - 1, **changed)
    assert not stands(after_s=SHORTEST_S + 1, **changed)


def test_new_items_end_no_list_in_which_none_is_ranked():
    made = replace(MADE, newcomers=None)
    assert stands(made, newcomers="others", after_s=1e6)
    assert stands(made, newcomers="others", after_s=LONGEST_S - 1, n_events=1_001)


def test_little_evidence_ends_it_later():
    assert stands(after_s=LONGEST_S - 1, n_events=1_000 + int(1_000 * GROWTH))
    assert not stands(after_s=LONGEST_S + 1, n_events=1_001)


def test_counts_or_a_clock_that_went_back_end_it():
    assert not stands(after_s=SHORTEST_S + 1, n_events=999)
    assert not stands(after_s=-1, n_events=1_001)


def test_without_patience_any_change_ends_it():
    impatient = replace(MADE, patience=0.0)
    assert not stands(impatient, n_events=1_000, later=4)
    assert not stands(impatient, reopened=4)
    assert not stands(impatient, newcomers="others")


def test_lists_made_at_one_moment_do_not_end_at_one():
    rng = np.random.default_rng(0)
    lists = [rng.integers(0, 99, 10).astype(np.int32) for _ in range(200)]
    patience = [MADE.waiting(items).patience for items in lists]
    assert 0.5 <= min(patience) < 0.55
    assert 0.95 < max(patience) <= 1.0
    assert MADE.waiting(lists[0]) == MADE.waiting(lists[0])
