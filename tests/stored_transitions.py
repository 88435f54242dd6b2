"""What the store holds of the transitions."""

from service import configs
from service.learning.state.transitions import ItemTransitions
from service.settings import Settings
from service.store.log.state import read_state
from service.store.namespace import open_namespace
from service.store.profiles.partition_reader import PartitionReader
from tests.feed import Feed


def stored(feed: Feed, settings: Settings | None = None) -> dict[int, bytes]:
    """Return all rows by item number, as a learner that starts has them."""
    settings = settings or Settings(namespace=feed.namespace)
    meanings = configs.meanings(settings, open_namespace(feed.client, settings))
    transitions = ItemTransitions(settings, meanings)
    generation = read_state(feed.client, feed.keys).generation
    transitions.load(PartitionReader(feed.client, feed.keys), generation)
    rows = transitions.all()
    return dict(zip(rows.items, rows.rows, strict=True))
