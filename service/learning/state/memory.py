"""The state of a partition in the learner's memory, and the readers for everything else."""

from dataclasses import dataclass

from core.meaning import EventMeanings
from core.online.model import OnlineModel
from core.transitions.sweep import ROUND_BYTES
from service.learning.partition import Partition
from service.learning.state.counters import ItemCounters
from service.learning.state.horizon import Horizon
from service.learning.state.rows import ItemRows, UserRows
from service.learning.state.showings import ItemShowings
from service.learning.state.transitions import ItemTransitions
from service.settings import Settings
from service.store.profiles.history_store import HistoryStore
from service.store.profiles.partition_reader import PartitionReader
from service.store.profiles.rows import RowStore


@dataclass(frozen=True, kw_only=True)
class Memory:
    """Shared by the modules of a learner; each updates it as the events of a batch require."""

    settings: Settings
    model: OnlineModel
    reader: PartitionReader
    histories: HistoryStore
    users: UserRows
    items: ItemRows
    counters: ItemCounters
    showings: ItemShowings
    transitions: ItemTransitions
    horizon: Horizon
    deleted: dict[int, int]
    """Sequence of the deletion by item number."""
    arrays: dict[str, bytes]
    """The state of the experts as it is stored."""


def load_memory(
    settings: Settings,
    model: OnlineModel,
    partition: Partition,
    meanings: EventMeanings,
    *,
    round_bytes: int = ROUND_BYTES,
) -> Memory:
    """Read all that is kept of items; user rows are read when events name the users."""
    client, keys, generation = partition.client, partition.keys, partition.state.generation
    horizon = Horizon(partition.state.newest_ms, int(1_000 * settings.future_tolerance_s))
    reader, rows = PartitionReader(client, keys), RowStore(client, keys, generation)
    histories = HistoryStore(client, keys)
    deleted = reader.deleted_items()
    items = ItemRows(model, rows, client, keys.namespace)
    items.load()
    transitions = ItemTransitions(settings, meanings, horizon, round_bytes=round_bytes)
    transitions.load(reader, generation, partition.state.watermark)
    return Memory(
        settings=settings,
        model=model,
        reader=reader,
        histories=histories,
        users=UserRows(
            model, rows, histories, settings.users_in_memory, deleted, transitions.latest
        ),
        items=items,
        counters=ItemCounters(settings, meanings, reader.counts(generation), horizon),
        showings=ItemShowings(settings, reader.showings()),
        transitions=transitions,
        horizon=horizon,
        deleted=deleted,
        arrays=rows.arrays(),
    )
