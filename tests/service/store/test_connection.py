"""Connections: each command is sent once; temporary errors differ from programming errors."""

import pytest
from redis import exceptions as redis_errors

from service.errors import StoreUnavailable
from service.store.connection import connect, store_errors
from tests.proxy import LossyProxy
from tests.stories import run


@pytest.mark.parametrize(
    ("error", "says"),
    [
        (redis_errors.ConnectionError("refused"), "does not answer"),
        (redis_errors.TimeoutError("late"), "does not answer"),
        (redis_errors.BusyLoadingError("loading"), "still loading its files"),
        (redis_errors.OutOfMemoryError("oom"), "give it more memory"),
        (redis_errors.ReadOnlyError("replica"), "the primary's address"),
        (redis_errors.ResponseError("MISCONF disk"), "refuses for now"),
        (redis_errors.NoPermissionError("no permissions to run 'eval'"), "lacks a permission"),
        (redis_errors.ResponseError("NOPERM no permissions to run 'eval'"), "lacks a permission"),
    ],
)
def test_errors_that_pass_are_unavailable(error, says):
    with pytest.raises(StoreUnavailable, match=says), store_errors():
        raise error


@pytest.mark.parametrize(
    "error",
    [
        redis_errors.ResponseError(
            "Command # 1 (HSET key secret) of pipeline caused error: MISCONF disk"
        ),
        redis_errors.ResponseError(
            "Command # 2 (HSET key secret) of pipeline caused error: ('MISCONF disk',)"
        ),
        redis_errors.OutOfMemoryError(
            "Command # 1 (SET (1) secret) of pipeline caused error: command not allowed"
        ),
        redis_errors.OutOfMemoryError("command not allowed, script: secret, on @user_script:1."),
    ],
)
def test_what_was_sent_to_redis_is_not_repeated(error):
    with pytest.raises(StoreUnavailable) as refused, store_errors():
        raise error
    assert "secret" not in refused.value.detail
    assert "HSET" not in refused.value.detail


@pytest.mark.parametrize("error", [redis_errors.ResponseError("WRONGTYPE"), ValueError("ours")])
def test_mistakes_pass_through(error):
    with pytest.raises(type(error)) as raised, store_errors():
        raise error
    assert raised.value is error


def test_a_command_whose_reply_is_lost_is_not_repeated(client, redis_url, namespace, tmp_path):
    proxy = LossyProxy(redis_url, tmp_path / "s")
    try:
        proxy.loses = lambda request: b"INCR" in request
        with (
            connect(proxy.url, role="test", timeout_s=0.3) as lossy,
            pytest.raises(StoreUnavailable),
            store_errors(),
        ):
            lossy.incr(f"{namespace}:n")
        assert proxy.lost == 1
        assert client.get(f"{namespace}:n") == b"1"
    finally:
        proxy.close()


def test_connections_are_named_by_their_role(redis_url):
    with connect(redis_url, role="learner-3") as client:
        assert client.client_getname() == "hedgerow-learner-3"
    assert run(redis_url, lambda connection: connection.client_getname()) == "hedgerow-test"
