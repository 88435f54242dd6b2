"""Every family of the table under one contract: see contract.py. To register a family tests it."""

import pytest

from service.ranking.families import FAMILIES, STRATEGIES
from tests.ranking import contract
from tests.ranking.worlds import cases

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
