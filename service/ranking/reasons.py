"""Reasons why an answer is not what was asked for, or not personal, and what would help."""

from collections.abc import Callable, Sequence
from difflib import get_close_matches

from core.batch.preferences import Preferences
from service.ranking.families import FAMILIES
from service.ranking.family import Family
from service.ranking.ranker import Ranker
from service.ranking.strategies import Strategy

INDIFFERENT = "nothing in this history says what is liked or disliked: send more feedback"
NO_TOPICS = (
    "topics are made of the item vectors of a trained model, and none is active yet: "
    "send feedback, or train one (POST /v1/retrain)"
)
NO_ITEMS = (
    "there is no item that may be shown: add items (POST /v1/items) or feedback (POST /v1/events)"
)
NOTHING_TO_MIX = (
    "a single ranker knows this user, and no weights of other rankers are known yet: "
    "there is nothing to mix"
)
OUTWEIGHED = "one ranker has so much weight for this user that the others would not change the list"
UNCATEGORIZED = (
    "no item has categories: write them (PUT /v1/items/{item}, "
    "or a column `categories` of an import), or filter by a feature"
)
UNKNOWN = "no active model knows anything about this user yet: send feedback on items that it knows"
UNLEARNED = (
    "no model has learned this item yet: train one after its first positive feedback "
    "(POST /v1/retrain)"
)


MOST_COMPARED = 2_000
"""Largest number of names that are compared with one that is spelt in another way."""
MOST_NAMED = 5
"""Largest number of features that a reason names."""


def inactive(strategy: Strategy | None, *, of_users: bool = True) -> str:
    """Say that no model of a strategy (None: of any strategy) is active, and how to get one.

    ``of_users``: the asker is a user.
    """
    if strategy is None:
        return "no model is active yet: train one (POST /v1/retrain)"
    family = FAMILIES[strategy]
    if not family.trained:
        return (not of_users and family.reasons.no_user) or family.reasons.unlearned
    train = _training(family)
    return f"no model of the strategy {strategy} is active: train one with {train}"


def uncompared(strategy: Strategy | None) -> str:
    """Say that no model of this strategy (None: of any strategy) that compares users is active."""
    if strategy is not None:
        return inactive(strategy)
    able = _those(lambda family: family.compares_users)
    return (
        f"only {_named(able)} compare users, and none of them is active: "
        f"train one with {_training(able[0])}"
    )


def unexplained() -> str:
    """Say that no active model can explain."""
    able = _those(lambda family: family.explains)
    return f"{_only_explains(able)}: train one with {_training(able[0])}"


def unexplained_list() -> str:
    """Say that no ranker of the slate could explain it."""
    able = _those(lambda family: family.explains)
    return f"{_only_explains(able)}, and none of them ranked by a history"


def _only_explains(able: Sequence[Family]) -> str:
    return f"nothing is explained: only {_named(able)} know which past items carry a score"


def _those(able: Callable[[Family], bool]) -> list[Family]:
    return [family for family in FAMILIES.values() if able(family)]


def _named(families: Sequence[Family]) -> str:
    *others, last = [family.strategy for family in families]
    return f"{', '.join(others)} and {last}" if others else last


def left_to_popular(strategy: Strategy) -> str:
    """Say that the list holds only popular items, and how long that may last."""
    family = FAMILIES.get(strategy)
    newer = f"; {family.reasons.newer}" if family is not None and family.reasons.newer else ""
    return (
        f"{strategy} has learned none of the items that may be shown{newer}: "
        "popular items are listed instead"
    )


def unknown(
    named: Ranker | None,
    own: Preferences,
    *,
    features: bool,
    posted: bool,
    anonymous: bool,
    feature_readers: Sequence[Ranker] = (),
) -> str:
    """Say why the ranker that was asked for (None: any) does not know an asker.

    ``features``: the asker has features; ``posted``: the history came with the request;
    ``anonymous``: no user is named; ``feature_readers`` are the active models that read features.
    """
    if posted and not own.seen.size and not own.item_ix.size:
        return "no item of `history` is known here: GET /v1/items lists those that are"
    if named is not None and named.family.reasons.unknown:
        return named.family.reasons.unknown
    if named is not None and named.family.reads_context:
        return f"{named.strategy} knows contexts that its training has seen: send a `context`"
    if (
        named is not None
        and named.family.trained
        and (own.seen.size or own.item_ix.size or features)
    ):
        return _unknown_to(named, own, features=features)
    if own.item_ix.size:
        return "no active model knows an item of this history: train one (POST /v1/retrain)"
    if features:
        if feature_readers:
            return f"no active model reads these features: {_reads(feature_readers[0])}"
        by_features = _those(lambda family: family.only_reads_features)
        return f"no active model reads these features: train one with {_training(by_features[0])}"
    if own.seen.size:
        return INDIFFERENT
    if anonymous:
        return "nothing is known about the asker: give a `user`, a `history` or `features`"
    return (
        "nothing is known of this user yet: send feedback (POST /v1/events) "
        "or features (PUT /v1/users/{user})"
    )


def _unknown_to(model: Ranker, own: Preferences, *, features: bool) -> str:
    name, train = model.strategy, f"train it with {_training(model.family)}"
    if model.family.reads_history and own.item_ix.size:
        return f"{name} knows no item of this history: {train}"
    if model.reads_features and features:
        return f"{name} reads none of these features: {_reads(model)}"
    if not model.family.reads_history:
        return f"{name} knows users by features: send some (PUT /v1/users/{{user}})"
    return (
        INDIFFERENT
        if own.seen.size
        else f"{name} knows users by feedback: send some (POST /v1/events)"
    )


def _reads(model: Ranker) -> str:
    names = [f"`{name}`" for name in model.features]
    more = ", ..." if len(names) > MOST_NAMED else ""
    known = f"{', '.join(names[:MOST_NAMED])}{more}"
    return (
        f"{model.strategy} knows {known or 'none'}, with the values that its training has seen; "
        f"for others train it with {_training(model.family)}"
    )


def _training(family: Family) -> str:
    return f'POST /v1/retrain {{"model": "{family.recipes[0].name}"}}'


def meant(name: str, known: Sequence[str], listed: str) -> str:
    """Ask whether a known name was meant by an unknown one, or say what lists the known ones.

    >>> meant("horror", ["Drama", "Horror"], "GET /v1/categories")
    'did you mean `Horror`?'
    >>> meant("war", ["Drama", "Horror"], "GET /v1/categories")
    'GET /v1/categories lists those that are known'
    """
    by_fold = {one.casefold(): one for one in known}
    near = name.casefold() if name.casefold() in by_fold else None
    if near is None and len(by_fold) <= MOST_COMPARED:
        near = next(iter(get_close_matches(name.casefold(), by_fold, n=1)), None)
    if near is None:
        return f"{listed} lists those that are known"
    return f"did you mean `{by_fold[near]}`?"


def and_(*reasons: str | None) -> str | None:
    """Join the reasons that are given; None if there are none."""
    return "; ".join(filter(None, reasons)) or None
