"""The follower's copy of the catalogue: in parts, after changes, and after changes were lost."""

import math
from collections.abc import Callable

import numpy as np
import pytest
import redis

from service.learning.following.catalogue import FollowedCatalogue
from service.store.catalogue.documents import Body, Catalogue
from service.store.catalogue.numbers import ItemNumbers
from service.store.catalogue.reader import CatalogueReader
from service.store.keys import NamespaceKeys
from tests.stories import run

NOON = 1_795_003_200_000
"""2026-11-18T12:00:00Z."""
Put = Callable[[dict[int, Body]], None]


@pytest.fixture
def put(redis_url: str, namespace: str) -> Put:
    """Replace the documents of items by number; ten items have one."""
    names = [f"i{n}" for n in range(10)]
    run(redis_url, lambda client: ItemNumbers(client, namespace, 99).numbers(names))
    return lambda bodies: run(
        redis_url, lambda client: Catalogue(client, namespace).replace_items(bodies)
    )


def followed(client: redis.Redis, namespace: str, *, at_once: int = 4) -> FollowedCatalogue:
    return FollowedCatalogue(CatalogueReader(client, namespace), share=math.inf, at_once=at_once)


def closed(catalogue: FollowedCatalogue, at_ms: int = NOON) -> list[int]:
    assert catalogue.items is not None
    return np.flatnonzero(~catalogue.items.mask(at_ms, 12)).tolist()


def test_an_empty_catalogue_is_read_at_once(client: redis.Redis, namespace: str) -> None:
    catalogue = followed(client, namespace)
    catalogue.refresh([])
    assert closed(catalogue) == []


def test_a_large_catalogue_is_read_in_parts(client: redis.Redis, namespace: str, put: Put) -> None:
    put({1: {"hidden": True}, 9: {"hidden": True}})
    catalogue = followed(client, namespace)
    for _ in range(2):
        catalogue.refresh([])
        assert catalogue.items is None
    # a part that has been read changes before the others are
    put({0: {"hidden": True}, 1: {}})
    catalogue.refresh([])
    catalogue.refresh([])
    assert closed(catalogue) == [0, 9]


def test_changes_are_followed(client: redis.Redis, namespace: str, put: Put) -> None:
    catalogue = followed(client, namespace, at_once=99)
    catalogue.refresh([])
    put({3: {"available_from": "2026-11-18T12:00:00Z"}, 4: {"hidden": True}})
    assert closed(catalogue) == []
    catalogue.refresh([])
    assert closed(catalogue) == [4]
    assert closed(catalogue, NOON - 1) == [3, 4]
    before = catalogue.items
    catalogue.refresh([])
    assert catalogue.items is before


def test_after_lost_changes_the_old_items_hold_until_all_are_read_again(
    client: redis.Redis, namespace: str, put: Put
) -> None:
    put({0: {"hidden": True}})
    catalogue = followed(client, namespace)
    for _ in range(3):
        catalogue.refresh([])
    put({9: {"hidden": True}})
    client.delete(NamespaceKeys(namespace).catalogue_changes)
    put({5: {"hidden": True}})
    seen = []
    for _ in range(3):
        seen.append(closed(catalogue))
        catalogue.refresh([])
    assert seen == [[0]] * 3
    assert closed(catalogue) == [0, 5, 9]


def test_without_time_left_nothing_is_read(client: redis.Redis, namespace: str, put: Put) -> None:
    catalogue = FollowedCatalogue(CatalogueReader(client, namespace), share=1e-9)
    catalogue.refresh([])
    put({4: {"hidden": True}})
    catalogue.refresh([])
    assert closed(catalogue) == []
