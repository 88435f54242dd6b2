"""Every family of the table under one contract: see contract.py. To register a family tests it."""

import numpy as np
import pytest

from service.ranking.families import FAMILIES, STRATEGIES
from service.ranking.lineup import by_strategy
from service.ranking.stack import candidates
from tests.rankers import everything
from tests.ranking import contract
from tests.ranking.worlds import N_ITEMS, cases

CASES = cases()


@pytest.mark.parametrize("promise", contract.CONTRACT, ids=lambda promise: promise.__name__)
@pytest.mark.parametrize("name", CASES)
def test_the_contract_holds(name, promise):
    promise(CASES[name]())


def test_numbers_in_logs_stay_what_they_are():
    stored = ("fbgd", "ocmf", "exmlds", "ordinal", "online", "mixture", "popular", "trending")
    assert STRATEGIES[: len(stored)] == stored
    for family in FAMILIES.values():
        assert STRATEGIES.index(family.strategy) == family.number


def test_no_family_is_given_what_another_one_computed():
    # all trained models of this world have the same version, as a learner's state has one
    rankers = list(by_strategy(case().ranker for case in CASES.values()).values())
    everybody = CASES["fbgd"]().asker([5, 9, 14])
    made = [candidates([ranker], everybody, everything(N_ITEMS)).made for ranker in rankers]
    assert sum(map(len, made)) > 4
    together = candidates(rankers, everybody, everything(N_ITEMS))
    alone = [ranker.signals_of(everybody, together.items) for ranker in rankers]
    width = sum(signals.shape[1] for signals in alone)
    np.testing.assert_array_equal(together.signals[:, :width], np.hstack(alone))
