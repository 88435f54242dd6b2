"""Words of free texts: of any language, of few documents or many, and none."""

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.batch.content.config import ContentConfig
from core.batch.content.encoder import SAID, DocumentEncoder
from core.batch.content.encoder_fit import encoder_of
from core.batch.content.fit import fit
from core.batch.content.words import WordFit, Words
from core.batch.words.tokens import LONGEST, words_of
from core.errors import ConfigError
from tests.core.described import N_ITEMS, N_NEW, described, likes

NEW = np.arange(N_ITEMS - N_NEW, N_ITEMS)


def said(text: object) -> dict[str, object]:
    return {"features": {"title": text}}


def learned(texts: list[str], **bounds: int) -> Words:
    words = WordFit(**bounds)
    words.add(map(said, texts))
    return words.words()


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Das Boot (1981)", ["das", "boot", "1981"]),
        ("Война и мир", ["война", "и", "мир"]),
        ("لورنس العرب", ["لورنس", "العرب"]),
        ("天空の城ラピュタ2", ["天空", "空の", "の城", "城ラ", "ラピ", "ピュ", "ュタ", "2"]),
        ("ﬁnal_cut", ["final", "cut"]),
        ("", []),
        (" -- ! ", []),
    ],
)
def test_texts_of_any_language_have_words(text: str, words: list[str]) -> None:
    assert words_of(text) == words


@given(st.text(max_size=60))
def test_every_text_can_be_read(text: str) -> None:
    assert all(word and word == word.casefold() for word in words_of(text))


def test_a_long_text_is_read_to_a_bound() -> None:
    assert len(words_of("so " * 10 * LONGEST)) == LONGEST
    assert len(words_of("城" * 10 * LONGEST)) == LONGEST


def test_words_of_one_document_and_of_most_documents_say_nothing() -> None:
    words = learned(["the old hedge", "the green hedge", "the sea", "the old sea", "the tower"] * 1)
    assert sorted(words.weights) == ["hedge", "old", "sea"]
    assert words.row(said("The Hedge! and more")) == {0: 1.0}
    assert words.row(said("the tower")) == {}
    assert words.row({"features": {"title": 3, "tags": ["hedge"], "on": True}}) == {}
    both = words.row(said("old sea"))
    assert sum(value**2 for value in both.values()) == pytest.approx(1.0)


def test_rare_words_make_way_where_there_are_too_many() -> None:
    texts = [f"alpha beta w{n}" if n % 4 == 0 else f"gamma w{n} w{n + 1}" for n in range(400)]
    assert list(learned(texts, most=1).weights) == ["alpha"]
    assert {"alpha", "beta"} <= learned(texts, counted=50).weights.keys()


def test_words_survive_their_storage() -> None:
    words = learned(["old hedge", "old sea", "green sea", "tower", "mill"])
    assert Words.of_json(json.loads(json.dumps(words.to_json()))) == words
    with pytest.raises(ConfigError, match="no words"):
        Words.of_json([["one"]])


def test_a_model_of_before_has_no_words() -> None:
    assert DocumentEncoder.of_json({"facts": []}) == DocumentEncoder()


def test_features_and_words_stand_beside_each_other() -> None:
    bodies = [
        {"categories": ["film"], "features": {"title": f"{word} hedge {n}"}}
        for n, word in enumerate(["old", "green", "old", "sea", "sea", "mill", "mill", "old"])
    ]
    encoder = encoder_of(bodies)
    rows = encoder.transform([bodies[0], {"categories": ["film"]}, said("old"), {}]).toarray()
    lengths = np.linalg.norm(rows, axis=1)
    np.testing.assert_allclose(lengths, [np.hypot(1, SAID), 1, SAID, 0], rtol=1e-5)


def test_a_catalogue_of_titles_alone_is_enough() -> None:
    names = ["walking", "running", "riding", "rain", "sun", "winter"]
    bodies = [
        said(f"{names[item // 7 % 6]} {'boot' if item % 2 == 0 else 'cap'} no {item}")
        for item in range(N_ITEMS)
    ]
    some = described(bodies)
    model = fit(likes(), some, ContentConfig())
    users = model.row.vectors(likes())
    for taste in (0, 1):
        score = np.mean([model.scores(user)[NEW] for user in users[taste::2]], axis=0)
        own = taste == NEW % 2
        assert score[own].min() > score[~own].max()
    shares = []
    for item in NEW.tolist():
        near = model.likeness(item)
        near[item] = -np.inf
        shares.append(np.mean(np.argsort(-near)[:5] % 2 == item % 2))
    assert np.mean(shares) > 0.75


def test_empty_texts_say_nothing_and_harm_nothing() -> None:
    bodies = [{"features": {"title": "", "about": " "}} for _ in range(N_ITEMS)]
    assert encoder_of(bodies).words.width == 0
    bodies[: N_ITEMS // 2] = [said(f"boot {n % 5} of {n}") for n in range(N_ITEMS // 2)]
    model = fit(likes(), described(bodies), ContentConfig())
    assert np.isfinite(model.places).all()
    assert not model.placed[N_ITEMS // 2 :].any() or encoder_of(bodies).facts.width
