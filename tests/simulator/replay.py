"""Learns a log again in a namespace of its own, without any fault, and compares the bits."""

from typing import Any

from service.learning.learner import Learner
from service.settings import Settings
from service.store.connection import Client
from service.store.keys import NamespaceKeys, PartitionKeys
from service.store.log.codec import DIGEST_BYTES
from service.store.namespace import open_namespace
from service.store.profiles.dedupe_chunk import StoredIds
from service.store.profiles.partition_reader import PartitionReader
from tests.feed import Feed
from tests.simulator.ledger import Broken
from tests.simulator.observer import Observer
from tests.stored import values
from tests.stored_transitions import stored as transitions

OF_THE_WAY = (
    *("log", "sequence", "changes", "lease", "append:", "ids-noted", "last-move:"),
    *("transition", "dead"),
)
"""Beginnings of keys that tell how events came, or how they were cut into commits."""
OF_LIVES = {b"epoch", b"machine", b"identity", b"newest_ms"}


def check_replay(client: Client, settings: Settings, observer: Observer) -> None:
    """Raise Broken if the log, learned at one go, leaves anything else than what is stored."""
    again = settings.model_copy(update={"namespace": f"{settings.namespace}-again"})
    namespace = open_namespace(client, again)
    names = NamespaceKeys(again.namespace)
    for number, item in enumerate(observer.item_ids()):
        client.rpush(names.item_ids, item)
        client.hset(names.item_numbers, item, number)
    for partition, lane in enumerate(observer.lanes):
        feed, before, dead = Feed(client, again.namespace, partition), 0, lane.dead
        for last, packed in lane.entries:
            if last in dead and before + 1 not in dead:
                # a learner ended in the middle of it before it was damaged: no log can say that
                break
            feed.append_packed(b"damaged" if last in dead else packed, last - before)
            before = last
        else:
            learner = Learner(again, client, namespace, partition)
            learner.drain()
            learner.close()
            _compare(client, partition, settings, again)


def _compare(client: Client, number: int, settings: Settings, again: Settings) -> None:
    found, wanted = (_learned(client, one, number) for one in (settings, again))
    for key in found.keys() | wanted.keys():
        if found.get(key) != wanted.get(key):
            raise Broken(
                f"{key} is not what a replay gives: {found.get(key)!r}, not {wanted.get(key)!r}"
            )


def _learned(client: Client, settings: Settings, number: int) -> dict[str, Any]:
    namespace = settings.namespace
    found = {
        name.decode(): value
        for (partition, name), value in values(client, namespace).items()
        if partition == number and not name.decode().startswith(OF_THE_WAY)
    }
    state = found["state"]
    found["state"] = {field: state[field] for field in state if field not in OF_LIVES}
    window = PartitionReader(client, PartitionKeys(namespace, number)).ids()
    lists = {number: (one.tag, _ids(one)) for number, one in window.lists.items()}
    return {
        **{name: value for name, value in found.items() if not name.startswith("dedupe")},
        "dedupe": (window.clock, lists),
        "transitions": transitions(Feed(client, namespace, number), settings),
    }


def _ids(stored: StoredIds) -> list[tuple[int, bytes]]:
    """Return the ids that count, each with its age."""
    ids = [
        (chunk.ms, chunk.digests[at : at + DIGEST_BYTES])
        for chunk in stored.chunks
        for at in range(0, len(chunk.digests), DIGEST_BYTES)
    ]
    return ids[-stored.held :]
