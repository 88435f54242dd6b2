"""Features of the users' and items' documents, encoded page by page."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp

from core.batch.content.encoder import Described, DocumentEncoder
from core.batch.content.encoder_fit import text_vectors_of
from core.batch.content.words import WordFit
from core.features import EncoderFit, FeatureEncoder, of_item
from service.training.data.dataset import EncodedItems, EncodedUsers
from service.training.data.histories import HistorySource


class UserDocuments:
    """Features and links of the users, in the order in which they are added."""

    def __init__(self, reader: HistorySource, encoder: FeatureEncoder) -> None:
        self._reader, self._encoder = reader, encoder
        self._n_users = 0
        self._features: list[sp.csr_array] = []
        self._numbers: dict[str, int] = {}
        self._links: list[tuple[int, str, float]] = []

    def add(self, users: list[str]) -> None:
        bodies = self._reader.documents(users)
        features = [body.get("features", {}) for body in bodies]
        self._features.append(self._encoder.transform(features))
        for ix, (user, body) in enumerate(zip(users, bodies, strict=True), self._n_users):
            self._numbers[user] = ix
            links = body.get("links", ())
            self._links.extend((ix, link["user"], link.get("weight", 1.0)) for link in links)
        self._n_users += len(users)

    def encoded(self, items: EncodedItems | None) -> EncodedUsers | None:
        """Return the features of all users and links between them, None without a user."""
        if not self._features:
            return None
        known = [
            (ix, self._numbers[other], weight)
            for ix, other, weight in self._links
            if other in self._numbers
        ]
        ix, other, weight = np.array(known, np.float64).reshape(-1, 3).T
        shape = self._n_users, self._n_users
        ends = ix.astype(np.int64), other.astype(np.int64)
        links: sp.csr_array = sp.csr_array((weight.astype(np.float32), ends), shape=shape)
        return EncodedUsers(self._encoder, _stacked(self._features), links, items)


def encoded_items(reader: HistorySource) -> tuple[EncodedItems, Described]:
    """Return the features of all items, and what is said of them.

    The documents are read twice, and once more where there are texts enough to learn words from.
    """
    fit, words = EncoderFit(np.random.default_rng(0)), WordFit()
    for bodies in reader.item_documents():
        fit.add(map(of_item, bodies))
        words.add(bodies)
    facts, texts = fit.encoder(), text_vectors_of(reader.item_documents, words)
    encoder = DocumentEncoder(facts, words.words(), texts)
    features, rows = [facts.transform([])], [encoder.transform([])]
    for bodies in reader.item_documents():
        features.append(facts.transform([*map(of_item, bodies)]))
        rows.append(encoder.transform(bodies))
    encoded = EncodedItems(facts, _stacked(features), fit.left_out)
    return encoded, Described(encoder, _stacked(rows))


def _stacked(parts: Sequence[sp.csr_array]) -> sp.csr_array:
    rows: Any = sp.vstack(parts, format="csr")
    return sp.csr_array(rows)
