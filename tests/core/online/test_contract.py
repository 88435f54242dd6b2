"""The whole online family under one contract: see contract.py."""

from dataclasses import replace

import pytest

from core.online.config import OnlineConfig
from core.online.experts import DEFAULT, PAPER_SMALL, Biased, Kalman, PassiveAggressive, Resolved
from core.online.grouping import members
from core.online.layout import RowLayout
from tests.core import contract


def single(metric, **recipe):
    expert = PassiveAggressive(metric=metric, rank=4, **recipe)
    return OnlineConfig(experts=(expert,), aggregator="uniform")


FAMILY = {
    "sgd": single("sgd", c=0.05),
    "nn-pa": single("identity", variant="pa1", c=0.05),
    "nn-pa-exact": single("identity", c=0.05, step="exact"),
    "nn-apa-diag": single("diag"),
    "nn-apa-diag-exact": single("diag", variant="pa1", step="exact"),
    "nn-apa-full": single("full", c=0.1),
    "nn-apa-full-exact": single("full", c=0.1, step="exact"),
    "nn-apa-paper-start": replace(single("diag", init="paper"), clip=False),
    "nn-apa-u": OnlineConfig(experts=PAPER_SMALL, aggregator="uniform"),
    "nn-apa-m": OnlineConfig(experts=PAPER_SMALL, aggregator="hedge", rho=0.1, share=0.0),
    "biased": OnlineConfig(experts=(Biased(4, 0.1, 0.1),), aggregator="uniform"),
    "resolved": OnlineConfig(experts=(Resolved(rank=4),), aggregator="uniform"),
    "kalman": OnlineConfig(experts=(Kalman(3, 0.7, 0.2, 0.6, 1.5),), aggregator="uniform"),
    "default": OnlineConfig(experts=DEFAULT),
    "default-hedge": OnlineConfig(experts=DEFAULT, aggregator="hedge"),
    "default-boa": OnlineConfig(experts=DEFAULT, aggregator="boa"),
    "default-eg": OnlineConfig(experts=DEFAULT, aggregator="eg"),
}


@pytest.mark.parametrize("promise", contract.CONTRACT, ids=lambda promise: promise.__name__)
@pytest.mark.parametrize("name", FAMILY)
def test_the_contract_holds(name, promise):
    promise(FAMILY[name])


@pytest.mark.parametrize("name", ["default", "nn-apa-m"])
def test_scoring_a_hundred_thousand_unknown_pairs_changes_nothing(name):
    contract.scoring_changes_nothing(FAMILY[name], pairs=100_000)


@pytest.mark.parametrize("name", FAMILY)
def test_the_layout_is_as_wide_as_the_groups_of_experts(name):
    last = list(members(FAMILY[name]))[-1]
    assert RowLayout.of(FAMILY[name]).width == last.first_column + last.group.width
