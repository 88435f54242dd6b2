"""Trained models in the mixture: judged on the users that they know, as an api process ranks."""

import json

import numpy as np
import pytest

from core.batch.preferences import Preferences
from core.features import Column, FeatureEncoder
from core.mixture_weights import Weights, foreseen
from core.ordinal.config import StarsConfig
from core.ordinal.fit_stars import fit_stars
from core.ordinal.snapshot import of_stars
from core.stack.choices import Choice
from service.learning.following.follower import Follower
from service.learning.following.inbox import Sighting
from service.learning.following.judge import Verdict
from service.learning.following.learned_weights import LearnedWeights, TrainedModel
from service.ranking.families import FAMILIES
from service.ranking.slates.choice import LEAST_WEIGHT
from service.store.keys import NamespaceKeys
from service.store.log.codec import DELETE_ITEM
from service.store.models.joined_mixture import joined, knowing, weights
from service.store.models.mixture import (
    FirstStack,
    LengthRecord,
    MixtureRecord,
    RankerRecord,
    StackRecord,
    read_first_stack,
    read_mixture,
    write_first_stack,
)
from service.store.models.registry import Registry
from service.store.namespace import open_namespace
from tests.core.rated import N_ITEMS, world
from tests.feed import Event
from tests.models import activated
from tests.server import wait_until

KINDS = FeatureEncoder((Column("kind", ("k0", "k1", "k2")),))
OTHERS = ("online", "popular", "trending")
NONE = np.empty(0, np.int32)
NOBODY = Preferences(NONE, NONE.astype(np.float32), NONE.astype(np.float32), NONE)


@pytest.fixture
def feed(feed):
    return feed.with_items(N_ITEMS)


@pytest.fixture
def learner(eager_learner):
    return eager_learner


@pytest.fixture
def follower(redis_url, client, eager, learner):
    follower = Follower(eager, redis_url, open_namespace(client, eager), 0, learner.follower_inbox)
    yield follower
    follower.close()


@pytest.fixture(scope="module")
def stars():
    return fit_stars(*world(), StarsConfig(labelled=150, unlabelled=40, frequencies=32))


def starred(client, namespace, stars):
    made = of_stars(
        "ordinal", stars, encoder=KINDS, item_encoder=KINDS, settings={}, metrics={}, cuts={}
    )
    return activated(Registry(client, namespace), made=made, strategy="ordinal")


def described(client, namespace, user, **features):
    body = {"version": 1, "features": features, "links": []}
    client.set(NamespaceKeys(namespace).user_document(user), json.dumps(body))


def test_an_ordinal_model_is_judged_for_users_whose_features_it_knows(
    client, namespace, feed, learner, follower, stars
):
    described(client, namespace, "ann", kind="k1")
    version = starred(client, namespace, stars).version
    follower.start()

    def judged(name):
        record = read_mixture(client, feed.keys)
        return record.rankers[name].judged if record and name in record.rankers else -1

    wait_until(lambda: judged("ordinal") == 0)
    learner.follower_inbox.refresh(0)
    for item in ("i1", "i4", "i7"):
        feed.append([Event("ann", item, 5), Event("bob", item, 5)])
        learner.drain()
        # a later view would replace theirs
        wait_until(lambda: not learner.follower_inbox._waiting)
    wait_until(lambda: judged("popular") == 4)
    record = read_mixture(client, feed.keys)
    assert record.rankers["ordinal"].version == version
    assert record.rankers["ordinal"].judged == 2
    # items of her kind are first, even before they are rated
    assert record.rankers["ordinal"].mrr > 0.05


def test_a_ranker_without_a_list_keeps_weight_and_means():
    learned = LearnedWeights(None)
    learned.follow(
        {"fbgd": TrainedModel("1", None), "ordinal": TrainedModel("2", None)}, {"popular": "p"}
    )
    before = learned.weights.shared
    sighting = Sighting(**dict.fromkeys(Sighting.__dataclass_fields__, 0))
    learned.judge(Verdict({"fbgd": 1, "popular": 50}, 0, 3), sighting)
    after = learned.weights.shared
    assert after["fbgd"] > before["fbgd"]
    assert after["popular"] < before["popular"]
    assert after["ordinal"] == pytest.approx(before["ordinal"], abs=1e-3)
    assert learned.record.rankers["ordinal"].judged == 0
    assert learned.record.rankers["fbgd"].judged == 1


def judged(learned, n_known, **ranks):
    """Judge one positive of a user with so many preferences."""
    sighting = Sighting(**dict.fromkeys(Sighting.__dataclass_fields__, 0))
    learned.judge(Verdict(ranks, 0, n_known), sighting)


def test_histories_of_each_length_learn_their_own_weights_from_those_of_all():
    learned = standing(5_000, fbgd=0.4, popular=0.6)
    for _ in range(200):
        judged(learned, 30, fbgd=1, popular=0)
    of_all = learned.weights.shared
    assert of_all["fbgd"] > 0.9
    assert learned.weights.of(4) == of_all
    for _ in range(200):
        judged(learned, 4, fbgd=50, popular=1)
    short, long = learned.weights.of(0), learned.weights.of(99)
    assert short["popular"] > 0.9
    assert long["popular"] < 0.1
    assert learned.weights.of(5) == learned.weights.shared
    assert {least: one.judged for least, one in learned.record.by_length.items()} == {
        0: 200,
        20: 200,
    }


def test_weights_of_a_length_outlast_new_versions_and_begin_again_with_a_new_ranker():
    learned = standing(5_000, fbgd=0.4, ocmf=0.3, popular=0.3)
    judged(learned, 2, fbgd=1, ocmf=2, popular=0)
    before = learned.weights.of(2)
    learned.follow({"fbgd": TrainedModel("newer", 0.01)}, {"popular": "popular"})
    after = learned.weights.of(2)
    assert after.keys() == {"fbgd", "popular"}
    assert sum(after.values()) == pytest.approx(1.0)
    assert after["fbgd"] / after["popular"] == pytest.approx(before["fbgd"] / before["popular"])
    learned.follow({"ocmf": TrainedModel("new", 0.01)}, {"popular": "popular"})
    assert learned.record.by_length == {}
    assert learned.weights.of(2) == learned.weights.shared


def standing(judged=0, **weights):
    rankers = {n: RankerRecord(w, n, judged, 0.1, 0.1) for n, w in weights.items()}
    return LearnedWeights(MixtureRecord(9, judged, 0, rankers))


def followed(learned, **leads):
    """Have these trained models, each with its lead, and return all weights."""
    trained = {
        name: TrainedModel(name, lead, FAMILIES[name].trusted) for name, lead in leads.items()
    }
    learned.follow(trained, {name: name for name in OTHERS})
    found = learned.weights.shared
    assert found.keys() == leads.keys() | set(OTHERS)
    assert sum(found.values()) == pytest.approx(1.0)
    return found


def test_a_first_model_starts_with_the_weight_that_the_gate_predicts():
    # the weights after 30 judgements during an import
    imported = {"online": 0.4, "popular": 0.35, "trending": 0.25}
    found = followed(standing(30, **imported), fbgd=0.012)
    assert found["fbgd"] > 5 * found["popular"]
    assert found["popular"] == pytest.approx(found["online"]) == pytest.approx(found["trending"])
    assert found == followed(LearnedWeights(None), fbgd=0.012)
    worse = followed(standing(30, **imported), fbgd=-0.012)
    assert worse["fbgd"] < worse["popular"] / 4


def test_a_first_model_that_nobody_could_judge_is_one_of_several():
    found = followed(standing(30, online=0.2, popular=0.6, trending=0.2), fbgd=None)
    assert {round(weight, 9) for weight in found.values()} == {0.25}
    # and so is the next one
    both = followed(LearnedWeights(None), fbgd=None, ocmf=None)
    assert both["fbgd"] == pytest.approx(both["ocmf"])


def test_an_unjudged_model_starts_like_the_best_but_stars_earn_their_weight():
    found = followed(LearnedWeights(None), fbgd=0.01, ocmf=0.002, exmlds=None, ordinal=None)
    assert found["exmlds"] == pytest.approx(found["fbgd"])
    assert found["ocmf"] < found["fbgd"]
    assert found["ordinal"] < LEAST_WEIGHT * found["fbgd"]


def test_the_gate_prevails_until_a_model_was_judged_often():
    young = standing(30, fbgd=0.1, online=0.2, popular=0.6, trending=0.1)
    assert followed(young, fbgd=0.01, ocmf=0.01)["fbgd"] > 0.3


def test_a_later_model_is_weighted_relative_to_the_heaviest_as_the_gate_predicts():
    learned = {"fbgd": 0.7, "online": 0.05, "popular": 0.2, "trending": 0.05}
    for lead in (0.004, 0.01, 0.02):
        expected = foreseen({"fbgd": 0.01, "ocmf": lead} | dict.fromkeys(OTHERS, 0.0))
        found = followed(standing(2_000, **learned), fbgd=0.01, ocmf=lead)
        ratio = expected["ocmf"] / expected["fbgd"]
        assert found["ocmf"] / found["fbgd"] == pytest.approx(ratio)
        assert found["fbgd"] / found["popular"] == pytest.approx(3.5)


def test_an_unjudged_later_model_is_no_heavier_than_the_heaviest():
    learned = {"fbgd": 0.1, "online": 0.2, "popular": 0.6, "trending": 0.1}
    found = followed(standing(2_000, **learned), fbgd=None, ocmf=None)
    assert found["ocmf"] == pytest.approx(found["popular"])


def test_a_new_version_keeps_the_weight_of_the_old_whatever_the_gate_says():
    learned = standing(2_000, fbgd=0.7, online=0.1, popular=0.1, trending=0.1)
    before = learned.weights.shared
    others = {name: name for name in OTHERS}
    learned.follow({"fbgd": TrainedModel("new", -1.0)}, others)
    assert learned.weights.shared == pytest.approx(before)
    assert learned.record.rankers["fbgd"].judged == 0
    assert learned.record.rankers["popular"].judged == 2_000


def test_deletions_reach_the_follower_without_reading_them_all_again(
    client, namespace, feed, learner, follower
):
    feed.append([Event("ann", "i1", 5), Event("ann", "i2", 5), Event("", "i1", 0, DELETE_ITEM)])
    learner.drain()
    follower.start()
    learner.follower_inbox.refresh(learner.watermark)
    feed.append([Event("ann", "i3", 5), Event("", "i2", 0, DELETE_ITEM)])
    learner.drain()
    wait_until(lambda: not learner.follower_inbox._waiting)
    # all items that ann liked are excluded but the one she has just taken
    feed.append([Event("ann", "i4", 5)])
    learner.drain()
    wait_until(lambda: follower._deleted.keys() == {1, 2})
    assert learner.follower_inbox.take_deleted() == {}


def test_weights_count_by_what_each_partition_has_judged():
    def record(judged, **of):
        rankers = {name: RankerRecord(w, name, judged, 0.1, 0.2) for name, w in of.items()}
        return MixtureRecord(judged, judged, 0, rankers)

    first, second = record(30, fbgd=0.8, popular=0.2), record(10, popular=1.0)
    assert weights([first, second]).shared == pytest.approx({"fbgd": 0.6, "popular": 0.4})
    assert joined([first, second])[0]["fbgd"].weight == pytest.approx(0.6)
    unjudged = weights([record(0, fbgd=0.5, popular=0.5)])
    assert unjudged.shared == {"fbgd": 0.5, "popular": 0.5}
    assert weights([]) == Weights()


def test_what_a_follower_left_that_is_gone_does_not_count_for_models_promoted_since():
    here, gone = LearnedWeights(None), LearnedWeights(None)
    for learned in (here, gone):
        followed(learned, fbgd=0.01)
        for n in range(1_200):
            judged(learned, n % 30, fbgd=5, popular=20, trending=30, online=60)
    followed(here, fbgd=0.01, ocmf=0.02)
    records, versions = [here.record, None, gone.record], {"fbgd": "fbgd", "ocmf": "ocmf"}
    for _ in range(2):
        found = weights(knowing(records, versions))
        assert found == here.weights
        assert found.of(2)["ocmf"] > found.of(2)["fbgd"]
        judged(here, 2, ocmf=2, fbgd=5, popular=20, trending=30, online=60)
        records[0] = here.record
    # a partition that returns starts as expected too, and counts by its own judgements
    followed(gone, fbgd=0.01, ocmf=0.02)
    assert knowing([here.record, gone.record], versions) == [here.record, gone.record]


def test_every_follower_counts_where_none_knows_what_serves():
    records = [standing(5, fbgd=0.5, popular=0.5).record, None]
    assert knowing(records, {"fbgd": "newer"}) == records[:1]
    assert knowing([None, None], {"fbgd": "newer"}) == []


def test_weights_of_a_length_count_by_what_each_partition_has_judged_of_it():
    def record(**lengths):
        by_length = {
            int(least): LengthRecord(judged, {"fbgd": own, "popular": 1.0 - own})
            for least, (judged, own) in lengths.items()
        }
        rankers = {name: RankerRecord(0.5, name, 0, 0.1, 0.2) for name in ("fbgd", "popular")}
        return MixtureRecord(9, 100, 0, rankers, by_length=by_length)

    found = weights([record(**{"0": (30, 0.8), "5": (7, 0.1)}), record(**{"0": (10, 0.0)})])
    assert found.of(2) == pytest.approx({"fbgd": 0.6, "popular": 0.4})
    assert found.of(6) == pytest.approx({"fbgd": 0.1, "popular": 0.9})
    assert found.of(20) == {"fbgd": 0.5, "popular": 0.5}


def foretold(*families, job="j1", events=0):
    """Return what a training foretells: a weight for the score of each family."""
    return foretold_of([f"{name}: score" for name in families], job, events)


def foretold_of(signals, job="j1", events=0):
    n = len(signals)
    stack = StackRecord(
        names=tuple(signals),
        mean=(0.0,) * n,
        scale=(1.0,) * n,
        weights=((1.0, 0.0, 0.0),) * n,
        length=(2.0, 1.0),
        events=events,
    )
    return FirstStack(job, stack)


def test_what_a_training_foretells_ranks_until_the_follower_knows_better():
    learned = LearnedWeights(None)
    learned.follow({"fbgd": TrainedModel("1", 0.01)}, {"popular": "p"})
    learned.foretold(foretold("fbgd", "sequence"))
    assert learned.arms.logit is None, "a family of it does not serve yet"
    learned.foretold(foretold("fbgd", "popular"))
    assert learned.arms.best(7, ["stack", "fusion", "fbgd"]) == "stack"
    assert learned.record.stack == foretold("fbgd", "popular").stack
    for _ in range(100):
        learned.judge(
            Verdict({"fbgd": 1, "popular": 9}, 9, 7, {"fusion": 1, "stack": 9}), sighting_of_any()
        )
    assert learned.arms.best(7, ["stack", "fusion"]) == "fusion"
    learned.foretold(foretold("fbgd", "popular"))
    assert learned.arms.best(7, ["stack", "fusion"]) == "fusion", "each is taken once"


def test_learned_weights_of_a_stack_stay_unless_a_training_knows_another_family():
    own = foretold("fbgd", "popular", events=500).stack
    learned = LearnedWeights(MixtureRecord(1, 500, 0, {}, stack=own))
    learned.follow(
        {name: TrainedModel("1", 0.01) for name in ("fbgd", "sequence")}, {"popular": "p"}
    )
    learned.foretold(foretold("fbgd", "popular", job="j2"))
    assert learned.record.stack == own
    learned.foretold(foretold("fbgd", "popular", "sequence", job="j3"))
    assert learned.record.stack == foretold("fbgd", "popular", "sequence").stack


def test_a_new_signal_of_a_known_family_discards_no_learned_weights():
    signals = ["popular: log score", "content: log affinity"]
    own = foretold_of(signals, events=500).stack
    learned = LearnedWeights(MixtureRecord(1, 500, 0, {}, stack=own))
    learned.follow({"content": TrainedModel("1", 0.01)}, {"popular": "p"})
    learned.foretold(foretold_of([*signals, "content: log likes", "history: new"], job="j2"))
    assert learned.record.stack == own
    assert learned.record.first_stack == "j2"


def test_what_was_learned_before_a_restart_outlasts_a_fit_to_few_events():
    own = foretold("fbgd", "popular", events=500).stack
    learned = LearnedWeights(MixtureRecord(1, 500, 0, {}, stack=own))
    learned.follow({"fbgd": TrainedModel("1", 0.01)}, {"popular": "p"})
    rng = np.random.default_rng(0)
    for _ in range(70):
        candidate = Choice(rng.normal(size=(9, 2)).astype(np.float32), int(rng.integers(9)), 7)
        verdict = Verdict({"fbgd": 1, "popular": 9}, 9, 7, {}, candidate, own.names)
        learned.judge(verdict, sighting_of_any())
        learned.fit()
    fitted = learned.record.stack
    assert fitted != own
    learned.foretold(foretold("fbgd", "popular", job="j2"))
    assert learned.record.stack == fitted


def test_what_a_training_foretells_is_stored(client, namespace):
    assert read_first_stack(client, namespace) is None
    write_first_stack(client, namespace, foretold("fbgd"))
    assert read_first_stack(client, namespace) == foretold("fbgd")


def sighting_of_any():
    return Sighting(**dict.fromkeys(Sighting.__dataclass_fields__, 0))
