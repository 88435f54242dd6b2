"""What is liked in contexts: lifts beside naive counts, noise, bounds and snapshots."""

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.batch.here.config import FEWEST_USERS, HereConfig
from core.batch.here.fit import fit, log_likelihood, steadiness
from core.batch.here.likes import ContextLikes
from core.batch.here.model import Here
from core.batch.here.snapshot import here_of, of_here
from core.errors import ConfigError, DataError, SnapshotFormat
from core.snapshot import blob, mapped
from core.types import F64
from tests.core import reference_here

N_ITEMS = 40
SAID = (("device", "phone"), ("device", "tv"), ("device", "rare"), ("page", "home"), ("page", "x"))
MANY = (100,) * len(SAID)
ABOUT = {"settings": {}, "metrics": {}, "cuts": {}}


def told(seed: int = 0, n: int = 4_000, *, matters: bool = True) -> list[tuple[int, int]]:
    """Return (index in SAID, item) of likes: even items are liked on one of two devices."""
    rng = np.random.default_rng(seed)
    found = []
    for _ in range(n):
        item = int(rng.integers(N_ITEMS) * rng.random())
        device = int(rng.integers(2))
        if matters and item % 2 == 0 and rng.random() < 0.8:
            device = item // 2 % 2
        found += [(2 if rng.random() < 0.005 else device, item), (3 + int(rng.integers(2)), item)]
    return found


def likes_of(rows: list[tuple[int, int]], users: Sequence[int] = MANY) -> ContextLikes:
    said_ix, item_ix = np.array(rows, np.int32).reshape(-1, 2).T
    return ContextLikes(N_ITEMS, SAID, said_ix, item_ix, np.array(users))


def counts_of(rows: list[tuple[int, int]]) -> F64:
    return np.bincount([item for _, item in rows], minlength=N_ITEMS) + 1.0


def fitted(**config: int) -> Here:
    rows = told()
    return fit(likes_of(rows), counts_of(rows), HereConfig(**config))


def test_lifts_are_those_of_naive_counts():
    rows, made = told(), fitted()
    assert made.said == [("device", "phone"), ("device", "tv")]
    named = [(*SAID[said], item) for said, item in rows]
    of_device = [row for row in rows if row[0] < 3]
    shape = (len(made.said), N_ITEMS)
    counts, expected = np.zeros(shape), np.zeros(shape)
    for said, item in of_device:
        if said < 2:
            counts[said, item] += 1
        expected[:, item] += 1
    expected *= (counts.sum(axis=1) / len(of_device))[:, None]
    steady = steadiness(counts, expected)
    assert steady is not None
    for row, (name, text) in enumerate(made.said):
        for item in range(0, N_ITEMS, 7):
            naive = reference_here.lift(named, name, text, item, steady)
            assert made.lift[row, item] == pytest.approx(naive, abs=1e-5)


@given(n=st.integers(0, 30), e=st.floats(0.01, 30.0), a=st.floats(0.05, 50.0))
def test_the_likelihood_is_that_of_a_negative_binomial(n: int, e: float, a: float):
    # what depends on n and e alone is left out, and cancels between two strengths
    ours = [log_likelihood(np.array([n]), np.array([e]), one) for one in (a, 1.0)]
    naive = [np.log(reference_here.negative_binomial(n, e, one)) for one in (a, 1.0)]
    assert ours[0] - ours[1] == pytest.approx(naive[0] - naive[1], abs=1e-6)


@settings(max_examples=20)
@given(strength=st.floats(0.3, 20.0), seed=st.integers(0, 1_000))
def test_the_strength_of_the_pull_is_found_again(strength: float, seed: int):
    rng = np.random.default_rng(seed)
    expected = rng.uniform(1.0, 30.0, (2, 4_000))
    counts = rng.poisson(expected * rng.gamma(strength, 1 / strength, expected.shape))
    assert steadiness(counts.astype(float), expected) == pytest.approx(strength, rel=0.25)


def test_contexts_that_say_nothing_are_not_learned():
    for seed in range(20):
        rows = told(seed, matters=False)
        with pytest.raises(DataError, match="the same in all contexts"):
            fit(likes_of(rows), counts_of(rows), HereConfig())


def test_texts_with_few_likes_and_names_with_one_text_are_left_out():
    with pytest.raises(DataError, match="5000 liked items"):
        fitted(fewest=5_000)
    assert fitted(most=1).said in ([("device", "phone")], [("device", "tv")])
    alone = [row for row in told() if row[0] == 0]
    with pytest.raises(DataError, match="another text of the same name"):
        fit(likes_of(alone), counts_of(alone), HereConfig())
    with pytest.raises(DataError):
        fit(likes_of([]), np.ones(N_ITEMS), HereConfig())


def test_a_text_that_few_users_said_is_left_out_however_much_they_liked():
    rows = told()
    for users, learned in ((FEWEST_USERS - 1, {"tv"}), (FEWEST_USERS, {"phone", "tv"})):
        made = fit(likes_of(rows, (users, *MANY[1:])), counts_of(rows), HereConfig())
        assert {text for _, text in made.said} == learned
    with pytest.raises(DataError, match=f"by {FEWEST_USERS} users"):
        fit(likes_of(rows, (1,) * len(SAID)), counts_of(rows), HereConfig())


def test_scores_are_shares_times_the_lifts_of_all_that_is_said():
    made = fitted()
    both = made.known({"device": "tv", "page": "home", "else": "x"})
    assert [made.said[number] for number in both] == [("device", "tv")]
    assert made.known({"device": "rare"}) == made.known({"tv": "device"}) == ()
    for known in ((), (0,), (0, 1)):
        expected = made.share * np.exp(made.lift[list(known)].sum(axis=0))
        np.testing.assert_allclose(made.scores(known), expected, rtol=1e-5)
    items = np.array([3, N_ITEMS + 2, 0], np.int32)
    assert made.lifts((1,), items).tolist() == [made.lift[1, 3], 0.0, made.lift[1, 0]]
    nobody = Here(made.said, made.lift, np.where(np.arange(N_ITEMS) == 3, 0, made.share))
    assert nobody.scores((1,))[3] == -np.inf


def test_a_snapshot_brings_the_same_model_back():
    made = fitted()
    snapshot = of_here("here", made, **ABOUT)
    again = here_of(mapped(snapshot.manifest, b"".join(blob(snapshot))))
    assert again.said == made.said
    assert again.lift.tobytes() == made.lift.tobytes()
    assert again.share.tobytes() == made.share.tobytes()
    for said in ([["device", "tv"]], [["device"]] * 2, "xy"):
        broken = {**snapshot.manifest, "parameters": {"settings": {}, "said": said}}
        with pytest.raises(SnapshotFormat, match="likes in contexts"):
            here_of(mapped(broken, b"".join(blob(snapshot))))


def test_settings_out_of_bounds_are_refused():
    for wrong in ({"fewest": 0}, {"most": 0}, {"most": 1.5}):
        with pytest.raises(ConfigError):
            HereConfig(**wrong)
