"""An item that joins gets the strengths that a fit with it would give."""

from dataclasses import replace

import numpy as np
import pytest

from core.batch.neighbours.config import NeighboursConfig
from core.batch.neighbours.fit import fit
from core.batch.neighbours.joining import columns
from core.batch.neighbours.snapshot import neighbours_of, of_neighbours
from core.batch.takers import NewPairs, Takers
from core.errors import ShapeError
from core.snapshot import blob, mapped
from tests.core import ranking

ABOUT = {"settings": {}, "metrics": {}, "cuts": {}}
EVERY = 1_000
EXACT = NeighboursConfig(reg=2.0, user_exponent=0.2, item_exponent=0.3, neighbours=EVERY)
GRAPH = NeighboursConfig(share=0.0, user_exponent=0.4, item_exponent=0.3, neighbours=EVERY)
ITEM = 11


def dense(model):
    found = np.zeros((model.n_items, model.n_items))
    for item in range(model.n_items):
        np.add.at(found[item], model.neighbour[item], model.strength[item])
    return found


def world(weighted=False):
    pairs = ranking.tribes()
    if weighted:
        rng = np.random.default_rng(5)
        weight = rng.choice([0.5, 1.0, 3.0], len(pairs)).astype(np.float32)
        target = (rng.random(len(pairs)) < 0.8).astype(np.float32)
        pairs = replace(pairs, weight=weight, target=target)
    return pairs


def takers_of(pairs):
    weight = np.ones(len(pairs), np.float32) if pairs.weight is None else pairs.weight
    liked = np.ones(len(pairs), np.bool_) if pairs.target is None else pairs.target > 0
    return Takers(pairs.ptr, pairs.item_ix, np.where(liked, weight, -weight).astype(np.float32))


def joined(config, pairs):
    """Return the column of an item that joins, and that of a fit with it."""
    without = fit(pairs.keep(pairs.item_ix != ITEM), config)
    takers = takers_of(pairs)
    new = takers.pairs_but(np.arange(pairs.n_items) != ITEM)
    assert new.items.tolist() == [ITEM]
    made = columns(without, without.joining, takers, new).toarray()[:, 0]
    wanted = dense(fit(pairs, config))[:, ITEM]
    others = np.arange(pairs.n_items) != ITEM
    return made[others], wanted[others]


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("config", [EXACT, GRAPH], ids=["exact", "graph"])
def test_a_joining_item_has_the_strengths_of_a_fit(config, weighted):
    made, wanted = joined(config, world(weighted))
    assert np.corrcoef(made, wanted)[0, 1] > 0.99
    assert np.linalg.norm(made) == pytest.approx(np.linalg.norm(wanted), rel=0.1)


@pytest.mark.parametrize("config", [EXACT, GRAPH], ids=["exact", "graph"])
def test_as_in_a_fit_an_item_keeps_only_its_strongest(config):
    made, wanted = joined(replace(config, neighbours=9), world())
    assert 0 < np.count_nonzero(made) < 0.6 * made.size
    assert np.mean((made != 0) == (wanted != 0)) > 0.85


def test_dislikes_do_not_speak_for_an_item():
    model = fit(world(), EXACT)
    takers = Takers(np.array([0, 3]), np.array([1, 2, 99], np.int32), np.array([1, -1, 1.0]))
    only = Takers(np.array([0, 2]), np.array([1, 99], np.int32), np.array([1, 1.0]))
    both = [
        columns(model, model.joining, one, one.pairs_but(np.ones(60, np.bool_))).toarray()
        for one in (takers, only)
    ]
    assert both[0].any()
    np.testing.assert_array_equal(*both)


def test_nobody_known_is_no_strength():
    model = fit(world(), EXACT)
    takers = Takers(np.array([0, 1]), np.array([99], np.int32), np.ones(1, np.float32))
    new = NewPairs(np.array([99], np.int32), np.array([0, 1]), np.zeros(1, np.int64), np.ones(1))
    assert columns(model, model.joining, takers, new).nnz == 0


def test_a_snapshot_holds_what_joining_needs():
    model = fit(world(), EXACT)
    stored = of_neighbours("neighbours", model, **ABOUT)
    again = neighbours_of(mapped(stored.manifest, b"".join(blob(stored))))
    for name, value in vars(model.joining).items():
        np.testing.assert_array_equal(getattr(again.joining, name), value)
    # models of earlier versions
    old = of_neighbours("neighbours", replace(model, joining=None), **ABOUT)
    assert neighbours_of(old).joining is None
    with pytest.raises(ShapeError):
        replace(model, joining=replace(model.joining, own=np.ones(3, np.float32)))
