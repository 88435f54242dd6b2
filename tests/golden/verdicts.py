"""Judges a little world as the follower does, and writes down each verdict.

    python -m tests.golden.verdicts            print the verdicts of this commit as JSON
    python -m tests.golden.verdicts --record   write them to verdicts.json

The replay of real ratings has no judge, because a follower judges what its time allows.
"""

import json
import sys
import tempfile
from contextlib import closing
from dataclasses import replace
from pathlib import Path

from core.batch.ocmf.users import StructuredUsers
from service.learning.following.judge import Verdict
from service.learning.learner import Learner, LearnerLimits
from service.ranking.families import FAMILIES
from service.ranking.trained.fold_in import FoldIn
from service.settings import Settings
from service.store.connection import connect
from service.store.namespace import open_namespace
from tests.feed import Feed, some_ratings
from tests.judging import judged
from tests.models import objective
from tests.server import PrivateServer

FIGURES = Path(__file__).with_name("verdicts.json")
EVENTS, ITEMS, APART_MS = 400, 40, 6 * 3_600_000
STRATEGIES = ("fbgd", "ocmf")


def figures() -> dict[str, str]:
    """Return sequence -> verdict of each event that is judged."""
    with (
        tempfile.TemporaryDirectory(prefix="hr-") as room,
        PrivateServer(Path(room), "os") as server,
        connect(server.url, role="test") as client,
    ):
        settings = Settings(data_dir=Path(room), online_snapshot_s=1e-9, judged_per_s=1e9)
        namespace = open_namespace(client, settings)
        feed = Feed(client, namespace.name).with_items(ITEMS)
        trained = [
            FoldIn(FAMILIES[name], name, StructuredUsers(objective(ITEMS, seed=seed)), {0: 0})
            for seed, name in enumerate(STRATEGIES)
        ]
        events = [
            replace(event, time_ms=event.time_ms + at * APART_MS)
            for at, event in enumerate(some_ratings(EVENTS, items=ITEMS))
        ]
        with closing(
            Learner(settings, client, namespace, 0, LearnerLimits(view_share=1e9))
        ) as learner:
            found = judged(learner, feed, settings, events, trained=trained)
    return {str(sequence): _text(verdict) for sequence, verdict in found.items()}


def _text(verdict: Verdict) -> str:
    ranks = " ".join(f"{name} {rank}" for name, rank in sorted(verdict.ranks.items()))
    return f"{ranks} mixed {verdict.mixed} of {verdict.n_known}"


if __name__ == "__main__":
    made = json.dumps(figures(), indent=1)
    if "--record" in sys.argv:
        FIGURES.write_text(made + "\n")
    else:
        print(made)  # noqa: T201
