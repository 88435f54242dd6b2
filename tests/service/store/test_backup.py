"""Backups: whole or refused, of one moment, restored to the same values on any server."""

import io
import threading
from contextlib import closing, contextmanager, suppress
from pathlib import Path

import pytest

from service.errors import Conflict, Misconfigured, NotFound, StoreRolledBack, StoreUnavailable
from service.settings import Settings
from service.store.api_keys import create_key, read_ring
from service.store.backup import taking
from service.store.backup.chain import checked, in_folder, named, written
from service.store.backup.changed_keys import ChangedKeys
from service.store.backup.container import BadBackup
from service.store.backup.restoring import restore
from service.store.backup.taking import Backup, note
from service.store.connection import SOCKET_TIMEOUT_S, connect
from service.store.identity.memory import Memory
from service.store.identity.survey import survey
from service.store.keys import NamespaceKeys, PartitionKeys, key_of
from service.store.log.lease import Lease
from service.store.namespace import open_namespace, read_namespace
from service.store.server.program import wheel_programs
from tests.feed import Event
from tests.server import PrivateServer
from tests.stored import values

OURS = {(-1, b"namespace"), (0, b"state")}
"""The keys with the identity, which is a new one after a restore."""


def backed_up(client, namespace: str, path: Path, since: list[Path] = ()) -> Path:
    contents = {}
    chain = checked(since, lambda piece: note(contents, piece))
    parent = chain[-1].header.id if chain else None
    with path.open("wb") as file:
        Backup(client, namespace, parent=parent, contents=contents if since else None).take(file)
    return path


def flipped(content: bytes, n: int) -> bytes:
    return content[:n] + bytes([content[n] ^ 1 << n % 8]) + content[n + 1 :]


def space(name: str, room: Path, **more) -> Settings:
    return Settings(namespace=name, data_dir=room, **more)


@pytest.fixture
def stored(client, namespace: str, tmp_path: Path) -> str:
    """A namespace with keys of every type, short and long."""
    open_namespace(client, space(namespace, tmp_path))
    for kind, name in ((-1, "a"), (0, "b")):

        def key(rest: str, kind: int = kind, name: str = name) -> bytes:
            return key_of(namespace, kind, f"{name}-{rest}".encode())

        client.set(key("empty"), b"")
        client.set(key("bytes \xff\n:{}"), bytes(range(256)))
        client.set(key("long"), b"0123456789" * 250_000)
        client.set(key("passes"), "x", px=3_600_000)
        client.hset(key("hash"), mapping={f"field {n}".encode(): b"\x00%d" % n for n in range(5)})
        client.hset(key("long-hash"), mapping={n: b"v%d" % n for n in range(3_000)})
        client.rpush(key("list"), *range(2_500))
        client.zadd(key("zset"), {f"m{n}": n / 3 for n in range(2_000)})
        for n in range(1, 200):
            client.xadd(key("stream"), {"d": b"\xff%d" % n, "f": n}, id=f"{n}-0")
        client.xtrim(key("stream"), maxlen=150, approximate=False)
        client.xadd(key("empty-stream"), {"d": "x"}, id="77-0")
        client.xdel(key("empty-stream"), "77-0")
        client.xadd(key("cut-stream"), {"d": "x"}, id="5-0")
        client.xadd(key("cut-stream"), {"d": "x"}, id="9-0")
        client.xdel(key("cut-stream"), "9-0")
    return namespace


@contextmanager
def another_server(room: Path, monkeypatch):
    """A server of another make than the one of the other tests, where there is one."""
    if programs := wheel_programs():
        monkeypatch.setenv("PATH", str(programs[0].parent))
    with PrivateServer(room) as server, connect(server.url, role="test") as client:
        yield client


def test_every_type_comes_back_on_another_server_and_from_there(
    client, stored, tmp_path, monkeypatch
):
    before = values(client, stored)
    there = backed_up(client, stored, tmp_path / "there")
    with another_server(tmp_path / "s", monkeypatch) as other:
        restore(other, space("elsewhere", tmp_path / "e"), [there])
        found = values(other, "elsewhere")
        assert {k: v for k, v in found.items() if k not in OURS} == {
            k: v for k, v in before.items() if k not in OURS
        }
        left = other.pttl(key_of("elsewhere", 0, b"b-passes"))
        assert 3_500_000 < left <= 3_600_000
        back = backed_up(other, "elsewhere", tmp_path / "back")
    restore(client, space(f"{stored}-2", tmp_path / "f"), [back])
    again = values(client, f"{stored}-2")
    assert {k: v for k, v in again.items() if k not in OURS} == {
        k: v for k, v in before.items() if k not in OURS
    }


def test_a_file_with_any_byte_changed_or_missing_is_refused(client, namespace, tmp_path):
    open_namespace(client, space(namespace, tmp_path))
    whole = backed_up(client, namespace, tmp_path / "whole").read_bytes()
    bad = tmp_path / "bad"
    damaged = [whole[:n] for n in range(len(whole))] + [whole + b"x", whole + whole]
    damaged += [flipped(whole, n) for n in range(len(whole))]
    for one in damaged:
        bad.write_bytes(one)
        with pytest.raises(BadBackup, match=str(bad)):
            checked([bad])


def test_a_damaged_file_changes_nothing(client, stored, tmp_path):
    before = values(client, stored)
    path = backed_up(client, stored, tmp_path / "b")
    content = bytearray(path.read_bytes())
    content[-100] ^= 4
    path.write_bytes(content)
    with pytest.raises(BadBackup, match="damaged"):
        restore(client, space(stored, tmp_path), [path], replace=True)
    assert values(client, stored) == before


def test_frames_that_change_places_are_refused(client, stored, tmp_path):
    """Each is whole in itself."""
    path = backed_up(client, stored, tmp_path / "b")
    content, frames, at = path.read_bytes(), [], len(b"hedgerow backup 1\n")
    start = content[:at]
    while at < len(content):
        end = at + 21 + int.from_bytes(content[at + 1 : at + 5], "little")
        frames.append(content[at:end])
        at = end
    assert len(frames) > 4
    for order in ([0, 2, 1, *range(3, len(frames))], [0, 1, 1, *range(2, len(frames))]):
        path.write_bytes(start + b"".join(frames[n] for n in order))
        with pytest.raises(BadBackup, match="checksum"):
            checked([path])
    path.write_bytes(start + b"".join(frames[:1] + frames[2:]))
    with pytest.raises(BadBackup, match="checksum"):
        checked([path])


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04" * 100, b"hedgerow backup 2\n" + b"x" * 99])
def test_another_file_is_no_backup(content: bytes, tmp_path):
    path = tmp_path / "other"
    path.write_bytes(content)
    with pytest.raises(BadBackup, match=r"other: it is no backup, .* name another file"):
        checked([path])
    with pytest.raises(BadBackup, match="cannot read"):
        checked([tmp_path / "none"])


def test_increments_hold_what_changed_and_what_was_deleted(client, stored, tmp_path):
    def key(rest: str) -> bytes:
        return key_of(stored, 0, f"b-{rest}".encode())

    whole = backed_up(client, stored, tmp_path / "1")
    client.append(key("bytes \xff\n:{}"), b"!")
    client.delete(key("hash"), key("long"))
    client.set(key("new"), "here")
    second = backed_up(client, stored, tmp_path / "2", [whole])
    client.set(key("hash"), "another type")
    client.delete(key("new"), key("list"))
    client.xadd(key("stream"), {"d": "y"}, id="300-0")
    third = backed_up(client, stored, tmp_path / "3", [whole, second])
    chain = [whole, second, third]
    assert third.stat().st_size < whole.stat().st_size / 1.5
    summary = checked(chain)[2].summary
    assert summary.deleted == 2
    restore(client, space(f"{stored}-2", tmp_path / "f"), chain)
    now, then = values(client, f"{stored}-2"), values(client, stored)
    assert {k: v for k, v in now.items() if k not in OURS} == {
        k: v for k, v in then.items() if k not in OURS
    }
    for wrong in (
        [second],
        [whole, third],
        [second, third],
        [whole, whole],
        [whole, third, second],
    ):
        with pytest.raises(BadBackup, match="continue"):
            restore(client, space(f"{stored}-3", tmp_path / "g"), wrong)
    assert values(client, f"{stored}-3") == {}


def test_a_backup_is_of_one_moment_whatever_writers_and_others_do(client, redis_url, tmp_path):
    """Another client ends each pause at once; pairs of keys are always written together."""
    name = f"t-{tmp_path.name[-20:].lower().replace('_', '-')}"
    open_namespace(client, space(name, tmp_path))
    stop, keys = threading.Event(), [PartitionKeys(name, 0).history(f"u{n}") for n in range(600)]
    client.hset(PartitionKeys(name, 0).deleted_items, mapping=dict.fromkeys(range(2_000), 0))

    def write() -> None:
        with connect(redis_url, role="writer") as ours:
            for n in range(10**9):
                first = n * 7 % 599
                with ours.pipeline(transaction=True) as pipe:
                    pipe.set(keys[first], n).set(keys[first + 1], n)
                    pipe.set(PartitionKeys(name, 0).sequence, n)
                    pipe.hset(PartitionKeys(name, 0).deleted_items, str(n % 2_000), n)
                    pipe.set(PartitionKeys(name, 0).showings, f"{n} {first}")
                    pipe.execute()
                if stop.is_set():
                    return

    def disturb() -> None:
        with connect(redis_url, role="other") as ours:
            while not stop.wait(0.03):
                ours.client_unpause()

    threads = [threading.Thread(target=write), threading.Thread(target=disturb)]
    for thread in threads:
        thread.start()
    taken = 0
    try:
        for attempt in range(8):
            path = tmp_path / f"b{attempt}"
            try:
                backed_up(client, name, path)
            except StoreUnavailable:
                # never a pause that was long enough
                continue
            taken += 1
            restore(client, space(f"{name}-2", tmp_path / "f"), [path], replace=True)
            found = values(client, f"{name}-2")
            last, first = map(int, found[0, b"showings"].split())
            assert int(found[0, b"sequence"]) == last
            assert max(map(int, found[0, b"deleted-items"].values())) == last
            pair = [found[0, f"history:u{n}".encode()] for n in (first, first + 1)]
            assert [int(one) for one in pair] == [last, last]
    finally:
        stop.set()
        for thread in threads:
            thread.join()
    assert taken, "no attempt came to its end"


def test_all_changes_are_told(client, redis_url, namespace):
    with (
        ChangedKeys(client, (f"hr:{{{namespace}}}:", f"hr:{{{namespace}.")) as changes,
        connect(redis_url, role="other") as other,
    ):
        keys = {key_of(namespace, n % 3 - 1, b"k%d" % n) for n in range(2_000)}
        for key in keys:
            other.set(key, 1)
        other.set(key_of(f"{namespace}-b", 0, b"x"), 1)
        assert changes.taken() == keys
        assert changes.taken() == set()
        other.eval("redis.call('DEL', KEYS[1])", 1, key_of(namespace, -1, b"k0"))
        assert changes.taken() == {key_of(namespace, -1, b"k0")}


def test_nobody_knows_what_changed_once_the_connection_broke(client, redis_url, namespace):
    with ChangedKeys(client, (f"hr:{{{namespace}}}:",)) as changes:
        client.client_kill_filter(_type="pubsub")
        with pytest.raises(StoreUnavailable):
            changes.taken()


def test_a_store_that_is_emptied_meanwhile_is_told(tmp_path):
    with PrivateServer(tmp_path) as server, connect(server.url, role="test") as client:
        open_namespace(client, space("shop", tmp_path / "d"))
        with ChangedKeys(client, ("hr:{shop}:",)) as changes:
            client.flushall()
            with pytest.raises(StoreRolledBack, match="emptied"):
                changes.taken()
        with pytest.raises(NotFound):
            Backup(client, "shop")


def test_a_server_that_does_not_tell_is_named(private_server, tmp_path):
    with connect(private_server.url, role="test") as client:
        open_namespace(client, space("shop", tmp_path))
        client.execute_command(
            "ACL", "SETUSER", "poor", "on", ">p", "~*", "&*", "+@all", "-client|tracking"
        )
        client.execute_command(
            "ACL", "SETUSER", "idle", "on", ">p", "~*", "&*", "+@all", "-client|pause"
        )
    for user, says in (("poor", "which keys change"), ("idle", "hold writers")):
        path = private_server.url.removeprefix("unix://")
        url = f"unix://{user}:p@{path}"
        with connect(url, role="test") as client, pytest.raises(Misconfigured, match=says):
            Backup(client, "shop").take(io.BytesIO())


def test_what_a_namespace_holds_is_only_deleted_on_demand(client, stored, tmp_path):
    path = backed_up(client, stored, tmp_path / "b")
    client.set(key_of(stored, 0, b"later"), 1)
    with pytest.raises(Conflict, match="--replace"):
        restore(client, space(stored, tmp_path), [path])
    lease = Lease(client, PartitionKeys(stored, 0).lease, 60_000)
    assert lease.acquire()
    with pytest.raises(Conflict, match="work for the namespace"):
        restore(client, space(stored, tmp_path), [path], replace=True)
    lease.release()
    assert client.exists(key_of(stored, 0, b"later"))
    restore(client, space(stored, tmp_path), [path], replace=True)
    assert not client.exists(key_of(stored, 0, b"later"))


def test_a_restored_namespace_takes_the_place_of_those_before_it(
    client, feed, learner_of, tmp_path
):
    name = feed.namespace
    feed.append([Event("ada", "film", 5.0)])
    with closing(learner_of()) as learner:
        learner.step()
    first = survey(client, name, 1)
    memory = Memory(tmp_path)
    path = backed_up(client, name, tmp_path / "b")
    feed.append([Event("bob", "film", 4.0)])
    later = survey(client, name, 1)
    memory.remember(name, later.identity, later.positions)
    found = restore(client, space(name, tmp_path), [path], replace=True)
    assert found.positions.sequences == found.learned == (1,)
    now = survey(client, name, 1)
    assert now.identity == found.identity
    assert now.identity.incarnation != first.identity.incarnation
    assert now.succeeds(first.identity.incarnation)
    assert now.is_aligned
    assert memory.of(name).identity == str(found.identity)
    assert memory.of(name).positions == found.positions
    # no process is refused that knew what was replaced
    open_namespace(client, space(name, tmp_path))
    [lost] = client.lrange(NamespaceKeys(name).rollbacks, 0, -1)
    assert b'"known":{"sequences":[2]' in lost


def test_processes_wait_while_a_namespace_is_half_restored(client, stored, tmp_path):
    path = backed_up(client, stored, tmp_path / "b")
    half = f"{stored}-half"
    client.set(NamespaceKeys(half).restoring, "9f2c01ab34de5678")
    with pytest.raises(StoreRolledBack, match="is being restored"):
        open_namespace(client, space(half, tmp_path / "h"))
    assert read_namespace(client, half) is None
    with pytest.raises(Conflict):
        restore(client, space(half, tmp_path / "h"), [path])
    restore(client, space(half, tmp_path / "h"), [path], replace=True)
    assert open_namespace(client, space(half, tmp_path / "h"))


def test_a_restore_that_fails_leaves_nothing(client, stored, tmp_path):
    path = backed_up(client, stored, tmp_path / "b")
    target = space(f"{stored}-2", tmp_path / "f")
    first: list[str] = []

    def stops(phase: str, _: int) -> None:
        first.append(phase)
        if phase == "restoring":
            assert len(values(client, target.namespace)) > 1
            raise KeyboardInterrupt

    client.mset({key_of(stored, 0, b"u%d" % n): n for n in range(2_500)})
    path = backed_up(client, stored, tmp_path / "b")
    with pytest.raises(KeyboardInterrupt):
        restore(client, target, [path], progress=stops)
    assert first[0] == "checking"
    assert values(client, target.namespace) == {}


def test_keys_come_back_as_they_were_or_revoked(client, stored, tmp_path):
    key, _ = create_key(client, stored, "admin", "ops")
    path = backed_up(client, stored, tmp_path / "b")
    restore(client, space(f"{stored}-2", tmp_path / "f"), [path])
    assert read_ring(client, f"{stored}-2").revoked == set()
    assert Memory(tmp_path / "f").of(f"{stored}-2").had_keys
    found = restore(client, space(f"{stored}-3", tmp_path / "g"), [path], revoke_keys=True)
    assert found.revoked == 1
    assert read_ring(client, f"{stored}-3").revoked == {key.id}


def test_a_backup_of_a_later_layout_is_refused(client, stored, tmp_path):
    client.hset(NamespaceKeys(stored).layout, mapping={"log": 99, "by": "9.9.9"})
    path = backed_up(client, stored, tmp_path / "b")
    with pytest.raises(Misconfigured, match=r"9\.9\.9"):
        restore(client, space(f"{stored}-2", tmp_path / "f"), [path])
    assert values(client, f"{stored}-2") == {}


def test_a_file_has_its_name_once_it_is_whole(tmp_path):
    path = tmp_path / "b"
    with suppress(KeyboardInterrupt), written(path) as file:
        file.write(b"half")
        file.flush()
        assert not path.exists()
        raise KeyboardInterrupt
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(Misconfigured, match="cannot write"), written(tmp_path / "no" / "b"):
        pass


def test_a_folder_knows_its_chains(client, stored, tmp_path):
    folder = tmp_path / "folder"
    folder.mkdir()

    def taken(ms: int, since: list[Path] = ()) -> Path:
        path = named(folder, stored, ms, is_whole=not since)
        return backed_up(client, stored, path, since)

    first = taken(1)
    more = taken(2, [first])
    other = taken(3)
    (folder / "notes.txt").write_text("not a backup")
    assert in_folder(folder) == [[first, more], [other]]
    backed_up(client, stored, folder / "another.backup")
    first.unlink()
    with pytest.raises(BadBackup, match="put it back"):
        in_folder(folder)


def test_pauses_are_shorter_than_the_patience_of_clients():
    assert max(taking.PAUSES_MS) < SOCKET_TIMEOUT_S * 1_000
