"""`hedgerow namespaces`: the list, and the deletion of a namespace without processes."""

import json
from pathlib import Path

import redis
from click.testing import Result
from typer.testing import CliRunner

from service.cli.operators.namespaces import app
from service.errors import Conflict, Misconfigured, NotFound
from service.settings import Settings
from service.store.keys import NamespaceKeys, PartitionKeys
from service.store.log.lease import Lease
from service.store.namespace import open_namespace
from service.store.namespaces import contents
from tests.api import Api, learning
from tests.models import activated
from tests.server import wait_until


def typed(redis_url: str, *arguments: str) -> Result:
    return CliRunner().invoke(app, arguments, env={"HEDGEROW_REDIS_URL": redis_url})


def listed(redis_url: str, name: str) -> list[dict[str, object]]:
    found = json.loads(typed(redis_url, "list", "--json").stdout)
    return [one for one in found if one["name"] == name]


def keys_of(client: redis.Redis, name: str) -> list[bytes]:
    return [*client.scan_iter(f"hr:{{{name}}}:*"), *client.scan_iter(f"hr:{{{name}.*}}:*")]


def test_a_deleted_namespace_leaves_no_key_and_its_neighbour_all(
    redis_url: str, namespace: str, client: redis.Redis, tmp_path: Path
) -> None:
    neighbour = f"{namespace}-b"
    open_namespace(client, Settings(namespace=neighbour))
    client.set(PartitionKeys(neighbour, 0).history("ada"), b"")
    settings = Settings(namespace=namespace, partitions=2, data_dir=tmp_path)
    with learning(settings, redis_url), Api(settings, redis_url) as api:
        for user in ("ada", "bob", "cy"):
            api.rate(user, "x", 4.0)
        wait_until(lambda: contents(client, namespace).users == 3)
        activated(api.runtime.registry)
        refused = typed(redis_url, "delete", namespace, "--yes")
        assert isinstance(refused.exception, Conflict)
        assert "stop `hedgerow serve`" in str(refused.exception)
    [one] = listed(redis_url, namespace)
    assert (one["partitions"], one["users"], one["items"], one["in_use"]) == (2, 3, 1, False)
    doubted = typed(redis_url, "delete", namespace)
    assert isinstance(doubted.exception, Misconfigured)
    assert "3 users" in str(doubted.exception)
    assert "--yes" in str(doubted.exception)
    done = typed(redis_url, "delete", namespace, "--yes")
    assert done.exit_code == 0, done.output
    assert keys_of(client, namespace) == []
    assert len(keys_of(client, neighbour)) == 4
    assert listed(redis_url, namespace) == []
    assert isinstance(typed(redis_url, "delete", namespace, "--yes").exception, NotFound)


def test_a_trainer_alone_keeps_a_namespace(
    redis_url: str, namespace: str, client: redis.Redis
) -> None:
    open_namespace(client, Settings(namespace=namespace))
    lease = Lease(client, NamespaceKeys(namespace).trainer, 60_000)
    assert lease.acquire()
    assert isinstance(typed(redis_url, "delete", namespace, "--yes").exception, Conflict)
    lease.release()
    assert typed(redis_url, "delete", namespace, "--yes").exit_code == 0
