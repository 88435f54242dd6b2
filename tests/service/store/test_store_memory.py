"""What the data directory remembers of the store, and the starts that it refuses."""

import json

import pytest

from service.errors import Misconfigured, StoreRolledBack
from service.settings import Settings
from service.store.identity.identity import Identity
from service.store.identity.known import Positions
from service.store.identity.memory import FILE, Memory, Remembered
from service.store.keys import NamespaceKeys
from service.store.namespace import open_namespace
from service.store.namespaces import delete_namespace
from service.store.server.embedded import EmbeddedServer
from tests.api import Api
from tests.server import wait_until


def test_nothing_is_remembered_at_first(tmp_path):
    assert Memory(tmp_path / "new").of("shop") == Remembered()
    assert not (tmp_path / "new").exists()


def test_a_namespace_is_remembered_beside_others(tmp_path):
    memory, identity = Memory(tmp_path), Identity.new()
    memory.remember_keys("other")
    memory.remember("shop", identity, Positions((7, 9), 5))
    memory.remember_keys("shop")
    memory.remember("shop", identity, Positions((8, 9), 6))
    assert Memory(tmp_path).of("shop") == Remembered(str(identity), (8, 9), 6, had_keys=True)
    memory.forget_store("shop")
    assert memory.of("shop") == Remembered(had_keys=True)
    memory.forget_keys("shop")
    memory.forget("other")
    assert memory.of("shop") == memory.of("other") == Remembered()


def test_a_damaged_file_is_named(tmp_path):
    (tmp_path / FILE).write_text("{")
    with pytest.raises(Misconfigured, match=FILE):
        Memory(tmp_path).of("shop")


def test_a_store_that_comes_back_empty_is_refused_at_the_start(
    client, redis_url, namespace, tmp_path
):
    settings = Settings(namespace=namespace, data_dir=tmp_path)
    with Api(settings, redis_url) as api:
        api.rate("ada", "tt1", 4.0)
    remembered = Memory(tmp_path).of(namespace)
    assert remembered.positions == Positions((1,), 1)
    delete_namespace(client, namespace)
    with pytest.raises(StoreRolledBack, match="doctor --repair"):
        open_namespace(client, settings)
    assert not client.exists(NamespaceKeys(namespace).settings), "nothing was created"
    elsewhere = Settings(namespace=namespace, data_dir=tmp_path / "elsewhere")
    open_namespace(client, elsewhere)
    with pytest.raises(StoreRolledBack, match="another one"):
        open_namespace(client, settings)


def test_a_loss_while_nothing_ran_is_told_at_the_start(client, redis_url, namespace, tmp_path):
    settings = Settings(namespace=namespace, data_dir=tmp_path)
    with Api(settings, redis_url) as api:
        api.rate("ada", "tt1", 4.0)
    file = tmp_path / FILE
    known = json.loads(file.read_text())
    known[namespace]["sequences"], known[namespace]["items"] = [3], 2
    file.write_text(json.dumps(known))
    with Api(settings, redis_url) as api:
        [lost] = api("GET", "/v1/stats").json()["rollbacks"]
        assert lost["known"] == {"sequences": [3], "items": 2}
        assert lost["found"] == {"sequences": [1], "items": 1}
        assert api.rate("ada", "tt2", 4.0) == "0:2"


def test_a_service_that_had_keys_stays_closed_after_a_restart(
    client, redis_url, namespace, tmp_path
):
    settings = Settings(namespace=namespace, data_dir=tmp_path)
    with Api(settings, redis_url, keys_fresh_s=0.0) as api:
        made = api("POST", "/v1/admin/keys", json={"role": "admin", "name": "shop"})
        assert made.status_code == 201
        assert api("GET", "/v1/stats").status_code == 401
        wait_until(lambda: api("GET", "/readyz") and Memory(tmp_path).of(namespace).had_keys)
    client.delete(NamespaceKeys(namespace).api_keys)
    with Api(settings, redis_url) as api:
        assert api("GET", "/v1/stats").status_code == 401


def test_a_server_that_has_lost_its_manifest_does_not_start_empty(tmp_path):
    with EmbeddedServer(tmp_path) as server:
        first = server.url
        assert first
    [manifest] = tmp_path.rglob("*.manifest")
    kept = {path.name for path in manifest.parent.iterdir()} - {manifest.name}
    manifest.unlink()
    with pytest.raises(Misconfigured, match="manifest"), EmbeddedServer(tmp_path):
        pass
    assert {path.name for path in manifest.parent.iterdir()} == kept, "nothing was touched"
