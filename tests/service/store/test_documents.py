"""Documents of items and users: rising versions, and no update that overwrites an unread one."""

import asyncio
import itertools
import json

import pytest
import redis.asyncio

from service.errors import VersionConflict
from service.store.catalogue.documents import Catalogue, UnreadableDocument
from service.store.keys import NamespaceKeys
from tests.stories import run


@pytest.fixture
def told(redis_url, namespace):
    """Run ``story(catalogue)``."""
    return lambda story: run(redis_url, lambda one: story(Catalogue(one, namespace)))


def test_an_item_without_a_document_is_at_version_0(told):
    [document] = told(lambda catalogue: catalogue.items([7]))
    assert (document.version, document.body, document.deleted) == (0, None, False)


def test_each_change_raises_the_version_and_is_told(told, client, namespace):
    async def story(catalogue):
        first = await catalogue.change_item(7, lambda body: {"hidden": body is None})
        second = await catalogue.change_item(7, lambda body: {**body, "more": 1}, if_version=1)
        return first, second, await catalogue.items([7])

    first, second, [stored] = told(story)
    assert (first.version, first.body) == (1, {"hidden": True})
    assert (second.version, second.body) == (2, {"hidden": True, "more": 1})
    assert stored == second
    changes = client.xrange(NamespaceKeys(namespace).catalogue_changes)
    assert [fields for _, fields in changes] == [{b"i": b"7"}] * 2
    first_id, second_id = (int(name.partition(b"-")[0]) for name, _ in changes)
    assert second_id == first_id + 1


class Restarted(redis.asyncio.Redis):
    """A client whose server is started anew before each call of a script: it knows none."""

    async def execute_command(self, *args, **options):
        if args[0] == "EVALSHA":
            await super().execute_command("SCRIPT FLUSH")
        return await super().execute_command(*args, **options)


def test_a_server_that_was_started_anew_meanwhile_takes_a_change(private_server, namespace):
    async def story():
        async with Restarted.from_url(private_server.url) as one:
            catalogue = Catalogue(one, namespace)
            await catalogue.change_item(7, lambda _: {"a": 1})
            await catalogue.replace_items({7: {"a": 2}, 8: {"a": 3}})
            await catalogue.change_user("ann", lambda _: None)
            return await catalogue.items([7, 8])

    assert [document.body for document in asyncio.run(story())] == [{"a": 2}, {"a": 3}]


@pytest.mark.parametrize("damaged", [b"\xff{", b"{}", b""], ids=["bytes", "no version", "empty"])
def test_a_document_that_cannot_be_read_is_told_and_can_be_replaced(
    told, client, namespace, damaged
):
    keys = NamespaceKeys(namespace)

    async def story(catalogue):
        for number in (7, 8):
            await catalogue.change_item(number, {"hidden": True})
        await catalogue.change_user("ann", {"features": {}})
        for key in (keys.item_document(7), keys.item_document(8), keys.user_document("ann")):
            client.set(key, damaged)
        for look in (catalogue.items([7]), catalogue.users(["ann"])):
            with pytest.raises(UnreadableDocument, match="replace it with PUT"):
                await look
        with pytest.raises(UnreadableDocument):
            await catalogue.change_item(7, lambda body: body)
        await catalogue.change_item(7, {"hidden": False})
        await catalogue.replace_items({8: {"more": 1}})
        await catalogue.change_user("ann", None)
        return await catalogue.items([7, 8]), await catalogue.users(["ann"])

    items, [user] = told(story)
    assert [item.body for item in items] == [{"hidden": False}, {"more": 1}]
    assert min(item.version for item in items) > 2
    assert (user.version, user.body) == (0, None)


def test_another_version_than_expected_is_a_conflict(told):
    async def story(catalogue):
        await catalogue.change_item(7, lambda _: {"a": 1})
        with pytest.raises(VersionConflict, match="at version 1, not 4"):
            await catalogue.change_item(7, lambda _: {"a": 2}, if_version=4)
        return await catalogue.items([7])

    [stored] = told(story)
    assert stored.body == {"a": 1}


def test_a_deleted_item_leaves_a_tombstone_whose_version_goes_on(told):
    async def story(catalogue):
        await catalogue.change_item(7, lambda _: {"a": 1})
        deleted = await catalogue.change_item(7, lambda _: None)
        again = await catalogue.change_item(7, lambda _: {"a": 2})
        return deleted, again

    deleted, again = told(story)
    assert (deleted.version, deleted.deleted) == (2, True)
    assert (again.version, again.deleted) == (3, False)


def test_a_deleted_user_leaves_nothing(told, client, namespace):
    async def story(catalogue):
        await catalogue.change_user("ann", lambda _: {"a": 1})
        listed = await catalogue.user_ids(None, 10)
        await catalogue.change_user("ann", lambda _: None)
        return listed, await catalogue.user_ids(None, 10), await catalogue.users(["ann"])

    listed, left, [stored] = told(story)
    assert (listed, left, stored.version) == (["ann"], [], 0)
    assert not client.exists(NamespaceKeys(namespace).user_document("ann"))


def test_changes_at_once_are_all_applied(told):
    async def story(catalogue):
        def count(body):
            return {"n": (body or {"n": 0})["n"] + 1}

        await asyncio.gather(*(catalogue.change_item(7, count) for _ in range(6)))
        return await catalogue.items([7])

    [stored] = told(story)
    assert (stored.version, stored.body) == (6, {"n": 6})


def test_an_edit_that_always_meets_another_change_gives_up(told, client, namespace):
    key, versions = NamespaceKeys(namespace).item_document(7), itertools.count(1)

    def edit(_):
        # between the read and the write
        client.set(key, json.dumps({"version": next(versions), "theirs": True}))
        return {"mine": True}

    with pytest.raises(VersionConflict, match="others keep changing"):
        told(lambda catalogue: catalogue.change_item(7, edit))
    assert json.loads(client.get(key)) == {"version": next(versions) - 1, "theirs": True}


def test_many_documents_are_put_at_once(told):
    async def story(catalogue):
        await catalogue.change_user("b", lambda _: {"old": True})
        await catalogue.replace_users({name: {"name": name} for name in ("c", "a", "b")})
        await catalogue.replace_items({number: {"n": number} for number in range(3)})
        first = await catalogue.user_ids(None, 2)
        rest = await catalogue.user_ids(first[-1], 2)
        return first + rest, await catalogue.users(["a", "b"]), await catalogue.items([2])

    names, [a, b], [item] = told(story)
    assert names == ["a", "b", "c"]
    assert (a.version, b.version, b.body) == (1, 2, {"name": "b"})
    assert item.body == {"n": 2}
