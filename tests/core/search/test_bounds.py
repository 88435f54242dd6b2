"""Bounds of settings: which values pass, and the error that names the others."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from core.errors import ConfigError
from core.search.bounds import LARGEST_SETTING, check_bounds


@dataclass(frozen=True)
class Config:
    factors: Any = 8
    reg: Any = 0.1
    weight: Any = 0.0
    share: Any = 0.5
    target: Any = -1.0
    seed: Any = 0


def check(config):
    check_bounds(
        config,
        counts=("factors",),
        above_0=("reg",),
        from_0=("weight",),
        shares=("share",),
        finite=("target",),
    )


@pytest.mark.parametrize(
    "fine",
    [
        {},
        {"factors": 1},
        {"factors": np.int64(3)},
        {"reg": LARGEST_SETTING, "weight": LARGEST_SETTING, "target": -LARGEST_SETTING},
        {"reg": 1, "share": 0},
        {"share": 1.0},
        {"weight": np.float32(2.0)},
    ],
)
def test_values_within_their_bounds_pass(fine):
    check(Config(**fine))


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("factors", 0, "factors must be at least 1, not 0"),
        ("factors", 2.0, "factors must be a whole number, not 2.0"),
        ("factors", "8", "factors must be a whole number, not '8'"),
        ("reg", 0.0, "reg must be above 0 and at most 1e+30, not 0.0"),
        ("reg", 1e31, "reg must be above 0 and at most 1e+30"),
        ("reg", None, "reg must be above 0"),
        ("weight", -0.1, "weight must be 0 or more"),
        ("weight", np.nan, "weight must be 0 or more"),
        ("share", 1.01, "share must be between 0 and 1, not 1.01"),
        ("share", -0.01, "share must be between 0 and 1"),
        ("target", np.inf, "target must be at most 1e+30 in size"),
        ("target", "low", "target must be at most 1e+30 in size"),
        ("seed", -1, "seed must be 0 or more, not -1"),
        ("seed", 0.5, "seed must be a whole number, not 0.5"),
    ],
)
def test_values_outside_their_bounds_are_named_with_the_reason(name, value, message):
    with pytest.raises(ConfigError) as refused:
        check(Config(**{name: value}))
    assert str(refused.value).startswith(message)


def test_a_config_without_a_seed_needs_none():
    @dataclass
    class Seedless:
        factors: int = 2

    check_bounds(Seedless(), counts=("factors",))
