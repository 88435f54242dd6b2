"""Why an answer is not what was asked for, or not personal, and what would help."""

from collections.abc import Mapping, Sequence

from core.batch.preferences import Preferences
from service.ranking.rankers import FoldIn, Online, Ranker, Trained
from service.rec_ids import Strategy

MODELS: Mapping[Strategy, str] = {
    "fbgd": "fbgd",
    "ocmf": "ocmf-lr-wsq",
    "exmlds": "exmlds",
    "ordinal": "ordinal",
}
"""A model to train, by strategy."""

INDIFFERENT = "nothing in this history says what is liked or disliked: send more feedback"
NO_ITEMS = (
    "there is no item that may be shown: add items (POST /v1/items) or feedback (POST /v1/ratings)"
)
NO_RATINGS = "the online model has learned no items yet: send ratings"
NO_USER = (
    "the online model knows users by their own ratings only: name a `user` who has rated something"
)
NOTHING_TO_MIX = "a single ranker knows this user, and nothing tells yet what others weigh beside it: there is nothing to mix"
OUTWEIGHED = (
    "one ranker weighs so much for this user that the others would move nothing that is seen"
)
UNCATEGORIZED = "no item has categories: write them (PUT /v1/items/{item}, or a column `categories` of an import), or filter by a feature"
UNKNOWN = "no active model knows anything of this user yet: send feedback on items that it knows"
UNLEARNED = "nothing was learned of this item yet: a training after its first positive feedback does (POST /v1/retrain)"


MOST_NAMED = 5
"""Features that are named to somebody whose features no model reads."""


def inactive(strategy: Strategy | None) -> str:
    """Say that no model of a strategy (None: of none) is active, and how there would be one."""
    if strategy is None:
        return "no model is active yet: train one (POST /v1/retrain)"
    return f"no model of the strategy {strategy} is active: train one with {_training(strategy)}"


def uncompared(strategy: Strategy | None) -> str:
    """Say that no model that compares users (None: none at all) is active."""
    if strategy is not None:
        return inactive(strategy)
    return f"only fbgd and ocmf compare users, and neither is active: train one with {_training('fbgd')}"


def unexplained() -> str:
    """Say that no model that could explain is active."""
    return f"nothing is explained: only fbgd and ocmf know which past items carry a score: train one with {_training('fbgd')}"


def left_to_popular(strategy: Strategy) -> str:
    """Say that who ranked has brought none of the items."""
    return f"{strategy} knows none of the items that may be shown: these are the popular ones"


def unknown(
    named: Ranker | None,
    own: Preferences,
    *,
    features: bool,
    posted: bool,
    anonymous: bool,
    describers: Sequence[Trained] = (),
) -> str:
    """Say why the ranker that was asked for (None: any) does not know an asker.

    ``features`` of the asker are known, ``posted``: the history came with the request, ``anonymous``: nobody is named;
    ``describers`` are the active models that read features.
    """
    if posted and not own.seen.size and not own.item_ix.size:
        return "no item of `history` is known here: GET /v1/items lists those that are"
    if isinstance(named, Online):
        return "online knows users by the ratings that it has learned of them: send some (POST /v1/ratings)"
    if isinstance(named, Trained) and (own.seen.size or own.item_ix.size or features):
        return _unknown_to(named, own, features=features)
    if own.item_ix.size:
        return "no active model knows an item of this history: train one (POST /v1/retrain)"
    if features:
        if describers:
            return f"no active model reads these features: {_reads(describers[0])}"
        return f"no active model reads these features: train one with {_training('exmlds')}"
    if own.seen.size:
        return INDIFFERENT
    if anonymous:
        return "nothing is known of whoever asks: give a `user`, a `history` or `features`"
    return "nothing is known of this user yet: send feedback (POST /v1/ratings) or features (PUT /v1/users/{user})"


def _unknown_to(model: Trained, own: Preferences, *, features: bool) -> str:
    name, train = model.strategy, f"train it with {_training(model.strategy)}"
    if isinstance(model, FoldIn) and own.item_ix.size:
        return f"{name} knows no item of this history: {train}"
    if model.knows_features and features:
        return f"{name} reads none of these features: {_reads(model)}"
    if not isinstance(model, FoldIn):
        return f"{name} knows users by features: send some (PUT /v1/users/{{user}})"
    return (
        INDIFFERENT
        if own.seen.size
        else f"{name} knows users by feedback: send some (POST /v1/ratings)"
    )


def _reads(model: Trained) -> str:
    names = [f"`{name}`" for name in model.features]
    more = ", ..." if len(names) > MOST_NAMED else ""
    known = f"{', '.join(names[:MOST_NAMED])}{more}"
    return (
        f"{model.strategy} knows {known or 'none'}, with the values that its training has seen; "
        f"for others train it with {_training(model.strategy)}"
    )


def _training(strategy: Strategy) -> str:
    return f'POST /v1/retrain {{"model": "{MODELS[strategy]}"}}'


def and_(*reasons: str | None) -> str | None:
    """Return all reasons, as far as there are any."""
    return "; ".join(filter(None, reasons)) or None
