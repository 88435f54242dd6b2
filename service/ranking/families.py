"""All families of models and rankers.

To add a family, write a module with its ranker in ``trained``, an entry here and a module with its
recipe. Nothing else in the service lists families: code asks the entry (``Ranker.family``) or the
ranker itself.

A family without training has no recipe. Its ranker is made of state that the learner writes with
each commit, so beside the entry it needs:

- in ``untrained``, a module with the ranker and a ``State`` that makes it; ``online.py`` is an
  example of a personal family, ``everybody.py`` of lists that are the same for everybody;
- in ``service/serving/copies``, a poll of the stored state whose ``current`` is that ``State``; an
  api process starts it in ``service/runtime/followed.py``, where ``states`` lists it;
- in ``service/learning/following/states.py``, the same ``State`` made of a view of the learner.

The version of its ranker stays the same while events change the state: the weights and metrics in
the mixture belong to a version. A personal one says in ``reasons`` why it may not rank.
"""

from typing import TYPE_CHECKING, Literal, TypeAlias

from core.batch.autoregression import config as autoregression
from core.batch.content import config as content
from core.batch.fbgd import config as fbgd
from core.batch.here import config as here
from core.batch.neighbours import config as neighbours
from core.batch.ocmf import config as ocmf
from core.labels import config as labels
from core.ordinal import config as ordinal
from service.ranking.family import Families, Family, Reasons, table
from service.ranking.strategies import (
    EXPLORE,
    LATEST,
    MIXTURE,
    NEXT,
    ONLINE,
    POPULAR,
    TRENDING,
    Strategy,
)
from service.ranking.trained.content import read_content
from service.ranking.trained.fold_in import read_fold_in
from service.ranking.trained.here import read_here
from service.ranking.trained.labelled import read_labelled
from service.ranking.trained.neighbours import read_neighbours
from service.ranking.trained.sequence import read_sequence
from service.ranking.trained.starred import read_starred

FAMILIES: Families = table(
    (
        Family(
            strategy="fbgd",
            number=0,
            title="Matrix factorisation",
            about="Finds items that go together in what people liked; the usual choice.",
            compares_items=True,
            recipes=fbgd.RECIPES,
            read=read_fold_in,
            compares_users=True,
            explains=True,
        ),
        Family(
            strategy="ocmf",
            number=1,
            title="Matrix factorisation with features of users",
            about="Finds items that go together, and also uses what is known of new users.",
            compares_items=True,
            recipes=ocmf.RECIPES,
            read=read_fold_in,
            compares_users=True,
            explains=True,
            serves_without_history=True,
            reads_user_features=True,
        ),
        Family(
            strategy="exmlds",
            number=2,
            title="Items for profiles",
            about="Ranks by features for people without a history, and finds people for an item.",
            compares_items=True,
            recipes=labels.RECIPES,
            read=read_labelled,
            finds_audience=True,
            reads_history=False,
            serves_without_history=True,
            judged=False,
            reads_user_features=True,
            reads_item_features=True,
        ),
        Family(
            strategy="ordinal",
            number=3,
            title="Stars for profiles",
            about="Predicts by features how many stars a person gives an item, even a new one.",
            compares_items=True,
            recipes=ordinal.RECIPES,
            read=read_starred,
            predicts_stars=True,
            reads_history=False,
            serves_without_history=True,
            trusted=False,
            reads_user_features=True,
            reads_item_features=True,
            reads_later_items=True,
        ),
        Family(
            strategy=ONLINE,
            number=4,
            title="Online model",
            about="Learns from every rating within milliseconds.",
            score_kind="stars",
            reasons=Reasons(
                unlearned="the online model has learned no items yet: send ratings",
                no_user="the online model knows users by their own ratings only: "
                "name a `user` who has rated something",
                unknown="online knows users by the ratings that it has learned of them: "
                "send some (POST /v1/events)",
                newer="it knows newly rated items some seconds later",
            ),
        ),
        Family(
            strategy=POPULAR,
            number=6,
            title="Popular",
            about="Lists what most people liked.",
            score_kind="count",
            for_everybody=True,
            reads_history=False,
            serves_without_history=True,
        ),
        Family(
            strategy=TRENDING,
            number=7,
            title="Trending",
            about="Lists what many people liked lately.",
            score_kind="count",
            for_everybody=True,
            reads_history=False,
            serves_without_history=True,
        ),
        Family(
            strategy=NEXT,
            number=8,
            title="What others went on to",
            about="Lists what others went on to after the items that the user saw last.",
            score_kind="count",
            compares_items=True,
            explains=True,
            reasons=Reasons(
                unlearned="no item has followed another yet: send events of one user on two items",
                unknown="next knows users by their latest items, and nothing has followed these "
                "yet: send more feedback",
                newer="it knows what follows a new item some seconds later",
            ),
        ),
        Family(
            strategy="sequence",
            number=9,
            title="What comes next",
            about="Finds what people usually turn to after the latest items.",
            compares_items=True,
            recipes=autoregression.RECIPES,
            read=read_sequence,
            explains=True,
            reads_order=True,
        ),
        Family(
            strategy="neighbours",
            number=10,
            title="Neighbours",
            about="Finds items that the same people like as the items of a history.",
            compares_items=True,
            compares_items_best=True,
            recipes=neighbours.RECIPES,
            read=read_neighbours,
            explains=True,
            reads_dislikes=False,
        ),
        Family(
            strategy="content",
            number=11,
            title="What items are like",
            about="Ranks items by what is said of them, even those that nobody took yet.",
            compares_items=True,
            recipes=content.RECIPES,
            read=read_content,
            compares_users=True,
            explains=True,
            reads_item_features=True,
            reads_later_items=True,
            only_places=True,
        ),
        Family(
            strategy=LATEST,
            number=12,
            title="Latest",
            about="Lists what was added last.",
            score_kind="days",
            for_everybody=True,
            mixes=False,
            judged=False,
            reads_history=False,
            serves_without_history=True,
        ),
        Family(
            strategy="here",
            number=13,
            title="Liked here",
            about="Lists what people like in the context of the request, such as a device.",
            recipes=here.RECIPES,
            read=read_here,
            reads_history=False,
            serves_without_history=True,
            reads_context=True,
        ),
    )
)

_NUMBERS = {family.number: family.strategy for family in FAMILIES.values()} | {5: MIXTURE}
_TITLES = {name: family.title for name, family in FAMILIES.items()} | {MIXTURE: "Mixture"}
STRATEGIES: tuple[Strategy, ...] = tuple(_NUMBERS.get(n, "") for n in range(max(_NUMBERS) + 1))
"""All strategies by number, empty for a number without a family. Logs and recommendation ids store
the numbers."""


def title_of(strategy: Strategy) -> str:
    """Return the name of a strategy for people; of an unknown one, the strategy itself.

    >>> title_of("fbgd"), title_of("mixture"), title_of("of-old")
    ('Matrix factorisation', 'Mixture', 'of-old')
    """
    return _TITLES.get(strategy, strategy)


if TYPE_CHECKING:
    AnyStrategy: TypeAlias = Strategy
    ItemStrategy: TypeAlias = Strategy
    TrainedStrategy: TypeAlias = Strategy
    ComparingStrategy: TypeAlias = Strategy
    SimilarStrategy: TypeAlias = Strategy
    AudienceStrategy: TypeAlias = Strategy
    StarStrategy: TypeAlias = Strategy
    PredictingStrategy: TypeAlias = Strategy
else:
    _all = FAMILIES.values()
    AnyStrategy = Literal[tuple(filter(None, STRATEGIES))]
    ItemStrategy = Literal[(*filter(None, STRATEGIES), EXPLORE)]
    TrainedStrategy = Literal[tuple(one.strategy for one in _all if one.trained)]
    SimilarStrategy = Literal[tuple(one.strategy for one in _all if one.compares_items)]
    ComparingStrategy = Literal[tuple(one.strategy for one in _all if one.compares_users)]
    AudienceStrategy = Literal[tuple(one.strategy for one in _all if one.finds_audience)]
    _stars = tuple(one.strategy for one in _all if one.predicts_stars)
    StarStrategy = Literal[_stars]
    PredictingStrategy = Literal[(ONLINE, *_stars)]
"""The strategies that a request may name, for any purpose or for one that needs an ability; an item
of an answer may also come from ``EXPLORE``."""
