import pytest
import redis
from redis.backoff import NoBackoff
from redis.retry import Retry

from service.errors import Misconfigured, StoreUnavailable
from service.store.server.inspection import check_server, inspect_server
from tests.server import PrivateServer

GOOD = {"redis_version": "7.2.4", "aof_enabled": 1, "maxmemory_policy": "noeviction"}


def test_a_server_that_syncs_every_write_is_durable(private_server: PrivateServer) -> None:
    with redis.Redis.from_url(private_server.url) as client:
        report = inspect_server(client)
    assert report.durable
    assert report.warning is None


def test_a_server_without_a_log_is_allowed_but_reported_as_not_durable(redis_url: str) -> None:
    with redis.Redis.from_url(redis_url) as client:
        report = inspect_server(client)
    assert not report.durable
    assert "append-only" in str(report.warning)


@pytest.mark.parametrize("appendfsync", ["everysec", "no", None])
def test_a_server_that_syncs_later_is_not_durable(appendfsync: str | None) -> None:
    assert not check_server(GOOD, appendfsync=appendfsync, policy="noeviction").durable


@pytest.mark.parametrize("policy", ["allkeys-lru", "volatile-ttl"])
def test_a_server_that_may_evict_is_refused_with_the_way_out(policy: str) -> None:
    with pytest.raises(Misconfigured, match="CONFIG SET maxmemory-policy noeviction"):
        check_server(GOOD, appendfsync="always", policy=policy)


def test_the_policy_is_read_from_info_if_config_is_forbidden() -> None:
    with pytest.raises(Misconfigured, match="allkeys-lfu"):
        check_server({**GOOD, "maxmemory_policy": "allkeys-lfu"}, appendfsync=None, policy=None)


def test_a_server_that_is_too_old_is_refused() -> None:
    with pytest.raises(Misconfigured, match=r"6\.2 or newer"):
        check_server({**GOOD, "redis_version": "6.0.16"}, appendfsync="always", policy="noeviction")


def test_a_valkey_server_is_recognised_by_its_own_version() -> None:
    info = {**GOOD, "server_name": "valkey", "valkey_version": "9.1.2"}
    report = check_server(info, appendfsync="always", policy="noeviction")
    assert (report.product, report.version) == ("valkey", "9.1.2")


def test_a_server_that_does_not_answer_is_unavailable() -> None:
    once = Retry(NoBackoff(), 0)
    nobody = redis.Redis(unix_socket_path="/nowhere/s", retry=once)
    with nobody as client, pytest.raises(StoreUnavailable):
        inspect_server(client)
