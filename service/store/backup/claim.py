"""The claim of a restore on the name of a namespace: who holds it writes, and nobody else."""

import secrets
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import cast

import redis
from redis import exceptions as redis_errors
from redis.client import Pipeline

from service.errors import Conflict, StoreUnavailable
from service.store.connection import store_errors
from service.store.keys import NamespaceKeys
from service.store.namespaces import batches_of_keys


class Claim:
    """Holds a name until ``release``, or until another restore that may replace takes it over."""

    def __init__(self, client: redis.Redis, name: str, backup: str) -> None:
        self._client, self._name = client, name
        self._keys = NamespaceKeys(name)
        self._mark = f"{backup} {secrets.token_hex(8)}".encode()

    def take(self, *, replace: bool) -> None:
        """Take the name, and end the namespace under it first, so that its writers are refused."""
        with store_errors():
            taken = self._client.set(self._keys.restoring, self._mark, nx=not replace)
        if not taken:
            raise Conflict(
                f"another restore writes to the namespace {self._name}, or was killed: wait for "
                "it, or add --replace"
            )
        with self.writing() as pipe:
            pipe.delete(self._keys.settings)

    @contextmanager
    def writing(self) -> Iterator[Pipeline]:
        """Yield a pipe that is executed as a whole at the end; Conflict if the claim is lost."""
        with store_errors(), self._client.pipeline(transaction=True) as pipe:
            watch: Callable[[str], object] = pipe.watch
            watch(self._keys.restoring)
            mark = cast("bytes | None", pipe.get(self._keys.restoring))
            pipe.multi()
            yield pipe
            try:
                if mark != self._mark:
                    raise redis_errors.WatchError
                pipe.execute()
            except redis_errors.WatchError as error:
                raise Conflict(
                    f"another restore has taken over the namespace {self._name}: wait for that one"
                ) from error

    def empty(self) -> None:
        """Delete all keys under the name but the claim itself."""
        for keys in batches_of_keys(self._client, self._name, self._keys.restoring):
            with self.writing() as pipe:
                pipe.unlink(*keys)

    def release(self, pipe: Pipeline) -> None:
        """Give the name free, with whatever else the pipe does."""
        pipe.delete(self._keys.restoring)

    def give_up(self) -> None:
        """Delete what was written, if the name is still ours and the store answers."""
        with suppress(StoreUnavailable, Conflict):
            self.empty()
            with self.writing() as pipe:
                self.release(pipe)
