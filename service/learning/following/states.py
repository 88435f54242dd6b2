"""The states of families without training, as a view of the learner holds them.

The judge ranks by them as an api process ranks by the states that it follows.
"""

from core import popularity
from core.online.model import OnlineModel
from service.learning.following.views import View
from service.ranking.untrained.everybody import Orders
from service.ranking.untrained.learned import LearnedPart, LearnedState
from service.ranking.untrained.online import OnlineItems
from service.ranking.untrained.state import State
from service.store.clock import now_ms


def states_of(
    view: View, model: OnlineModel, partition: int, *, half_life_ms: float
) -> tuple[State, ...]:
    """Return the states of a partition's view; ``model`` then belongs to them."""
    orders = Orders(
        popularity.popular(view.counts),
        popularity.trending(view.counts, half_life_ms),
        {partition: view.watermark},
    )
    model.load(view.state)
    items = OnlineItems(str(view.watermark), view.watermark, model, view.items)
    parts = {partition: LearnedPart(items, view.transitions)}
    return orders, LearnedState.of(parts, now_ms=now_ms())
