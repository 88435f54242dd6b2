"""Groups of experts: their order, their columns and their start values."""

from itertools import pairwise

import numpy as np
import pytest

from core.online.config import OnlineConfig
from core.online.experts import DEFAULT, PAPER_SMALL, Biased, Kalman, PassiveAggressive, Resolved
from core.online.grouping import members
from core.online.tables import FIRST_GROUP_COLUMN, Side
from core.rng import id_hashes

MIXED = (
    Kalman(2, 0.7, 0.2, 0.6, 1.5),
    Biased(3, 0.1, 0.1),
    PassiveAggressive(rank=2),
    Resolved(rank=2),
    PassiveAggressive(metric="full", rank=3),
    Biased(5, 0.2, 0.1),
)
SETS = {"mixed": MIXED, "default": DEFAULT, "paper": PAPER_SMALL}


@pytest.mark.parametrize("name", SETS)
def test_groups_stand_side_by_side_and_hold_each_expert_once(name):
    groups = list(members(OnlineConfig(experts=SETS[name])))
    assert groups[0].first_column == FIRST_GROUP_COLUMN
    for one, following in pairwise(groups):
        assert following.first_column == one.first_column + one.group.width
    held = np.concatenate([member.expert_numbers for member in groups])
    assert sorted(held.tolist()) == list(range(len(SETS[name])))
    assert all(member.group.size == member.expert_numbers.size for member in groups)
    assert len({member.label for member in groups}) == len(groups)


def test_experts_of_one_kind_share_a_group():
    held = {member.label: member.expert_numbers.tolist() for member in members(OnlineConfig(MIXED))}
    assert held == {
        "nn_apa": [2],
        "nn_apa_full": [4],
        "biased": [1, 5],
        "resolved": [3],
        "kalman": [0],
    }


@pytest.mark.parametrize("name", SETS)
def test_parameters_lie_in_the_columns_of_their_group_and_do_not_overlap(name):
    experts, taken = SETS[name], []
    for member in members(OnlineConfig(experts=experts)):
        places = member.group.places(member.first_column)
        assert [place.rank for place in places] == [experts[e].rank for e in member.expert_numbers]
        end = member.first_column + member.group.width
        for place in places:
            columns = [] if place.bias is None else [place.bias]
            columns += range(place.factors, place.factors + place.rank)
            assert all(member.first_column <= column < end for column in columns)
            taken += columns
    assert len(set(taken)) == len(taken)


@pytest.mark.parametrize("member", [*members(OnlineConfig(MIXED))], ids=lambda member: member.label)
def test_a_group_starts_its_own_columns_and_no_others(member):
    hashes = id_hashes(["a", "b", "c"])
    rows = np.full((3, member.first_column + member.group.width + 4), 9.0, np.float32)
    member.group.start(Side.USER, hashes, member.first_column, rows)
    assert (rows[:, : member.first_column] == 9.0).all()
    assert (rows[:, member.first_column + member.group.width :] == 9.0).all()
    own = rows[:, member.first_column : member.first_column + member.group.width]
    assert (own != 9.0).all()
    assert len(np.unique(own, axis=0)) == 3
