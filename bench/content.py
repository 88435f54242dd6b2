"""Items by what is said of them, on ML-1M: where films stand that nobody has rated yet.

    python -m bench.content [--users 600] [--json]

200 rated films are put aside with all of their ratings, and come after the training with title,
year and genres. Default lists of all films are made by the code that serves, with and without the
family `content`: fBGD, neighbours, next and popular under a stack, and the default exploration.
The rank of a film is measured for those who rate it 4 or 5 later. The others: each user's last
rating of another film is predicted, as in `bench.new_items`.

Then the films that nobody has ever rated are asked for similar ones.
"""

import argparse
import sys
from collections.abc import Iterator, Mapping
from time import perf_counter

import numpy as np

from bench import data
from bench.new_items import FAMILIES_USED, SHARES, Service, Trial, documents, read
from bench.report import Figure, publish
from core.gate import paired_interval
from core.types import F64, I64
from service.ranking.pool import Pool
from service.ranking.ranker import Ranker
from service.ranking.slates.exploration import Exploration, NewItems

SECTION = "Items by what is said of them, ML-1M"
CONTENT = "content"
NEW, BAR, SIMILAR = 200, 0.15, 10


def trial_of(n_users: int) -> Trial:
    return Trial(read(n_new=NEW), n_users, families=(*FAMILIES_USED, CONTENT))


def placing_of(trial: Trial) -> Ranker:
    """Return the ranker that has read the documents of the films put aside."""
    [content] = [one for one in trial.trained if one.strategy == CONTENT]
    world = trial.world
    return content.with_later(dict(enumerate(world.bodies[world.n_old :], world.n_old)))


def in_default_lists(trial: Trial) -> Iterator[Figure]:
    """Yield where films put aside stand in default lists, and what that costs the others."""
    placing, world = placing_of(trial), trial.world
    others = [one for one in trial.trained if one.strategy != CONTENT]
    plain, new = world.new(trial.known), world.new(trial.known, placing)
    without = trial.learned(FAMILIES_USED)
    today = _measured(Service(world, others, without), trial, plain)
    with_content = _measured(Service(world, [*others, placing], without), trial, new)
    mixed = placing_of(trial)
    mixed.only_places = False
    in_stack = _measured(Service(world, [*others, mixed], trial.logit), trial, new)
    measured = {
        "today": today,
        "with content in the stack": in_stack,
        "with content": with_content,
    }
    for name, (ranks, _) in measured.items():
        share = ranks / world.n_items
        yield Figure(
            SECTION,
            f"{name}: mean rank of a film put aside, for who likes it later, of all films",
            100 * float(share.mean()),
            "%",
            bar=100 * BAR if name == "with content" else None,
            note=f"median {100 * np.median(share):.1f} %, to the first 100 "
            f"{np.mean(ranks < 100):.3f}, to the first 10 {np.mean(ranks < 10):.4f}; "
            f"{ranks.size} pairs, {world.n_items} films",
        )
    for name in [*measured][1:]:
        yield _loss(name, measured[name][1], today[1])


def _loss(name: str, ndcg: F64, today: F64) -> Figure:
    lost = paired_interval(ndcg, today, np.random.default_rng(0))
    return Figure(
        SECTION,
        f"{name}: loss of ndcg@10 of the others",
        100 * float(1.0 - ndcg.mean() / today.mean()),
        "%",
        bar=1.0 if name == "with content" else None,
        note=f"{today.mean():.4f} today, {ndcg.mean():.4f}; difference "
        f"{lost.low:+.4f} to {lost.high:+.4f}",
    )


def _measured(service: Service, trial: Trial, new: NewItems) -> tuple[F64, F64]:
    """Return the ranks of films put aside for later fans, and each user's ndcg@10 of the others."""
    world = trial.world
    later = world.liked & ~world.old & np.isin(world.user, trial.users)
    test: Mapping[int, int] = dict(
        zip(world.user[trial.test].tolist(), world.item[trial.test].tolist(), strict=True)
    )
    ranks: list[I64] = []
    ndcg = np.zeros(trial.users.size)
    for at, user in enumerate(trial.users.tolist()):
        draw = Exploration(new, SHARES[0], 0, str(user), 0)
        shown = service.shown(trial.past[user], world.n_items, draw)
        place = np.full(world.n_items, world.n_items)
        place[shown] = np.arange(shown.size)
        ranks.append(place[world.item[later & (world.user == user)]])
        if place[test[user]] < 10:
            ndcg[at] = 1.0 / np.log2(place[test[user]] + 2.0)
    return np.concatenate(ranks).astype(np.float64), ndcg


def similar_to_unrated(trial: Trial) -> Iterator[Figure]:
    """Yield how far films that nobody rated have similar ones of their genre, and the time."""
    world, placing = trial.world, placing_of(trial)
    rated = {body["features"]["title"] for body in world.bodies}
    every = [one for one in documents().values() if one["features"]["title"] not in rated]
    first = placing.n_items
    began = perf_counter()
    known = placing.with_later(dict(enumerate(every, first)))
    seconds = perf_counter() - began
    bodies = [*world.bodies, *every]
    pool = Pool(np.arange(known.n_items) < first)
    shares = []
    for item in range(first, known.n_items):
        near, _ = known.similar(item, pool, SIMILAR)
        own = {*bodies[item]["categories"]}
        shares.append(np.mean([bool(own & {*bodies[one]["categories"]}) for one in near]))
    yield Figure(
        SECTION,
        f"similar of a film that nobody rated: share of its {SIMILAR} with a genre of its own",
        float(np.mean(shares)),
        bar=0.8,
        better="higher",
        note=f"{len(shares)} films, {np.mean(np.array(shares) >= 0.8):.2f} of them with 8 or more; "
        f"placed in {1000 * seconds:.0f} ms together",
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--users", type=int, default=600, help="users whose lists are made")
    parser.add_argument("--json", action="store_true")
    asked = parser.parse_args()
    data.require("ML-1M")
    trial = trial_of(asked.users)
    found = [*in_default_lists(trial), *similar_to_unrated(trial)]
    sys.exit(publish(found, as_json=asked.json, data="ML-1M"))


if __name__ == "__main__":
    main()
