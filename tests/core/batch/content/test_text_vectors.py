"""Vectors of texts in content: learned where texts are many, used where they help."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from core.batch.content.config import ContentConfig
from core.batch.content.encoder import MEANT, Described
from core.batch.content.encoder_fit import TextVectorsFit, encoder_of
from core.batch.content.fit import fit
from core.batch.content.model import Content
from core.batch.content.snapshot import content_of, of_content
from core.batch.content.text_vectors import TextVectors
from core.batch.content.words import WordFit
from core.errors import ShapeError, SnapshotFormat
from core.interactions import Interactions, from_pairs
from core.snapshot import Snapshot, blob, mapped

N_ITEMS, N_TAKEN, KINDS, LONG = 1_300, 80, 2, 40
SUBJECTS, VOCABULARY, SHARE = 12, 150, 0.3


def about(item: int, rng: np.random.Generator) -> dict[str, Any]:
    """Return a document: some words are of its subject, of which each has a large vocabulary.

    Subjects are of one kind or the other, and people like a kind.
    """
    own = rng.random(LONG) < SHARE
    drawn, subject = rng.integers(0, VOCABULARY, LONG), item % SUBJECTS
    said = [f"s{subject}w{n}" if its else f"any{n}" for n, its in zip(drawn, own, strict=True)]
    return {"features": {"about": " ".join(said)}}


@pytest.fixture(scope="module")
def bodies() -> list[dict[str, Any]]:
    rng = np.random.default_rng(0)
    return [about(item, rng) for item in range(N_ITEMS)]


@pytest.fixture(scope="module")
def described(bodies: list[dict[str, Any]]) -> Described:
    encoder = encoder_of(bodies)
    return Described(encoder, encoder.transform(bodies))


def likes(*, of_kind: bool = True) -> Interactions:
    """Return what 200 people like of the few items that anybody took: one kind, or anything."""
    rng = np.random.default_rng(1)
    same = np.arange(200)[:, None] % KINDS == np.arange(N_ITEMS)[None, :] % KINDS
    liked = rng.random((200, N_ITEMS)) < (np.where(same, 0.5, 0.02) if of_kind else 0.2)
    liked[:, N_TAKEN:] = False
    return from_pairs(*np.nonzero(liked), n_users=200, n_items=N_ITEMS)


@pytest.fixture(scope="module")
def model(described: Described) -> Content:
    return fit(likes(), described, ContentConfig())


def right(model: Content) -> float:
    """Return how often an item that nobody took is better for people of its kind."""
    users = model.row.vectors(likes())
    scores = [np.mean(users[kind::KINDS], axis=0) @ model.places[N_TAKEN:].T for kind in (0, 1)]
    return float(np.mean((scores[1] > scores[0]) == (np.arange(N_TAKEN, N_ITEMS) % KINDS)))


def test_texts_place_items_with_words_of_which_nothing_was_learned(
    described: Described, model: Content
) -> None:
    assert model.encoder.texts is not None
    alone = fit(likes(), described.without_texts, ContentConfig())
    assert right(model) > right(alone) + 0.01
    assert right(model) > 0.9


def test_texts_that_help_nobody_are_left_out(described: Described) -> None:
    assert described.encoder.texts is not None
    shuffled = np.random.default_rng(2).permutation(described.encoder.texts.vectors)
    useless = replace(
        described.encoder, texts=TextVectors(described.encoder.texts.weights, shuffled)
    )
    rows = described.rows.tolil()
    drawn = np.random.default_rng(3).normal(size=(N_ITEMS, useless.width - useless.named))
    rows[:, useless.named :] = (MEANT * drawn / np.sqrt(drawn.shape[1])).astype(np.float32)
    model = fit(likes(), Described(useless, rows.tocsr()), ContentConfig())
    assert model.encoder.texts is None
    assert model.map.weights.shape[0] == model.encoder.width + 1


def test_few_texts_are_read_by_their_words_alone(bodies: list[dict[str, Any]]) -> None:
    encoder = encoder_of(bodies[:200])
    assert encoder.texts is None
    assert encoder.words.width > 0


def test_an_item_written_later_stands_where_its_words_put_it(model: Content) -> None:
    rng = np.random.default_rng(5)
    later = {N_ITEMS + n: about(n, rng) for n in range(100)}
    known = model.with_items(later)
    users = model.row.vectors(likes())
    for taste in (0, 1):
        scores = users[taste::KINDS].mean(axis=0) @ known.places[N_ITEMS:].T
        own = np.arange(100) % KINDS == taste
        assert np.mean(scores[own][:, None] > scores[~own][None, :]) > 0.9
    assert known.likeness(N_ITEMS).shape == (N_ITEMS + 100,)


@pytest.mark.parametrize(
    "text", ["", "   ", "never said before", "天空の城ラピュタ", "\u0301", "9" * 100_000]
)
def test_texts_without_a_known_word_say_nothing(model: Content, text: str) -> None:
    assert model.encoder.texts is not None
    assert not model.encoder.texts.of([{"features": {"about": text}}]).any()
    known = model.with_items({N_ITEMS: {"features": {"about": text}}})
    assert not known.placed[N_ITEMS]
    assert np.isfinite(known.places).all()


def test_a_huge_text_counts_as_its_beginning(model: Content) -> None:
    assert model.encoder.texts is not None
    word = next(iter(model.encoder.texts.weights))
    short, long = ({"features": {"about": f"{word} " * n}} for n in (1, 500_000))
    both = model.encoder.texts.of([short, long])
    np.testing.assert_array_equal(both[0], both[1])


def test_the_words_are_in_the_snapshot(model: Content) -> None:
    made = of_content("content", model, settings={}, metrics={}, cuts={})
    stored = content_of(mapped(made.manifest, b"".join(blob(made))))
    assert stored.encoder.texts is not None
    assert model.encoder.texts is not None
    assert [*stored.encoder.texts.weights] == [*model.encoder.texts.weights]
    np.testing.assert_array_equal(stored.map.weights, model.map.weights)
    later = {N_ITEMS: about(0, np.random.default_rng(6))}
    there, here = stored.with_items(later).places, model.with_items(later).places
    np.testing.assert_allclose(there, here, rtol=1e-4, atol=1e-6)


def test_an_earlier_version_of_the_code_reads_the_snapshot_without_texts(model: Content) -> None:
    made = of_content("content", model, settings={}, metrics={}, cuts={})
    arrays = {name: one for name, one in made.arrays.items() if not name.startswith("text_")}
    plain = content_of(replace(made, arrays=arrays))
    assert plain.encoder.texts is None
    assert plain.with_items({N_ITEMS: about(0, np.random.default_rng(6))}).n_items == N_ITEMS + 1


@pytest.mark.parametrize("missing", ["text_words", "text_weights", "text_map"])
def test_a_snapshot_with_half_of_the_texts_is_refused(model: Content, missing: str) -> None:
    made: Snapshot = of_content("content", model, settings={}, metrics={}, cuts={})
    arrays = {name: one for name, one in made.arrays.items() if name != missing}
    with pytest.raises(SnapshotFormat, match="not of content"):
        content_of(replace(made, arrays=arrays))


def test_of_very_many_texts_a_sample_is_read(bodies: list[dict[str, Any]]) -> None:
    words = WordFit()
    words.add(bodies)
    some, every = TextVectorsFit(words, most=N_ITEMS * LONG // 4), TextVectorsFit(words)
    for fit_of in (some, every):
        fit_of.add(bodies)
    # the sample is drawn from all documents, so that it is nearly exhausted only at their end
    assert 0.2 < some._beside.counts().sum() / every._beside.counts().sum() <= 0.26
    assert some._share == pytest.approx(0.25, rel=0.01)


def test_words_need_a_vector_each() -> None:
    with pytest.raises(ShapeError, match="2 words"):
        TextVectors({"a": 1.0, "b": 1.0}, np.zeros((1, 3), np.float32))
