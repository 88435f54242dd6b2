"""By eye: the default list after one five-star rating of a film, on MovieLens 100K."""

from pathlib import Path

import numpy as np
import pytest

from core.batch.preferences import preferences
from core.meaning import HistoryColumns
from core.online.model import OnlineModel
from service import configs
from service.evaluation.stream.events import read_events
from service.evaluation.stream.learner import StreamLearner
from service.evaluation.stream.loop import Loop, Schedule, meanings_of, namespace_of
from service.evaluation.stream.training import PARTITION, USUAL, Trainings
from service.learning.following.states import states_of
from service.ranking.asker import Asker
from service.ranking.lineup import Lineup
from service.ranking.pool import Pool
from service.ranking.slates.slate import slate
from service.ranking.slates.wanted import Wanted
from service.ranking.untrained.state import rankers_of
from service.settings import Settings

DATA = Path(__file__).parents[4] / "shared" / "data" / "ml-100k" / "ratings.csv.gz"
FILMS = {
    "Star Wars": "50",
    "The Terminator": "195",
    "Toy Story": "1",
    "The Lion King": "71",
    "Alien": "183",
    "Scream": "288",
    "Pulp Fiction": "56",
    "Fargo": "100",
    "Sense and Sensibility": "275",
    "Emma": "283",
}
"""Two films each: science fiction, for children, horror, crime, romance."""
NEIGHBOURS, LEAST = 20, 3
POPULAR = 100
HALF_LIFE_MS = Settings().trending_half_life_h * 3_600_000

pytestmark = [
    pytest.mark.quality,
    pytest.mark.skipif(not DATA.exists(), reason=f"no data at {DATA}"),
]


class Served:
    """What serves after a stream: its models, states and weights."""

    def __init__(self):
        settings = Settings()
        self.events = read_events(DATA, settings.kinds)
        self.meanings = meanings_of(self.events, settings)
        trainings = Trainings(self.events, self.meanings, USUAL, budget_s=0.0, seed=0)
        loop = Loop(self.events, trainings, settings, Schedule(sample=1_500, retrain_every=0.2))
        loop.run()
        config = configs.online_config(settings, namespace_of(self.events, 0))
        learner = StreamLearner(self.events, settings, self.meanings, config, view_every=1)
        learner.learn(len(self.events))
        model = OnlineModel(config)
        states = states_of(learner.view(), model, PARTITION, half_life_ms=HALF_LIFE_MS)
        trained = trainings.after(len(self.events)).rankers
        rankers = [*trained, *rankers_of(states, PARTITION)]
        self.lineup = Lineup(rankers, loop.learned.weights, loop.learned.arms)

    def after_one(self, film):
        """Return the ten items that somebody gets who has given one film five stars."""
        one = np.array([self.events.item_ids.index(film)])
        five, kind = np.array([5.0], np.float32), np.zeros(1, np.uint8)
        known = preferences(HistoryColumns(one, kind, five, one), self.meanings)
        pool = Pool(np.ones(len(self.events.item_ids), np.bool_), known.seen)
        made = slate(self.lineup, Asker(known), pool, Wanted(k=10), lambda items: [])
        return [pick.item for pick in made.picks]


@pytest.fixture(scope="module")
def served():
    return Served()


@pytest.fixture(scope="module")
def likes(served):
    """Return who likes what, (users, items)."""
    events = served.events
    table = np.zeros((len(events.user_ids), len(events.item_ids)))
    table[events.user[events.value >= 4], events.item[events.value >= 4]] = 1.0
    return table


def neighbours(likes, item):
    """Return the items whose likers are most like those of an item: the cosine of the two."""
    both = likes.T @ likes[:, item]
    length = np.sqrt(likes.sum(axis=0))
    # nobody can tell items apart by a few likes
    alike = np.where(length**2 >= 20, both / np.maximum(length, 1.0), 0.0)
    alike[item] = 0.0
    return np.argsort(-alike)[:NEIGHBOURS]


@pytest.mark.parametrize("film", FILMS)
def test_a_list_after_one_film_has_its_neighbours_and_room_for_popular_ones(served, likes, film):
    found = served.after_one(FILMS[film])
    item = served.events.item_ids.index(FILMS[film])
    assert len(set(found)) == 10
    assert np.isin(found, neighbours(likes, item)).sum() >= LEAST
    assert np.isin(found, np.argsort(-likes.sum(axis=0))[:POPULAR]).any()


def test_different_films_have_different_lists(served):
    lists = [frozenset(served.after_one(film)) for film in FILMS.values()]
    assert len(set(lists)) == len(FILMS)
