"""The trainer's dataset for models of the order: every event that weighs, in order."""

import numpy as np

from core.meaning import EventMeanings
from service.configs import kind_table
from service.settings import Settings
from service.store.profiles.history_reader import HistoryReader
from service.training.data.reading import read
from service.training.recipes.sequence import RECIPES
from tests.histories import Record, store_histories, world

READING = EventMeanings(kind_table(Settings()))
KINDS = Settings().kinds
VIEW, BUY = KINDS["view"], KINDS["purchase"]


def dataset(client, namespace, told):
    reader = HistoryReader(client, store_histories(client, Settings(namespace=namespace), told))
    return read(reader, READING, with_documents=False, with_order=True)


def test_events_count_in_order_whether_liked_or_not(client, namespace):
    told = [
        Record("ada", 2, value=3.0),
        Record("ada", 0, value=1.0),
        Record("ada", 1, kind=VIEW.code),
        Record("ada", 0, kind=BUY.code),
        Record("bob", 1, value=5.0),
    ]
    steps = dataset(client, namespace, told).now.steps
    assert [steps.of(user).tolist() for user in range(2)] == [[2, 0, 1, 0], [1]]
    weights = [1.0, 1.0, VIEW.weight, BUY.weight, 1.0]
    np.testing.assert_allclose(steps.weight, weights)
    assert steps.latest(0).tolist() == [0, 1, 2]


def test_steps_after_the_cut_are_not_known_at_the_cut(client, namespace):
    data = dataset(client, namespace, world())
    known, whole = data.at_cut.steps, data.now.steps
    assert 0 < known.item_ix.size < whole.item_ix.size == 300 * 25
    for user in (0, 7, 299):
        assert whole.of(user)[: known.of(user).size].tolist() == known.of(user).tolist()
    unordered = HistoryReader(client, store_histories(client, Settings(namespace=namespace), []))
    assert read(unordered, READING, with_documents=False).now.steps is None


def test_the_gate_ranks_by_the_latest_steps_before_the_cut(client, namespace):
    [recipe] = RECIPES
    data = dataset(client, namespace, world())
    model = recipe.fit(data.at_cut, recipe.settings.base)
    found = recipe.validated(data, model).found
    for at, user in list(enumerate(data.held_out.user_ix))[::40]:
        scores = model.scores(data.at_cut.steps.latest(int(user)))
        seen = data.held_out.seen
        scores[seen.item_ix[seen.ptr[at] : seen.ptr[at + 1]]] = -np.inf
        best = np.argsort(-scores, kind="stable")[: np.isfinite(scores).sum()][:20]
        held = data.held_out.held
        own = held.item_ix[held.ptr[at] : held.ptr[at + 1]]
        wanted = np.isin(best, own)
        assert found.hit[at, : best.size].tolist() == wanted.tolist()
