"""The codec of recommendation ids: round trips, bounds, and ids that were tampered with."""

from base64 import urlsafe_b64encode

from hypothesis import given
from hypothesis import strategies as st

from service.rec_ids import (
    _LAYOUT,
    LENGTH,
    NOBODY,
    STRATEGIES,
    _check,
    decode,
    encode,
    hashed,
    named,
    source_of,
)
from service.store.log.codec import SOURCE_BYTES

VERSION = "3fa2b4c1d2e3" + 52 * "0"


@given(
    st.sampled_from([*filter(None, STRATEGIES)]),
    st.integers(0, 2**48 - 1),
    st.none() | st.text(st.characters(codec="utf-8"), max_size=300),
)
def test_an_id_holds_strategy_version_time_and_user(strategy, time_ms, user):
    text = encode(strategy, VERSION, time_ms, user)
    assert (len(text), text.isascii()) == (LENGTH, True)
    found = decode(text)
    assert len(found.source) == SOURCE_BYTES
    assert (*named(found.source), found.time_ms) == (strategy, VERSION[:12], time_ms)
    assert found.user == (NOBODY if user is None else hashed(user))


def test_an_id_of_a_number_without_a_family_is_none():
    for number, strategy in enumerate(STRATEGIES):
        packed = _LAYOUT.pack(1, number, bytes(6), bytes(6), NOBODY)
        text = urlsafe_b64encode(packed + _check(packed)).decode()
        assert (decode(text) is not None) == bool(strategy)


def test_a_slate_without_a_model_has_none_in_its_id():
    assert named(decode(encode("popular", "popular", 0, None)).source) == ("popular", "")
    online = encode("online", "online-4f0797966127d249", 0, "ada")
    assert named(decode(online).source) == ("online", "4f0797966127")


@given(st.text(max_size=40) | st.binary(min_size=24, max_size=24).map(lambda b: b.hex()[:32]))
def test_a_foreign_id_has_no_source(text):
    found = decode(text)
    assert found is None or named(found.source)[0] in STRATEGIES


@given(st.integers(0, LENGTH - 1), st.sampled_from("AZaz09-_"))
def test_one_changed_character_is_noticed(place, letter):
    text = encode("fbgd", VERSION, 1_763_000_000_000, "ada")
    changed = text[:place] + letter + text[place + 1 :]
    assert changed == text or decode(changed) is None


def test_feedback_of_another_user_has_no_source():
    text = encode("fbgd", VERSION, 0, "ada")
    assert source_of(text, "ada") == decode(text).source
    assert source_of(text, "bob") == source_of("r", "ada") == b""
    assert source_of(encode("fbgd", VERSION, 0, None), "bob") == decode(text).source
