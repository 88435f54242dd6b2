"""The gate and ``hedgerow eval`` rank for held-out users as slates are made for them."""

from types import SimpleNamespace
from typing import Any, cast, get_args

import numpy as np
import pytest
from msgspec.structs import replace
from scipy import sparse

from core.batch.fbgd.config import FbgdConfig
from core.batch.fbgd.model import Fbgd
from core.batch.ocmf.config import FeatureUse, OcmfConfig, Use
from core.batch.ocmf.users import StructuredUsers
from core.batch.preferences import Preferences
from core.interactions import Interactions
from core.labels.config import ItemsConfig
from core.labels.items import fit_items
from core.splits import split_within_users
from core.types import F32, I32
from service.evaluation.topk import ranked_for
from service.ranking.asker import Asker
from service.ranking.families import FAMILIES
from service.ranking.pool import Pool, chosen
from service.ranking.trained.fold_in import FoldIn
from service.training.data.dataset import Dataset, HeldOut
from service.training.data.material import Material
from service.training.fold_in import as_served, folded_in
from service.training.recipes import RANKING
from service.training.validation import DEPTH, Validation, validated, validated_by_features
from tests.core import ranking


def world() -> tuple[Interactions, Dataset]:
    """Return the pairs of a fit, and half of its users held out with later pairs."""
    fit, later = split_within_users(ranking.tribes(), 0.2, np.random.default_rng(1))
    users = np.flatnonzero(later.user_counts)[::2]
    held_out = HeldOut(users, fit.rows(users), later.rows(users))
    features = sparse.csr_array(np.eye(4, dtype=np.float32)[np.arange(fit.n_users) % 4])
    encoded = SimpleNamespace(features=features)
    data = SimpleNamespace(known=fit, held_out=held_out, encoded=encoded)
    return fit, cast(Dataset, data)


def asker(pairs: Interactions, user: int) -> Asker:
    own = pairs.item_ix[pairs.ptr[user] : pairs.ptr[user + 1]]
    ones = np.ones(own.size, np.float32)
    return Asker(Preferences(own, ones, ones, own))


def served(users: StructuredUsers, pairs: Interactions, asked: Any) -> I32:
    """Return the lists that serving makes with a model, (users, DEPTH)."""
    ranker = FoldIn(FAMILIES["fbgd"], "1", users, {})
    every = np.ones(pairs.n_items, np.bool_)
    lists = []
    for user in asked.tolist():
        somebody = asker(pairs, user)
        pool = Pool(every, somebody.preferences.seen)
        lists.append(ranker.best(somebody, pool, DEPTH).items)
    return np.array(lists)


def hits(ids: I32, held: Interactions) -> list[list[bool]]:
    return [np.isin(row, held.rows(np.array([at])).item_ix).tolist() for at, row in enumerate(ids)]


def models() -> dict[str, Any]:
    return {
        "fbgd": FbgdConfig(factors=8, epochs=4, alpha0=60.0, reg=1.0),
        "fbgd, shrunk": FbgdConfig(factors=8, epochs=4, alpha0=60.0, reg=1.0, shrinkage=2.0),
        "ocmf-sq-wsq": FeatureUse(OcmfConfig(loss="square", factors=8)),
        "ocmf-lr-wsq": FeatureUse(OcmfConfig(loss="logistic", factors=8)),
    }


@pytest.mark.parametrize("name", models())
def test_the_list_of_a_held_out_user_is_what_a_slate_shows(name: str) -> None:
    pairs, data = world()
    recipe, config = RANKING[name.split(",", maxsplit=1)[0]], models()[name]
    model = recipe.fit(Material(pairs), config)
    asked = data.held_out.user_ix
    lists = served(model, pairs, asked)
    assert recipe.validated(data, model).found.hit.tolist() == hits(lists, data.held_out.held)
    answers = recipe.answers(Material(pairs), config, model)
    assert ranked_for(answers, pairs, asked, DEPTH).tolist() == lists.tolist()


@pytest.mark.parametrize("use", get_args(Use))
def test_a_model_that_also_knows_features_is_validated_with_them(use: str) -> None:
    pairs, data = world()
    features: Any = data.encoded.features if data.encoded else None
    # the features of some users are unknown, as if they had no document
    features = sparse.csr_array(features * (np.arange(pairs.n_users) % 3 > 0)[:, None])
    data.encoded.features = features
    config = FeatureUse(OcmfConfig(loss="square", factors=8), use)
    model = RANKING["ocmf-sq-wsq"].fit(Material(pairs, user_features=features), config)
    asked, ranker = data.held_out.user_ix, FoldIn(FAMILIES["ocmf"], "1", model, {})
    askers = [described(model, features[[user]], asker(pairs, user)) for user in asked.tolist()]
    served = [ranker.fold_in(somebody) for somebody in askers]
    answers = as_served(model, data.encoded)
    # not the lists: rounding may swap two items whose scores are all but equal
    np.testing.assert_allclose(answers.vectors(asked, pairs.rows(asked)), served, atol=1e-5)
    hit = RANKING["ocmf-sq-wsq"].validated(data, model).found.hit.tolist()
    assert hit == validated(data, answers).found.hit.tolist()
    assert hit != validated(data, folded_in(model)).found.hit.tolist()


def described(model: StructuredUsers, row: Any, somebody: Asker) -> Asker:
    vectors = {"1": model.feature_vectors(row)[0]} if row.nnz else {}
    return replace(somebody, features=vectors)


def test_a_model_that_knows_features_alone_is_validated_by_the_lists_that_it_shows() -> None:
    pairs, data = world()
    features: Any = data.encoded.features if data.encoded else None
    model = fit_items(features, pairs, ItemsConfig(factors=4))
    every = np.ones(pairs.n_items, np.bool_)
    lists = [
        chosen(scores, Pool(every, asker(pairs, user).preferences.seen), DEPTH)[0]
        for user, scores in zip(
            data.held_out.user_ix.tolist(), _scores(model, features, data), strict=True
        )
    ]
    found: Validation = validated_by_features(data, model)
    assert found.found.hit.tolist() == hits(np.array(lists), data.held_out.held)


def _scores(model: Any, features: Any, data: Dataset) -> F32:
    scores: F32 = model.scores(features[data.held_out.user_ix])
    return scores


def test_items_that_came_after_the_training_are_missed_not_an_error() -> None:
    pairs, data = world()
    known = pairs.keep(pairs.item_ix < 40)
    first = Interactions(40, known.ptr, known.item_ix)
    users = StructuredUsers(Fbgd(FbgdConfig(factors=4, epochs=2)).fit(first).fitted)
    found = validated(data, folded_in(users)).found
    later = [np.any(row >= 40) for row in _held(data)]
    assert any(later)
    assert found.hit.shape == (data.held_out.user_ix.size, DEPTH)


def _held(data: Dataset) -> list[I32]:
    held = data.held_out.held
    return [held.item_ix[held.ptr[at] : held.ptr[at + 1]] for at in range(held.n_users)]
