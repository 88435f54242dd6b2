"""The whole loop on ML-1M in the order of time: `hedgerow eval stream`, with its bars.

    python -m bench.whole_loop [--ties random] [--sample 8000] [--json]

80 % learned, the rest streamed with a training every 5 %. A length of history has a bar on the
upper end of the interval of the mixture's lead on the family that was best in hindsight.
"""

import argparse
import sys
from collections.abc import Iterator, Mapping
from typing import Any

from bench import data
from bench.report import Figure, publish
from service.evaluation.stream.evaluate import StreamOptions, evaluate_stream
from service.evaluation.stream.loop import Schedule
from service.ranking.strategies import MIXTURE
from service.settings import Settings

SECTION = "Whole loop, ML-1M"
FAMILIES = ("fbgd", "ocmf", "sequence", "neighbours")
WITHOUT_ORDER = ("fbgd", "ocmf", "online", "popular", "trending")
"""Families that know neither order nor neighbours."""
TIMES_AS_GOOD = 2.2
OF_A_NEW_USER = ("popular", "fbgd", "next")
"""Families with which the lists of a new user are compared, beside the openings of histories."""
NEARLY = 0.98
"""Least share of the best of these that a new user's list must reach."""
BUDGET_S = 40.0

Report = Mapping[str, Any]


def figures(report: Report) -> list[Figure]:
    """Return the figures of a report, with their bars."""
    return [*_of_all(report), *_of_lengths(report), *_of_new_users(report)]


def _of_all(report: Report) -> Iterator[Figure]:
    families = report["families"]
    named = {MIXTURE: report[MIXTURE], **report["arms"], **families}
    for name, means in named.items():
        yield Figure(SECTION, f"{name}: ndcg@10", means["ndcg@10"], note=f"MRR {means['mrr']:.4f}")
    best = max(WITHOUT_ORDER, key=lambda name: families[name]["ndcg@10"])
    ratio = report[MIXTURE]["ndcg@10"] / families[best]["ndcg@10"]
    what = f"mixture : best without order ({best}), ndcg@10"
    note = f"{report['n_judged']} positives"
    yield Figure(SECTION, what, ratio, bar=TIMES_AS_GOOD, better="higher", note=note)


def _of_lengths(report: Report) -> Iterator[Figure]:
    for one in report["by_length"]:
        best, lead = one["best_family"], one["lead"]
        what = f"from {one['from']} preferences on, mixture less {best['name']}, ndcg@10, high end"
        interval = f"{lead['low']:+.4f} to {lead['high']:+.4f}"
        note = f"{one['mixture']:.4f}, {best['ndcg@10']:.4f}; {interval}; {one['judged']} positives"
        yield Figure(SECTION, what, lead["high"], bar=0.0, better="higher", note=note)


def _of_new_users(report: Report) -> Iterator[Figure]:
    for one in report["new_users"]:
        others = {name: one["families"][name] for name in OF_A_NEW_USER}
        others["openings"] = one["openings"]
        best = max(others, key=others.__getitem__)
        ratio = one["mixture"] / others[best]
        what = f"new users after {one['events']} events, mixture : {best}, ndcg@10"
        note = f"{one['mixture']:.4f}, {others[best]:.4f}; {one['judged']} users"
        yield Figure(SECTION, what, ratio, bar=NEARLY, better="higher", note=note)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--ties", choices=("file", "random"), default="file")
    parser.add_argument("--sample", type=int, default=Schedule.sample)
    parser.add_argument("--json", action="store_true")
    asked = parser.parse_args()
    data.require("ML-1M")
    request = StreamOptions(
        Schedule(sample=asked.sample), FAMILIES, ties=asked.ties, budget_s=BUDGET_S
    )
    report = evaluate_stream(data.FILES["ML-1M"], request, Settings())
    return publish(figures(report), as_json=asked.json, data="ML-1M")


if __name__ == "__main__":
    sys.exit(main())
