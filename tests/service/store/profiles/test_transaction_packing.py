"""Transactions packed by hand have the bytes that redis-py would send."""

import numpy as np
import pytest
from redis import exceptions as redis_errors

from service.store.profiles.transaction import Transaction, argument, arguments


def sent(client, transaction):
    """Send it, and return EXEC's answers."""
    connection = client.connection_pool.get_connection()
    try:
        packed = transaction.finish()
        packed.send(connection)
        return packed.receive(connection)
    finally:
        connection.disconnect()
        client.connection_pool.release(connection)


def test_a_transaction_packs_as_redis_expects(client, namespace):
    transaction = Transaction()
    transaction.add("SET", f"{namespace}:k", b"\r\n\x00")
    transaction.add("GET", f"{namespace}:k")
    connection = client.connection_pool.get_connection()
    packed = transaction.finish()
    packed.send(connection)
    assert packed.receive(connection) == [b"OK", b"\r\n\x00"]
    client.connection_pool.release(connection)


def test_rows_are_stored_under_prefix_and_name(client, namespace):
    rows = np.arange(6, dtype=np.float32).reshape(2, 3)
    transaction = Transaction()
    transaction.set_rows(f"{namespace}:", ["é".encode(), b"\r\n"], rows)
    assert sent(client, transaction) == [b"OK"]
    assert client.mget(f"{namespace}:é", f"{namespace}:\r\n") == [row.tobytes() for row in rows]


def test_fields_of_a_hash_are_stored_under_their_numbers(client, namespace):
    transaction = Transaction()
    transaction.set_fields(namespace, [7, 120], [b"", b"a\r\nb"])
    assert sent(client, transaction) == [2]
    assert client.hgetall(namespace) == {b"7": b"", b"120": b"a\r\nb"}


def test_a_script_gets_its_keys_and_values(client, namespace):
    transaction = Transaction()
    keys = arguments(f"{namespace}:", [b"a", b"b"])
    transaction.evaluate("return {KEYS[1], KEYS[2], ARGV[1]}", keys, [memoryview(b"\x00\n")])
    answer = [[f"{namespace}:a".encode(), f"{namespace}:b".encode(), b"\x00\n"]]
    assert sent(client, transaction) == answer


def test_the_error_of_one_command_is_raised(client, namespace):
    client.set(f"{namespace}:k", "no list")
    transaction = Transaction()
    transaction.add("RPUSH", f"{namespace}:k", 1)
    with pytest.raises(redis_errors.ResponseError, match="WRONGTYPE"):
        sent(client, transaction)


def test_keys_that_begin_alike_are_packed_like_any_argument():
    assert arguments("k:", [b"ann", b""]) == [argument("k:ann"), argument("k:")]
