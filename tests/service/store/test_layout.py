"""The layout of what is stored: earlier versions are read, later ones refused with a name."""

import json
from pathlib import Path

import pytest

from service.errors import Misconfigured
from service.settings import Settings
from service.store.keys import NamespaceKeys, PartitionKeys
from service.store.layout import LAYOUT, MIGRATIONS, WRITER, check
from service.store.namespace import open_namespace, read_namespace
from tests.api import Api, learning
from tests.golden.layouts import LEARNED, NAMESPACE, WAITING, load
from tests.server import wait_until

RECORDED = sorted((Path(__file__).parents[2] / "golden").glob("layout-*.json"))


def recorded(client, file, namespace) -> None:
    """Store under another name what an earlier version has stored."""
    text = file.read_text().replace(f"hr:{{{NAMESPACE}", f"hr:{{{namespace}")
    load(client, json.loads(text))


def assert_each_rating_is_there_once(api: Api) -> None:
    for user in {user for user, _, _ in LEARNED + WAITING}:
        found = api("GET", f"/v1/users/{user}/ratings").json()["items"]
        told = sorted((one["item"], one["rating"]) for one in found)
        assert told == sorted((i, r) for u, i, r in LEARNED + WAITING if u == user)


@pytest.mark.parametrize("file", RECORDED, ids=lambda file: file.stem)
def test_what_an_earlier_version_stored_serves_and_learns_on(
    client, redis_url, namespace, tmp_path, file
):
    recorded(client, file, namespace)
    settings = Settings(namespace=namespace, data_dir=tmp_path, min_sequence_wait_ms=60_000)
    with learning(settings, redis_url), Api(settings, redis_url) as api:
        api.ready()
        keys = PartitionKeys(namespace, 0)
        wait_until(lambda: client.hget(keys.state, "watermark") == client.get(keys.sequence))
        assert_each_rating_is_there_once(api)
        assert api("GET", "/v1/items/tt1").json()["categories"] == ["film"]
        if client.exists(keys.dedupe(0)):
            # those that were learned, and those that waited in the log
            for user, item, _ in LEARNED + WAITING:
                api.rate(user, item, 3.0, event_id=f"{user} {item}")
            wait_until(lambda: client.hget(keys.state, "watermark") == client.get(keys.sequence))
            assert_each_rating_is_there_once(api)
        after = api.rate("ada", "tt5", 4.0)
        seen = api("GET", f"/v1/users/ada/recommendations?k=5&min_sequence={after}")
        assert seen.status_code == 200, seen.text
    stored = client.hgetall(NamespaceKeys(namespace).layout)
    assert {n.decode(): int(v) for n, v in stored.items() if n != WRITER.encode()} == LAYOUT
    identity = read_namespace(client, namespace).identity
    assert client.hget(keys.state, "identity").decode() == identity != ""


def test_a_namespace_of_a_later_version_is_refused_and_the_version_named(client, namespace):
    settings = Settings(namespace=namespace)
    open_namespace(client, settings)
    key = NamespaceKeys(namespace).layout
    client.hset(key, mapping={"log": LAYOUT["log"] + 1, WRITER: "9.4.0"})
    with pytest.raises(Misconfigured, match=r"log 2 \(here 1\)\. Install Hedgerow 9\.4\.0"):
        open_namespace(client, settings)
    client.hset(key, mapping={"log": LAYOUT["log"], "sketches": 1})
    with pytest.raises(Misconfigured, match=r"sketches 1 \(here 0\)"):
        open_namespace(client, settings)
    assert client.hget(key, "sketches") == b"1"


def test_a_namespace_keeps_its_layout_and_its_identity(client, namespace):
    settings = Settings(namespace=namespace)
    first = open_namespace(client, settings)
    assert open_namespace(client, settings) == first
    check(namespace, LAYOUT, "")


def test_every_layout_beyond_the_first_has_a_migration() -> None:
    reached = {(one.family, one.to) for one in MIGRATIONS}
    wanted = {(family, to) for family, last in LAYOUT.items() for to in range(2, last + 1)}
    assert wanted <= reached
