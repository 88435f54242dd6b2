"""Folders and files of backups as operators have them: forks, bad clocks, pipes, devices."""

import os
import stat
from pathlib import Path

import pytest

from service.errors import Misconfigured
from service.settings import Settings
from service.store.backup.chain import in_folder, written
from service.store.backup.container import BadBackup, Header, Summary, Writer
from service.store.backup.restoring import restore
from service.store.backup.taking import Backup
from service.store.keys import key_of
from service.store.namespace import open_namespace
from tests.stored import values


def file_of(folder: Path, one: str, parent: str | None, began_ms: int) -> Path:
    """Write an empty backup with an id and a parent."""
    path = folder / f"{one}.backup"
    with path.open("wb") as file:
        header = Header(one, "shop", 1, "", {}, "1", began_ms, parent)
        Writer(file, header).end(Summary(began_ms, (0,), 0, 0, 0, 0.0))
    return path


def names(chains) -> list[list[str]]:
    return [[path.stem for path in chain] for chain in chains]


def test_the_order_of_a_chain_depends_on_no_clock(tmp_path):
    """It was set back after the first backup."""
    for one, parent, began_ms in (("a", None, 900), ("b", "a", 100), ("c", "b", 200)):
        file_of(tmp_path, one, parent, began_ms)
    assert names(in_folder(tmp_path)) == [["a", "b", "c"]]


def test_two_backups_that_continue_the_same_one_are_two_chains(tmp_path):
    """Two that were taken at once: each is whole with what comes before it."""
    for one, parent, began_ms in (
        ("a", None, 1),
        ("b", "a", 2),
        ("c", "a", 3),
        ("d", "c", 4),
        ("e", "b", 5),
    ):
        file_of(tmp_path, one, parent, began_ms)
    assert names(in_folder(tmp_path)) == [["a", "c", "d"], ["a", "b", "e"]]


def test_a_part_that_a_killed_process_left_stops_no_other(tmp_path):
    """In containers each process has the same number."""
    (tmp_path / f"b.{os.getpid()}.part").write_bytes(b"half")
    with written(tmp_path / "b") as file:
        file.write(b"whole")
    assert (tmp_path / "b").read_bytes() == b"whole"


def test_a_backup_is_readable_by_its_owner_only(tmp_path):
    """It holds digests of keys, and the names of users."""
    before = os.umask(0o022)
    try:
        with written(tmp_path / "b") as file:
            file.write(b"whole")
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "b").stat().st_mode) == 0o600


def test_what_is_no_file_is_not_replaced_by_one(tmp_path):
    """As /dev/null would be, for root."""
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(Misconfigured, match="no file"), written(tmp_path / "pipe"):
        pass
    assert (tmp_path / "pipe").is_fifo()


def test_what_can_be_read_once_is_refused_before_anything_is_deleted(client, namespace, tmp_path):
    """As <(zstd -d < file) is: it would be empty when it is read to be written."""
    open_namespace(client, Settings(namespace=namespace, data_dir=tmp_path))
    with (tmp_path / "b").open("wb") as file:
        Backup(client, namespace).take(file)
    before = values(client, namespace)
    reading, writing = os.pipe()
    os.write(writing, (tmp_path / "b").read_bytes())
    os.close(writing)
    settings = Settings(namespace=namespace, data_dir=tmp_path)
    with pytest.raises(BadBackup, match="standard input"):
        restore(client, settings, [Path(f"/dev/fd/{reading}")], replace=True)
    os.close(reading)
    assert values(client, namespace) == before


def test_a_file_that_goes_while_it_is_checked_is_refused_before_anything_is_deleted(
    client, namespace, tmp_path
):
    """A schedule removes old backups."""
    settings, path = Settings(namespace=namespace, data_dir=tmp_path), tmp_path / "b"
    open_namespace(client, settings)
    client.mset({key_of(namespace, 0, b"k%d" % n): n for n in range(1_500)})
    with path.open("wb") as file:
        Backup(client, namespace).take(file)
    before = values(client, namespace)
    with pytest.raises(BadBackup, match="cannot read"):
        restore(
            client, settings, [path], replace=True, progress=lambda *_: path.unlink(missing_ok=True)
        )
    assert values(client, namespace) == before
