"""Compiles every kernel for this machine by using each on a few made-up events."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from time import perf_counter
from typing import get_args

import numpy as np

from core.batch.fbgd.config import FbgdConfig
from core.batch.fbgd.model import Fbgd
from core.batch.ocmf.config import OcmfConfig
from core.batch.ocmf.model import Ocmf
from core.batch.ranker import rank
from core.batch.snapshot import of_objective, users_of
from core.counters import Counters
from core.interactions import Interactions, from_pairs
from core.labels.config import Variant, standard
from core.labels.exmlds import Exmlds
from core.online.config import OnlineConfig
from core.online.experts import DEFAULT, PAPER_SMALL, Expert, PassiveAggressive
from core.online.model import OnlineModel
from core.online.tables import RatingRows, Side
from core.rng import id_hashes
from core.snapshot import Snapshot, blob, mapped
from core.stack.choices import Choice, choices_of
from core.stack.fitting import fit
from core.transitions.successors import Successors
from core.transitions.table import Taken, Transitions, no_latest
from service.learning.dedupe import DedupeWindow
from service.processes.compiled import mark_compiled
from service.serving.warm_up import rank_once
from service.store.log.codec import DIGEST_BYTES
from service.store.profiles.dedupe_chunk import DedupeChunk, StoredIds, StoredWindow

EXACT: tuple[Expert, ...] = (
    PassiveAggressive(metric="full", rank=3, step="exact"),
    PassiveAggressive(metric="identity", rank=3, step="exact"),
    PassiveAggressive(metric="sgd", rank=3),
)

ONLINE_CONFIGS = {
    "the default experts and the stack": OnlineConfig(experts=DEFAULT),
    "the paper's experts and Hedge": OnlineConfig(experts=PAPER_SMALL, aggregator="hedge", rho=0.1),
    "full matrices and exact steps": OnlineConfig(experts=EXACT, aggregator="boa"),
    "exponentiated gradient": OnlineConfig(experts=PAPER_SMALL[:2], aggregator="eg"),
    "equal weights": OnlineConfig(experts=PAPER_SMALL[:2], aggregator="uniform"),
}
"""Configurations that together use every kernel of the experts."""


def compile_all() -> Iterator[tuple[str, float]]:
    """Yield each group of kernels and the seconds it took, few if numba had them in its cache."""
    for name, use in USES.items():
        started = perf_counter()
        use()
        yield name, perf_counter() - started
    mark_compiled()


def _learn_a_little(config: OnlineConfig) -> None:
    model = OnlineModel(config)
    # enough events to solve the user's row again
    n = 40
    ids = np.arange(n, dtype=np.int64) % 3
    users, items = model.user_table(4), model.item_table(4)
    users.rows[:3] = model.start(Side.USER, id_hashes("abc"))
    items.rows[:3] = model.start(Side.ITEM, id_hashes("xyz"))
    rating = (1 + ids).astype(np.float64)
    sequence = np.arange(1, n + 1, dtype=np.int64)
    model.learn(users, items, RatingRows(ids, ids[::-1].copy(), rating, sequence))
    model.predict(users.rows[:1], items.rows[:1])
    parameters = model.parameters(items.rows)
    # writeable in a learner, read-only in a snapshot: numba compiles a kernel for each
    for writeable in (True, False):
        parameters.flags.writeable = writeable
        model.scores(users.rows[0], parameters)
    model.load({name: array.copy() for name, array in model.arrays().items()})
    model.experts()


def _count_a_little() -> None:
    one = np.zeros(1, dtype=np.int64)
    Counters(1.0).add(one, np.ones(1), one)


def _follow_a_little() -> None:
    steps = Taken(
        np.zeros(3, np.int64), np.arange(3, dtype=np.int32), np.ones(3, np.float32), np.arange(1, 4)
    )
    table = Transitions(1.0)
    table.learn(steps, no_latest(1))
    table.take_back(steps, no_latest(1))
    table.learn(steps, no_latest(1))
    items = np.arange(table.n_items)
    Transitions(1.0).unpack(items.tolist(), table.packed(items))
    table.forget(2, items)
    # writeable in a learner, read-only in a snapshot: numba compiles a kernel for each
    counted = table.counted()
    for writeable in (True, False):
        for array in counted.arrays().values():
            array.flags.writeable = writeable
        Successors.of([counted], now_ms=3.0).scores(np.arange(2, dtype=np.int32), 3)


def _remember_a_little() -> None:
    seen = DedupeWindow(1, 1)
    seen.see(np.zeros((1, DIGEST_BYTES), np.uint8), appended_ms=0)
    chunk = DedupeChunk(0, bytes(DIGEST_BYTES))
    DedupeWindow(1, 1).load(StoredWindow({0: StoredIds(0, 1, [chunk])}))


def _rank_a_little() -> None:
    pairs = from_pairs(np.array([0, 0, 1]), np.array([0, 1, 1]))
    graded = from_pairs(np.array([0, 1]), np.array([0, 1]), weight=[2.0, 3.0], target=[0.0, 2.0])
    for given in (pairs, graded):
        Fbgd(FbgdConfig(factors=2, epochs=2)).fit(given).recommend(0, given, 1)
    for config in (OcmfConfig(loss="square"), OcmfConfig(loss="logistic")):
        model = Ocmf(config).fit(pairs)
        model.recommend(0, pairs, 1)
        model.objective.vector(pairs.item_ix[:1])
        Ocmf(config).fit(pairs, features=np.eye(2), graph=[[0, 1]])
        _rank_as_the_gate_a_little(
            pairs, of_objective("", model.objective, settings={}, metrics={}, cuts={})
        )


def _rank_as_the_gate_a_little(pairs: Interactions, served: Snapshot) -> None:
    """Rank by a served model as the gate does, with read-only arrays."""
    row = users_of(mapped(served.manifest, b"".join(blob(served)))).row
    rank(row.vectors(pairs), row.item_factors, pairs, 1)


def _stack_a_little() -> None:
    item = np.array([[1.0, 0.0], [0.0, 1.0]], np.float32)
    fit(choices_of([Choice(item, 0, 3)] * 2), ["one", "other"])


def _label_a_little() -> None:
    pairs = from_pairs(np.array([0, 0, 1]), np.array([0, 1, 1]))
    for variant in get_args(Variant):
        Exmlds(replace(standard(variant), factors=2)).fit(np.eye(2), pairs).ranked(np.eye(2), 1)


USES: dict[str, Callable[[], object]] = {
    **{name: partial(_learn_a_little, config) for name, config in ONLINE_CONFIGS.items()},
    "the counters": _count_a_little,
    "the transitions": _follow_a_little,
    "the window of event ids": _remember_a_little,
    "the ranking models": _rank_a_little,
    "the stack of rankers": _stack_a_little,
    "the label models": _label_a_little,
    "slates": rank_once,
}
"""A function for each group of kernels; calling it compiles them."""
