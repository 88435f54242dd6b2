"""A backup and a restore that meet each other, or writers that were not stopped."""

import io
from pathlib import Path

import pytest

from service.errors import Conflict, StoreRolledBack
from service.settings import Settings
from service.store.backup.restoring import restore
from service.store.backup.taking import Backup
from service.store.keys import NamespaceKeys, key_of
from service.store.namespace import open_namespace, read_namespace
from tests.stored import values


def settings_of(name: str, room: Path) -> Settings:
    return Settings(namespace=name, data_dir=room)


def backed_up(client, name: str, path: Path) -> Path:
    with path.open("wb") as file:
        Backup(client, name).take(file)
    return path


@pytest.fixture
def filled(client, namespace: str, tmp_path: Path) -> str:
    open_namespace(client, settings_of(namespace, tmp_path))
    client.mset({key_of(namespace, 0, b"k%d" % n): n for n in range(2_500)})
    return namespace


def test_what_is_being_restored_is_not_backed_up(client, filled):
    """Half of it may be deleted already, and its settings still be there."""
    client.set(NamespaceKeys(filled).restoring, "9f2c01ab34de5678")
    with pytest.raises(StoreRolledBack, match="is being restored"):
        Backup(client, filled).take(io.BytesIO())


def test_a_restore_that_begins_while_a_backup_is_taken_ends_it(client, filled):
    def begins(_: int) -> None:
        client.set(NamespaceKeys(filled).restoring, "9f2c01ab34de5678")

    with pytest.raises(StoreRolledBack, match="is being restored"):
        Backup(client, filled, progress=begins).take(io.BytesIO())


def test_the_namespace_is_gone_before_its_keys_are(client, filled, tmp_path, monkeypatch):
    """So whoever still writes is refused at once, and nothing comes behind the deletion."""
    path, seen = backed_up(client, filled, tmp_path / "b"), []
    unlink = type(client).unlink

    def watched(self, *keys):
        seen.append(read_namespace(client, filled))
        return unlink(self, *keys)

    monkeypatch.setattr(type(client), "unlink", watched)
    restore(client, settings_of(filled, tmp_path), [path], replace=True)
    assert seen
    assert set(seen) == {None}


def test_of_two_restores_at_once_the_later_one_wins(client, filled, tmp_path):
    """The first must neither mix its keys with those of the other nor delete them."""
    old = backed_up(client, filled, tmp_path / "old")
    client.delete(*(key_of(filled, 0, b"k%d" % n) for n in range(2_500)))
    client.set(key_of(filled, 0, b"new"), 1)
    new = backed_up(client, filled, tmp_path / "new")
    settings, begun = settings_of(filled, tmp_path), []

    def other(phase: str, _: int) -> None:
        if phase == "restoring" and not begun:
            begun.append(restore(client, settings, [new], replace=True))

    with pytest.raises(Conflict, match="another restore"):
        restore(client, settings, [old], replace=True, progress=other)
    assert begun
    assert {key for key in values(client, filled) if key[0] == 0} == {(0, b"new"), (0, b"state")}
    assert open_namespace(client, settings)
