"""The ranker by context: the order of all items, of which only the heads are kept."""

from itertools import chain, combinations

import numpy as np
import pytest

from core.batch.here.model import Here
from service.ranking.asker import Asker
from service.ranking.families import FAMILIES
from service.ranking.pool import NOTHING, Pool
from service.ranking.trained.here import HEAD, HEADS, ByContext
from tests.rankers import asker

N_ITEMS, NAMES = 3 * HEAD, 11


@pytest.fixture
def ranker() -> ByContext:
    rng = np.random.default_rng(0)
    lift = rng.normal(size=(NAMES, N_ITEMS)).astype(np.float32)
    share = rng.integers(0, 9, N_ITEMS).astype(np.float32)
    said = [(f"name{n}", "x") for n in range(NAMES)]
    return ByContext(FAMILIES["here"], "v", Here(said, lift, share / share.sum()), {0: 0})


def where(*names: int) -> Asker:
    return Asker(asker([]).preferences, context={f"name{n}": "x" for n in names})


def expected(ranker: ByContext, reader: Asker, pool: Pool, n: int) -> list[int]:
    scores = ranker.scores(reader)
    rest = set(np.flatnonzero(pool.allowed & np.isfinite(scores)).tolist()) - {*pool.excluded}
    return sorted(rest, key=lambda item: (-scores[item], item))[:n]


@pytest.mark.parametrize("excluded", [0, 10, HEAD - 5, HEAD + 300])
@pytest.mark.parametrize("step", [1, 7, 400])
def test_the_list_goes_on_below_what_is_kept(ranker, excluded, step):
    reader, allowed = where(0, 3), np.zeros(N_ITEMS, np.bool_)
    allowed[::step] = True
    top = expected(ranker, reader, Pool(np.ones(N_ITEMS, np.bool_)), excluded)
    pool = Pool(allowed, np.array(sorted(top), np.int32))
    for n in (5, 200, N_ITEMS):
        assert ranker.best(reader, pool, n).items.tolist() == expected(ranker, reader, pool, n)


def test_contexts_that_are_asked_for_stay_and_the_others_make_room(ranker):
    pool = Pool(np.ones(N_ITEMS, np.bool_), NOTHING)
    sizes = (combinations(range(NAMES), size) for size in range(1, NAMES))
    for n, names in enumerate(chain.from_iterable(sizes)):
        ranker.best(where(*names), pool, 10)
        if n % 100 == 0:
            ranker.best(where(0), pool, 10)
    asked = ranker.top.cache_info()
    assert asked.currsize == HEADS < asked.misses
    ranker.best(where(0), pool, 10)
    assert ranker.top.cache_info().misses == asked.misses
    assert ranker.top((0,)).nbytes == 8 * HEAD
