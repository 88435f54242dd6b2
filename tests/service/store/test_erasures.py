"""What is left of deleted users, and when it goes: links, the change feed, the server's file."""

import json

import pytest
import redis

from service.errors import NotFound
from service.store.clock import now_ms
from service.store.connection import connect
from service.store.erasures.records import Erasure, Erasures, Removed
from service.store.erasures.rewriting import Rewriting
from service.store.erasures.traces import Traces
from service.store.keys import NamespaceKeys, PartitionKeys
from service.store.log.stream_bytes import drop_removed
from service.store.server.append_only import FOLDER, superseded_files
from service.store.server.embedded import FILES
from tests.api import Api
from tests.server import PrivateServer, wait_until


def receipt_of(api: Api, deleted: dict) -> dict:
    return api("GET", f"/v1/erasures/{deleted['erasure']}").json()


def left_of(receipt: dict) -> list[str]:
    return [one["where"] for one in receipt["remains"]]


def test_links_to_a_deleted_user_go_and_all_else_stays(learned_api: Api) -> None:
    for user, links in {"ann": ["bob", "eve"], "bob": ["ann"], "cat": ["eve"]}.items():
        document = {"features": {"of": "bob"}, "links": [{"user": one} for one in links]}
        assert learned_api("PUT", f"/v1/users/{user}", json=document).is_success
    before = learned_api("GET", "/v1/users/cat").json()
    deleted = learned_api("DELETE", "/v1/users/bob").json()
    wait_until(lambda: receipt_of(learned_api, deleted)["erased"])
    assert receipt_of(learned_api, deleted)["removed"] == {"links": 1, "events": 0}
    ann = learned_api("GET", "/v1/users/ann").json()
    assert [link["user"] for link in ann["links"]] == ["eve"]
    # a text that happens to be the id is nobody's link
    assert ann["features"] == {"of": "bob"}
    assert learned_api("GET", "/v1/users/cat").json() == before


def test_a_link_that_is_made_while_links_are_looked_for_goes(
    learned_api: Api, client: redis.Redis
) -> None:
    api, namespace = learned_api, learned_api.settings.namespace
    traces, records = Traces(client, api.runtime.namespace), Erasures(client, namespace)
    assert api("PUT", "/v1/users/ann", json={"links": []}).is_success
    traces.begin()
    # the pass has been beyond this document
    assert traces.linking({"bob"}).users == []
    assert api("PUT", "/v1/users/ann", json={"links": [{"user": "bob"}]}).is_success
    assert api("PUT", "/v1/users/cat", json={"features": {"of": "bob"}}).is_success
    erasure = Erasure("9" * 20, 0, 1, now_ms())
    removed = Removed(links=0, events=0, unreadable=0)
    assert not records.note_erased([erasure], removed, is_private=False)
    assert traces.linking_since({"bob"}).users == ["ann"]
    assert traces.linking_since({"bob"}).users == []
    assert records.note_erased([erasure], removed, is_private=False)
    assert records.read(erasure.id).erased_ms
    # nothing is noted when nobody looks
    assert api("PUT", "/v1/users/ann", json={"links": [{"user": "bob"}]}).is_success
    assert not client.exists(NamespaceKeys(namespace).links_made)


def test_a_document_that_cannot_be_read_stops_no_erasure(
    learned_api: Api, client: redis.Redis
) -> None:
    keys = NamespaceKeys(learned_api.settings.namespace)
    for user, linked in {"ann": "bob", "cat": "bob", "dan": "eve", "fay": "bob"}.items():
        document = {"links": [{"user": linked}]}
        assert learned_api("PUT", f"/v1/users/{user}", json=document).is_success
    client.append(keys.user_document("ann"), "odd bytes")
    client.append(keys.user_document("dan"), "odd bytes")
    client.set(keys.user_document("fay"), '{"links":[{"user":"bob"}]}')
    deleted = learned_api("DELETE", "/v1/users/bob").json()
    wait_until(lambda: receipt_of(learned_api, deleted)["erased"])
    receipt = receipt_of(learned_api, deleted)
    assert receipt["removed"] == {"links": 1, "events": 0}
    [told] = [one["until"] for one in receipt["remains"] if one["where"] == "documents"]
    # dan's does not name bob
    assert "2 cannot be read" in told
    for user in ("ann", "fay"):
        assert learned_api("DELETE", f"/v1/users/{user}").is_success
    again = learned_api("DELETE", "/v1/users/bob").json()
    wait_until(lambda: receipt_of(learned_api, again)["erased"])
    assert "documents" not in left_of(receipt_of(learned_api, again))


def test_a_given_server_is_left_to_its_operator(learned_api: Api) -> None:
    deleted = learned_api("DELETE", "/v1/users/bob").json()
    wait_until(lambda: receipt_of(learned_api, deleted)["erased"])
    receipt = receipt_of(learned_api, deleted)
    assert receipt["erased_from_disk"] is None
    assert left_of(receipt) == ["disk", "event_ids", "backups"]
    assert "BGREWRITEAOF" in receipt["remains"][0]["until"]
    keys = NamespaceKeys(learned_api.settings.namespace)
    assert learned_api.run(learned_api.runtime.redis.exists(keys.erasures_due)) == 0


def test_what_is_not_learned_is_not_erased(api: Api) -> None:
    deleted = api("DELETE", "/v1/users/bob").json()
    assert not deleted["learned"]
    receipt = receipt_of(api, deleted)
    assert (receipt["erased"], receipt["removed"]) == (None, None)
    assert left_of(receipt) == ["log", "store", "disk", "event_ids", "backups"]
    problem = api("GET", f"/v1/erasures/{'0' * 20}").json()
    assert problem["code"] == "not_found"
    with pytest.raises(NotFound):
        api.runtime.erasures.read("0" * 20)


def test_only_the_deletion_of_a_user_has_an_erasure(learned_api: Api) -> None:
    learned_api("POST", "/v1/events?wait=learned", json={"user": "a", "item": "x", "rating": 3})
    assert learned_api("DELETE", "/v1/users/a/ratings/x").json()["erasure"] is None
    assert learned_api("DELETE", "/v1/items/x").json()["erasure"] is None


def test_models_trained_before_a_deletion_are_told(learned_api: Api) -> None:
    deleted = learned_api("DELETE", "/v1/users/bob").json()
    keys = NamespaceKeys(learned_api.settings.namespace)
    redis, run = learned_api.runtime.redis, learned_api.run

    def publish(version: str, through: int) -> None:
        record = {
            "version": version,
            "strategy": "fbgd",
            "model": "fbgd",
            "created_ms": 1,
            "job": None,
            "parameters": {},
            "metrics": {},
            "decision": {},
            "cuts": {"trained_through": {"0": through}},
            "bytes": 0,
        }
        run(redis.hset(keys.model(version), mapping={"record": json.dumps(record)}))
        run(redis.zadd(keys.models, {version: 1}))

    sequence = int(deleted["sequence"].partition(":")[2])
    publish("b" * 64, sequence)
    assert "models" not in left_of(receipt_of(learned_api, deleted))
    publish("a" * 64, sequence - 1)
    assert "models" in left_of(receipt_of(learned_api, deleted))


def test_removed_entries_leave_no_bytes_and_readers_go_on(client, namespace) -> None:
    key = PartitionKeys(namespace, 0).changes
    # words that have nothing in common: the server would compress them
    for number, word in enumerate(("anise", "zephyr", "clock", "bud", "fjord"), 1):
        client.xadd(key, {"u": word}, id=f"{number}-0")
    client.xdel(key, "2-0")
    # what this is about: the server keeps the bytes
    assert b"zephyr" in client.dump(key)
    drop_removed(client, key)
    assert b"zephyr" not in client.dump(key)
    assert [name for name, _ in client.xrange(key)] == [b"1-0", b"3-0", b"4-0", b"5-0"]
    drop_removed(client, key, before=5)
    assert [name for name, _ in client.xrange(key)] == [b"5-0"]
    drop_removed(client, key, before=6)
    assert not client.exists(key)
    drop_removed(client, key)
    client.xadd(key, {"u": "next"}, id="6-0")
    assert len(client.xread({key: "5-0"})[0][1]) == 1


def test_deletions_share_a_rewrite_and_a_later_one_waits(
    private_server: PrivateServer, tmp_path
) -> None:
    with connect(private_server.url, role="test") as client:
        rewriting = Rewriting(client, private_server._data_dir / FILES, pause_s=3_600)
        client.set("secret", "unmistakable")
        client.delete("secret")
        folder = private_server._data_dir / FILES / FOLDER
        held = [path for path in folder.iterdir() if b"unmistakable" in path.read_bytes()]
        assert held
        assert rewriting.step({"one", "two"}) == frozenset()
        gone: set[str] = set()
        wait_until(lambda: gone.update(rewriting.step({"one", "two", "late"})) or gone)
        assert gone == {"one", "two"}
        assert superseded_files(private_server._data_dir / FILES) == set()
        assert not [path for path in folder.iterdir() if b"unmistakable" in path.read_bytes()]
        files = sorted(path.name for path in folder.iterdir())
        assert rewriting.step({"late"}) == frozenset()
        assert sorted(path.name for path in folder.iterdir()) == files


def test_a_rewrite_of_a_server_that_ended_is_done_again(private_server: PrivateServer) -> None:
    with connect(private_server.url, role="test") as client:
        rewriting = Rewriting(client, private_server._data_dir / FILES, pause_s=0)
        rewriting.step({"one"})
        private_server.kill()
        private_server.start()
        # whatever became of it, nobody saw its end
        assert rewriting.step({"one"}) == frozenset()
        wait_until(lambda: rewriting.step({"one"}) == {"one"})
