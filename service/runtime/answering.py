"""The objects of an api process that answer requests from the copies in memory."""

from contextlib import AsyncExitStack
from dataclasses import dataclass

from service import configs
from service.runtime.followed import Followed
from service.runtime.opened import Opened
from service.runtime.store_access import StoreAccess
from service.serving.audience import Audience
from service.serving.item_search import ItemSearch
from service.serving.kept_answers import KeptAnswers
from service.serving.lineups import Lineups
from service.serving.predictions import OnlinePredictions
from service.serving.recommender import Recommender
from service.serving.sources import Sources
from service.serving.stacks_ahead import StacksAhead
from service.serving.star_predictions import StarPredictions
from service.serving.topics import CatalogueTopics
from service.serving.users import Users


@dataclass(frozen=True)
class Answering:
    """Objects that answer requests from the copies in memory."""

    online_predictions: OnlinePredictions
    recommender: Recommender
    kept_answers: KeptAnswers
    audience: Audience
    stars: StarPredictions
    topics: CatalogueTopics
    item_search: ItemSearch


def answering(
    stack: AsyncExitStack, base: Opened, stored: StoreAccess, kept: Followed, users: Users
) -> Answering:
    """Make them; what they do in the background ends when the stack closes."""
    lineups = Lineups(
        kept.active,
        kept.mixture_weights,
        kept.later_items,
        kept.folded_items,
        states=kept.states,
    )
    sources = Sources(
        namespace=base.namespace,
        lineups=lineups,
        users=users,
        numbers=stored.numbers,
        catalogue=stored.catalogue,
        view=kept.view,
        popularity=kept.popularity,
        new_items=kept.new_items,
        changes=kept.changes,
    )
    kept.warming.ahead = StacksAhead(sources).head
    recommender = Recommender(sources, configs.meanings(base.settings, base.namespace))
    topics = CatalogueTopics(sources)
    stack.push_async_callback(topics.close)
    stack.push_async_callback(recommender.close)
    return Answering(
        online_predictions=OnlinePredictions(
            base.namespace, base.model, stored.numbers, stored.profiles
        ),
        recommender=recommender,
        kept_answers=KeptAnswers(sources),
        audience=Audience(sources),
        stars=StarPredictions(lineups, stored.numbers, stored.catalogue),
        topics=topics,
        item_search=ItemSearch(kept.view),
    )
