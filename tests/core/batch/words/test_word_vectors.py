"""Vectors of words: counts of words beside words, their pairs for fBGD, and what is learned."""

import numpy as np
import pytest
from scipy import sparse

from core.batch.words.cooccurrence import CERTAIN, POWER, Cooccurrence, word_pairs
from core.batch.words.vectors import WordsConfig, fit_words
from core.errors import ConfigError
from tests.core.texts import ANIMALS, NUMBERS, VERBS, texts

WORDS = ["old", "sea", "hedge", "green", "tower"]
NUMBER = {word: at for at, word in enumerate(WORDS)}


def counted_plainly(some: list[list[str]], window: int) -> np.ndarray:
    """Return the counts by the definition, one pair of places after the other."""
    counts = np.zeros((len(WORDS), len(WORDS)))
    for text in some:
        known = [NUMBER[word] for word in text if word in NUMBER]
        for i, x in enumerate(known):
            for j, y in enumerate(known):
                if 0 < abs(i - j) <= window:
                    counts[x, y] += 1.0 / abs(i - j)
    return counts


def random_texts(n: int) -> list[list[str]]:
    rng = np.random.default_rng(n)
    some = [*WORDS, "unknown"]
    return [[some[at] for at in rng.integers(0, len(some), rng.integers(0, 9))] for _ in range(n)]


@pytest.mark.parametrize("window", [1, 3, 20])
def test_the_counts_are_those_of_the_definition(window: int) -> None:
    some = random_texts(40)
    counted = Cooccurrence(NUMBER, window=window)
    # in two parts: a text does not stand beside the next one
    counted.add(some[:17])
    early = counted.counts().toarray()
    counted.add(some[17:])
    np.testing.assert_allclose(early, counted_plainly(some[:17], window))
    np.testing.assert_allclose(counted.counts().toarray(), counted_plainly(some, window))


def test_no_more_words_are_counted_than_fit_into_memory() -> None:
    counted = Cooccurrence(NUMBER, most=6)
    counted.add([["old", "sea", "unknown"]] * 2)
    assert not counted.full
    counted.add([["old", "sea"], ["green", "tower"]])
    assert counted.full
    counts = counted.counts().toarray()
    assert counts[NUMBER["old"], NUMBER["sea"]] == 3.0
    assert counts[NUMBER["green"]].sum() == 0.0


def test_the_pairs_are_those_of_the_paper() -> None:
    counts = counted_plainly(random_texts(60), 3)
    counts[0, 1] = counts[1, 0] = 2 * CERTAIN
    pairs = word_pairs(sparse.csr_array(counts))
    total = counts.sum()
    for x in range(len(WORDS)):
        row = slice(pairs.ptr[x], pairs.ptr[x + 1])
        others = np.flatnonzero(counts[x])
        assert pairs.item_ix[row].tolist() == others.tolist()
        for k, y in enumerate(others, pairs.ptr[x]):
            pmi = np.log(counts[x, y] * total / (counts[x].sum() * counts[y].sum()))
            assert pairs.target is not None
            assert pairs.weight is not None
            assert pairs.target[k] == pytest.approx(max(pmi, 0.0), abs=1e-5)
            assert pairs.weight[k] == pytest.approx(min(1.0, (counts[x, y] / CERTAIN) ** POWER))


def test_words_that_stand_for_each_other_have_similar_vectors() -> None:
    counted = Cooccurrence(NUMBERS)
    counted.add(texts(2_000))
    vectors = fit_words(counted.counts(), WordsConfig(factors=8))
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1.0, atol=1e-5)
    alike = vectors @ vectors.T
    animals, verbs = ([NUMBERS[word] for word in some] for some in (ANIMALS, VERBS))
    same = np.mean([alike[x, y] for x in animals for y in animals if x != y])
    other = alike[np.ix_(animals, verbs)].mean()
    assert same > 0.7
    assert other < same - 0.4


def test_a_word_that_stands_beside_nothing_has_no_vector() -> None:
    counted = Cooccurrence(NUMBER)
    counted.add([["old", "sea"], ["sea", "old"], ["tower"]])
    vectors = fit_words(counted.counts(), WordsConfig(factors=2))
    assert vectors[NUMBER["tower"]].tolist() == [0.0, 0.0]
    assert np.linalg.norm(vectors[NUMBER["old"]]) == pytest.approx(1.0)


def test_no_texts_are_no_error() -> None:
    assert not fit_words(Cooccurrence(NUMBER).counts(), WordsConfig(factors=2)).any()


@pytest.mark.parametrize("wrong", [{"factors": 0}, {"alpha0": -1.0}, {"rho": 2.0}, {"reg": 0.0}])
def test_wrong_settings_are_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(ConfigError):
        WordsConfig(**wrong)  # type: ignore[arg-type]
