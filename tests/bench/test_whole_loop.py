"""The bars of the whole loop, on reports made by hand."""

import pytest

from bench.whole_loop import figures


def report(mixture=0.2, lead_high=0.01, new_user=0.1, openings=0.05):
    means = {"mrr": 0.1}
    families = {name: {"ndcg@10": 0.05, **means} for name in ("fbgd", "ocmf", "online", "popular")}
    gains = {"popular": 0.1, "fbgd": 0.05, "next": 0.02, "sequence": 0.3}
    return {
        "n_judged": 10,
        "mixture": {"ndcg@10": mixture, **means},
        "arms": {"stack": {"ndcg@10": mixture, **means}},
        "families": families | {"trending": {"ndcg@10": 0.08, **means}},
        "by_length": [
            {
                "from": 5,
                "judged": 10,
                "mixture": mixture,
                "best_family": {"name": "next", "ndcg@10": 0.2},
                "lead": {"mean": 0.0, "low": -0.01, "high": lead_high},
            }
        ],
        "new_users": [
            {
                "events": 1,
                "judged": 9,
                "mixture": new_user,
                "families": gains,
                "openings": openings,
            }
        ],
    }


def failing(**changed):
    return [one.what for one in figures(report(**changed)) if one.passes is False]


def test_a_good_report_passes_every_bar():
    found = figures(report())
    assert failing() == []
    assert sum(one.bar is not None for one in found) == 3
    [ratio] = [one.value for one in found if "best without order (trending)" in one.what]
    assert ratio == pytest.approx(2.5)


@pytest.mark.parametrize(
    ("changed", "word"),
    [
        ({"mixture": 0.17}, "best without order"),
        ({"lead_high": -0.001}, "from 5 preferences on"),
        ({"new_user": 0.097}, "after 1 events"),
        ({"openings": 0.11}, "mixture : openings"),
    ],
)
def test_a_miss_fails_its_own_bar(changed, word):
    [missed] = failing(**changed)
    assert word in missed
