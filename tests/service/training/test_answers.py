"""Answers of models: lists made of scores are those made of vectors, and nobody is left out."""

from dataclasses import dataclass

import numpy as np

from core.types import F32
from service.training.answers import BLOCK, Answers, Asked, UserVectors
from tests.core import ranking

USERS, ITEMS, FACTORS, K = BLOCK + 40, 30, 3, 7


@dataclass(frozen=True)
class OfScores(Answers):
    """Gives scores alone."""

    of: Answers

    @property
    def n_items(self) -> int:
        return self.of.n_items

    def scores(self, asked: Asked) -> F32:
        return self.of.scores(asked)


def vectors(*, n_items: int = ITEMS) -> UserVectors:
    rng = np.random.default_rng(0)
    # whole numbers: many scores are equal, and no sum is rounded
    users, items = (rng.integers(-2, 3, (n, FACTORS)).astype(np.float32) for n in (USERS, n_items))
    return UserVectors(lambda user_ix, rows: users[user_ix], items)


def asked() -> Asked:
    pairs = ranking.tribes(USERS, ITEMS)
    return Asked(np.arange(USERS), pairs, pairs)


def test_lists_of_scores_are_the_lists_of_vectors() -> None:
    of_vectors = vectors().ranked(asked(), K)
    of_scores = OfScores(vectors()).ranked(asked(), K)
    assert of_scores[0].tolist() == of_vectors[0].tolist()
    assert of_scores[1].tolist() == of_vectors[1].tolist()


def test_a_list_leaves_out_seen_items_and_ends_with_nothing() -> None:
    people = asked()
    ids, scores = OfScores(vectors()).ranked(people, ITEMS)
    for at, row in enumerate(ids):
        seen = people.seen.rows(np.array([at])).item_ix
        assert sorted(row[row >= 0].tolist()) == sorted({*range(ITEMS)} - {*seen.tolist()})
        assert (row[ITEMS - seen.size :] == -1).all()
        assert (scores[at][ITEMS - seen.size :] == -np.inf).all()


def test_nobody_asks() -> None:
    nobody = asked().part(0, 0)
    for answers in (vectors(), OfScores(vectors())):
        assert answers.ranked(nobody, K)[0].shape == (0, K)
