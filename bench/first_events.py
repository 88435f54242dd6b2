"""What a user's first events are worth: new users of MovieLens 1M in the order of time, fold-in beside popularity.

    python -m bench.first_events [--json]

The default model learns the first 70 % of the events and chooses from them how strongly short histories are drawn to the
typical user; "before" is the same model without that. Whoever comes later is new: after n of the user's events the
model folds them in, and both lists of ten are judged on what the user likes next, and on all that the user likes later.
Who has said nothing yet that a model could use is shown what is popular by both.
"""

import argparse
import sys
from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from bench import data
from bench.report import Figure, publish
from bench.whole_loop import KINDS, Stream, read
from core.batch.fbgd import Fbgd, FbgdConfig
from core.batch.preferences import preference_rows
from core.batch.ranker import rank
from core.batch.typical import choose_draw
from core.gate import paired_interval
from core.interactions import Interactions, from_pairs
from core.ranking_metrics import hits, ndcg
from core.types import F32, I64

SECTION = "First events, ML-1M"
TRAINED = 0.7
EVENTS = (1, 2, 3, 5, 10, 15, 20)


class NewUsers:
    """Users whose first event comes after the training."""

    def __init__(self, stream: Stream) -> None:
        self.stream, self.start = stream, int(TRAINED * len(stream))
        self.n_items = int(stream.item.max()) + 1
        order = np.lexsort((np.arange(len(stream)), stream.user))
        ends = np.cumsum(np.bincount(stream.user))
        self.users = [mine for mine in np.split(order, ends[:-1]) if mine[0] >= self.start]
        trained, _ = self._read(np.arange(self.start), stream.user, int(stream.user.max()) + 1)
        known = trained.rows(np.flatnonzero(trained.user_counts))
        draw = choose_draw(known, lambda part: Fbgd(FbgdConfig()).fit(part).fitted)
        self.model = Fbgd(FbgdConfig(draw=draw)).fit(known).fitted
        self.before = replace(self.model, typical=None, draw=0.0)
        liked = stream.item[: self.start][stream.positive[: self.start]]
        self.popular: F32 = np.bincount(liked, minlength=self.n_items).astype(np.float32)

    def _read(self, of: I64, user: I64, n_users: int) -> tuple[Interactions, Interactions]:
        part = self.stream
        return preference_rows(
            user[of],
            part.item[of],
            np.zeros(of.size, np.uint8),
            part.rating[of].astype(np.float32),
            of,
            KINDS,
            low=1,
            high=5,
            n_users=n_users,
            n_items=self.n_items,
        )

    def figures(self, n: int) -> Iterator[Figure]:
        """Yield both gains after n events and their difference, for the next liked item and for all later ones."""
        likes = [mine[n:][self.stream.positive[mine[n:]]] for mine in self.users]
        judges = [at for at, later in enumerate(likes) if later.size]
        row = np.zeros(len(self.stream), np.int64)
        for number, at in enumerate(judges):
            row[self.users[at]] = number
        first = np.concatenate([self.users[at][:n] for at in judges])
        said, seen = self._read(first, row, len(judges))
        own, before, everybodys = self._lists(said, seen)
        for what, most in (("the next liked item", 1), ("all liked later", None)):
            wanted = np.concatenate([likes[at][:most] for at in judges])
            held = from_pairs(
                row[wanted], self.stream.item[wanted], n_users=len(judges), n_items=self.n_items
            )
            ours, old, theirs = (ndcg(hits(x, held), 10) for x in (own, before, everybodys))
            ahead = paired_interval(ours, theirs, np.random.default_rng(0))
            note = (
                f"{ours.mean():.4f}, popular {theirs.mean():.4f}, before {old.mean():.4f}; "
                f"{ahead.low:+.4f} to {ahead.high:+.4f}; {len(judges)} users, "
                f"{100 * (own != everybodys).any(axis=1).mean():.0f} % of the lists differ"
            )
            yield Figure(
                SECTION,
                f"after {n}, {what}: ndcg@10 less popularity's, low end of the 95 % interval",
                ahead.low,
                bar=0.0,
                better="higher",
                note=note,
            )

    def _lists(self, said: Interactions, seen: Interactions) -> list[np.ndarray]:
        everybody = np.ones((said.n_users, 1), np.float32)
        popular, _ = rank(everybody, self.popular[:, None], seen, 10)
        lists = [
            rank(m.vectors(said), m.item_factors, seen, 10)[0] for m in (self.model, self.before)
        ]
        for own in lists:
            own[said.user_counts == 0] = popular[said.user_counts == 0]
        return [*lists, popular]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    data.require("ML-1M")
    users = NewUsers(read())
    found = [figure for n in EVENTS for figure in users.figures(n)]
    sys.exit(publish(found, as_json=given.json, data="ML-1M"))


if __name__ == "__main__":
    main()
