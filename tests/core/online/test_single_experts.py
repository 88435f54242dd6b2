from core.online.experts import PassiveAggressive
from core.online.single_experts import candidates, single


def test_a_stated_setting_replaces_the_default():
    expert = single("nn-apa-diag", rank=7, given={"c": 0.3})
    assert expert == PassiveAggressive(metric="diag", rank=7, c=0.3, eps=0.01, delta=0.1)


def test_a_measured_recipe_has_no_open_settings():
    assert candidates("nn-apa-diag", rank=5, given={}) == (
        PassiveAggressive(rank=5, c=0.05, eps=0.0, delta=0.01, init="paper"),
    )


def test_a_stated_setting_is_not_searched():
    tried = candidates("nn-apa-diag", rank=10, given={"c": 3.0, "eps": 0.2})
    assert {(expert.c, expert.eps) for expert in tried} == {(3.0, 0.2)}
    assert sorted(expert.delta for expert in tried) == [0.01, 0.03, 0.1, 0.3, 1.0]
