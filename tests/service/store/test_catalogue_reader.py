"""The catalogue as threads read it: the same documents as the api process reads."""

import pytest

from service.store.catalogue.documents import Catalogue
from service.store.catalogue.numbers import ItemNumbers
from service.store.catalogue.reader import CatalogueReader
from tests.stories import run


@pytest.fixture
def reader(client, namespace):
    return CatalogueReader(client, namespace, at_once=2)


@pytest.fixture
def change(redis_url, namespace):
    """Replace the documents of items by number; None deletes one."""

    def change(bodies):
        async def story(redis):
            catalogue = Catalogue(redis, namespace)
            for number, body in bodies.items():
                await catalogue.change_item(number, lambda _, body=body: body)

        run(redis_url, story)

    return change


def test_deleted_and_absent_documents_are_empty(reader, change):
    change({0: {"hidden": True}, 1: {"categories": ["new"]}, 4: {"features": {"year": 1999}}})
    change({0: None})
    bodies = reader.items(range(5))
    assert bodies == [{}, {"categories": ["new"]}, {}, {}, {"features": {"year": 1999}}]
    assert reader.items([]) == []


def test_users_documents_are_read_by_name(reader, redis_url, namespace):
    async def story(redis):
        await Catalogue(redis, namespace).replace_users({"ann": {"features": {"taste": 1}}})

    run(redis_url, story)
    assert reader.users(["bob", "ann"]) == [{}, {"features": {"taste": 1}}]


def test_the_state_changes_with_documents_and_numbers_alone(reader, change, redis_url, namespace):
    assert reader.state() == (0, 0, "")
    run(redis_url, lambda redis: ItemNumbers(redis, namespace, 9).numbers(["a", "b"]))
    first = reader.state()
    assert first == (2, 0, "")
    change({0: {"hidden": True}})
    second = reader.state()
    assert second == reader.state() != first
    change({0: None})
    assert reader.state().version == second.version + 1
