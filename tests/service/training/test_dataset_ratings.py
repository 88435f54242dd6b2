"""The trainer's dataset for models of pairs with features: ratings, and features of items."""

import json

import numpy as np
import pytest

from core.features import Column
from core.meaning import EventMeanings
from service.configs import kind_table
from service.settings import Settings
from service.store.keys import NamespaceKeys
from service.store.profiles.history_reader import HistoryReader
from service.training.data.cuts import Limits
from service.training.data.reading import read
from tests.histories import Record, store_histories, world

READING = EventMeanings(kind_table(Settings()))
LIKE = Settings().kinds["like"].code


def stored(client, namespace, told):
    return HistoryReader(client, store_histories(client, Settings(namespace=namespace), told))


def triples(rated):
    return set(
        zip(rated.user_ix.tolist(), rated.item_ix.tolist(), rated.value.tolist(), strict=True)
    )


def test_the_latest_rating_of_a_pair_counts_and_other_kinds_do_not(client, namespace):
    told = [
        Record("ada", 0, value=1.0),
        Record("ada", 0, value=4.0),
        Record("ada", 1, kind=LIKE),
        Record("bob", 1, value=2.0),
    ]
    data = read(stored(client, namespace, told), READING, with_documents=True, with_ratings=True)
    assert triples(data.now.rated) == {(0, 0, 4.0), (1, 1, 2.0)}
    assert read(stored(client, namespace, []), READING, with_documents=True).now.rated is None


def test_ratings_known_at_the_cut_are_a_subset(client, namespace):
    data = read(
        stored(client, namespace, world()), READING, with_documents=False, with_ratings=True
    )
    whole, known = triples(data.now.rated), triples(data.at_cut.rated)
    assert len(whole) == 300 * 25
    assert known < whole


def test_a_sample_is_bounded_and_uniform(client, namespace):
    reader, limits = stored(client, namespace, world()), Limits(rated=1_000)
    data = read(reader, READING, with_documents=False, with_ratings=True, limits=limits)
    rated = data.now.rated
    assert 300 < rated.value.size <= 2_000
    share = np.bincount(rated.user_ix, minlength=300)
    assert share[:150].sum() == pytest.approx(share[150:].sum(), rel=0.3)


def test_documents_of_items_become_features_with_their_categories(client, namespace):
    told = [Record("ada", n) for n in range(5)]
    opened = store_histories(client, Settings(namespace=namespace), told)
    reader = HistoryReader(client, opened, items_at_once=2)
    keys = NamespaceKeys(namespace)
    for n in range(4):
        body = {
            "version": 1,
            "categories": ["film"],
            "features": {"colour": "red" if n % 2 else "blue"},
        }
        client.set(keys.item_document(n), json.dumps(body))
    items = read(reader, READING, with_documents=True, with_items=True).encoded.items
    assert items.encoder.columns == (
        Column("categories", ("film",)),
        Column("colour", ("blue", "red")),
    )
    assert items.features.toarray().tolist() == [
        [1, 1, 0],
        [1, 0, 1],
        [1, 1, 0],
        [1, 0, 1],
        [0, 0, 0],
    ]
